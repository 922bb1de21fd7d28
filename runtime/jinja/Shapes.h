//===- Shapes.h - detects statements that can run faster ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Published templates have loops that look back from every message, and build
// prompts by appending the next piece to the whole text so far. Executed as
// written, both take a time that grows with the square of a conversation's
// length. The parser recognizes such statements by their shape.
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_SHAPES_H
#define SLUICE_RUNTIME_JINJA_SHAPES_H

#include "runtime/jinja/Ast.h"

namespace sluice::text::jinja {

/// Computes For::endsWhenFalse. `names` is Template::names.
bool endsWhenFalse(const For &loop, const std::vector<std::string> &names);

/// Computes Set::appends.
bool appends(const Set &set);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_SHAPES_H
