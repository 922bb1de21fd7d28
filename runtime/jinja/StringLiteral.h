//===- StringLiteral.h - escapes of string literals -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_STRINGLITERAL_H
#define SLUICE_RUNTIME_JINJA_STRINGLITERAL_H

#include "runtime/jinja/TemplateError.h"

#include <string>
#include <string_view>

namespace sluice::text::jinja {

/// Returns the string that a literal means. `body` is the text between its
/// quotes, and `at` is the position of that text. The escapes are Python's; an
/// unknown one stays as it is. Throws TemplateError for an incomplete escape or
/// one that is no character.
std::string unescapeLiteral(std::string_view body, Position at);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_STRINGLITERAL_H
