//===- Shapes.h - statements that are run in less time ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Published templates have loops that look back from every message, and put
// prompts together by joining all that there is with the next piece. Run as
// they are written, both take a time that grows with the square of a
// conversation's length. The parser finds them by their shape.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_SHAPES_H
#define SLUICE_RUNTIME_TEXT_JINJA_SHAPES_H

#include "runtime/text/jinja/Ast.h"

namespace sluice::text::jinja {

/// What For::endsWhenFalse says. `names`: Template::names.
bool endsWhenFalse(const For &loop, const std::vector<std::string> &names);

/// What Set::appends says.
bool appends(const Set &set);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_SHAPES_H
