//===- TemplateError.h - an error at a place of a template --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_TEMPLATEERROR_H
#define SLUICE_RUNTIME_TEXT_JINJA_TEMPLATEERROR_H

#include <cstdint>
#include <exception>
#include <sstream>
#include <string>

namespace sluice::text::jinja {

/// A place in a template: the offset of a byte in its text.
struct Position {
  uint32_t offset = 0;
};

/// Ends a compilation or a rendering. Thrown inside the library only:
/// ChatTemplate catches it and makes a Status of it.
struct TemplateError : std::exception {
  TemplateError(Position at, std::string message)
      : at(at), message(std::move(message)) {}
  const char *what() const noexcept override { return message.c_str(); }

  Position at;
  std::string message;
};

/// An expression cannot be evaluated: an error only where it is reached.
struct UnsupportedError : TemplateError {
  using TemplateError::TemplateError;
};

/// The template called raise_exception(message).
struct RaisedError : TemplateError {
  using TemplateError::TemplateError;
};

/// Throws an Error with a message made of parts that can be streamed.
template <typename Error = TemplateError, typename... Parts>
[[noreturn]] void failAt(Position at, const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  throw Error(at, stream.str());
}

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_TEMPLATEERROR_H
