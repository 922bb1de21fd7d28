//===- Lexer.h - cuts a template into tokens ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Jinja2's lexer with transformers' settings: trim_blocks (a newline behind a
// block is dropped) and lstrip_blocks (so is the white space before a block
// that starts a line).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_LEXER_H
#define SLUICE_RUNTIME_TEXT_JINJA_LEXER_H

#include "runtime/text/jinja/TemplateError.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::text::jinja {

struct Lexeme {
  enum class Kind : uint8_t {
    Data,          ///< text outside of tags, as it is to be written
    VariableBegin, ///< {{
    VariableEnd,
    BlockBegin, ///< {%
    BlockEnd,
    Name,
    String,  ///< without quotes and escapes
    Integer, ///< its digits
    Float,   ///< as std::from_chars takes it
    Operator,
    End ///< of the template
  };
  Kind kind = Kind::End;
  Position at;
  std::string text;
};

/// `source` with its line ends as \n, and without the last one: what Jinja2
/// makes of a template before anything else. Positions are in this text.
std::string normalizeTemplate(std::string_view source);

/// The tokens of a normalized template (valid UTF-8); the last is End. Throws
/// TemplateError for what is not a token.
std::vector<Lexeme> tokenize(std::string_view source);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_LEXER_H
