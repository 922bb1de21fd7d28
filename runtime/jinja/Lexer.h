//===- Lexer.h - splits a template into tokens ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jinja2's lexer with transformers' settings: trim_blocks (a newline after a
// block is dropped) and lstrip_blocks (the white space before a block that
// starts a line is dropped).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_LEXER_H
#define SLUICE_RUNTIME_JINJA_LEXER_H

#include "runtime/jinja/TemplateError.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::text::jinja {

struct Lexeme {
  enum class Kind : uint8_t {
    Data,          ///< text outside of tags, as it is written
    VariableBegin, ///< {{
    VariableEnd,
    BlockBegin, ///< {%
    BlockEnd,
    Name,
    String,  ///< its content, with escapes replaced
    Integer, ///< its digits
    Float,   ///< as std::from_chars reads it
    Operator,
    End ///< the end of the template
  };
  Kind kind = Kind::End;
  Position at;
  std::string text;
};

/// Returns `source` with \n as its line ends, and without the last one: what
/// Jinja2 does first with a template. Positions refer to this text.
std::string normalizeTemplate(std::string_view source);

/// Returns the tokens of a normalized template (valid UTF-8); the last is End.
/// Throws TemplateError for text that is no token.
std::vector<Lexeme> tokenize(std::string_view source);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_LEXER_H
