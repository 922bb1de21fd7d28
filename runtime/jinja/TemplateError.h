//===- TemplateError.h - an error at a position in a template -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_TEMPLATEERROR_H
#define SLUICE_RUNTIME_JINJA_TEMPLATEERROR_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <exception>
#include <string>

namespace sluice::text::jinja {

/// A position in a template: an offset in its text, in bytes.
struct Position {
  uint32_t offset = 0;
};

/// Ends a compilation or a rendering. Thrown only inside the library:
/// ChatTemplate catches it and returns a Status.
struct TemplateError : std::exception {
  TemplateError(Position at, std::string message)
      : at(at), message(std::move(message)) {}
  const char *what() const noexcept override { return message.c_str(); }

  Position at;
  std::string message;
};

/// Says that an expression cannot be evaluated, which is an error only where it
/// is reached.
struct UnsupportedError : TemplateError {
  using TemplateError::TemplateError;
};

/// The template called raise_exception(message).
struct RaisedError : TemplateError {
  using TemplateError::TemplateError;
};

/// Throws an Error whose message is made of `parts`, which can be streamed.
template <typename Error = TemplateError, typename... Parts>
[[noreturn]] void failAt(Position at, const Parts &...parts) {
  throw Error(at, textFrom(parts...));
}

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_TEMPLATEERROR_H
