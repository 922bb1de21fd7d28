//===- ApiError.h - errors as the OpenAI API gives them -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a client is told when its request cannot be answered: an HTTP status
// and {"error": {"message", "type", "param", "code"}}, as in OpenAI's guide
// "Error codes" and its API description (schema Error).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_APIERROR_H
#define SLUICE_RUNTIME_OPENAI_APIERROR_H

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::openai {

struct ApiError {
  int status = 400;       ///< of HTTP
  std::string message;    ///< for people; one line
  std::string param = {}; ///< the field at fault; empty: null
  std::string code = {};  ///< for programs; empty: null

  /// The body of the answer.
  std::string json() const;
};

/// The `type` that goes with a status: invalid_request_error,
/// authentication_error (401), permission_error (403), not_found_error (404),
/// rate_limit_error (429), server_error (500 and up).
std::string_view errorType(int status);

/// A 400 that names a field: messages[2].content, say. Control characters in
/// the message become '?', bytes that are not UTF-8 U+FFFD.
ApiError invalidField(std::string param, std::string message,
                      std::string code = {});

/// A value, or the error that stood in its way. Converts implicitly from both,
/// as Expected does.
template <typename T> class [[nodiscard]] ApiExpected {
public:
  ApiExpected(T value) : held(std::move(value)) {}
  ApiExpected(ApiError error) : failed(std::move(error)) {}

  bool ok() const { return held.has_value(); }
  explicit operator bool() const { return ok(); }

  /// Only where there is no value.
  const ApiError &error() const {
    assert(!ok());
    return failed;
  }

  T &operator*() { return *held; }
  const T &operator*() const { return *held; }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }

  /// Moves the value out.
  T take() { return std::move(*held); }

private:
  std::optional<T> held;
  ApiError failed;
};

/// Of calls that only check: an error, or none.
using ApiStatus = std::optional<ApiError>;

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_APIERROR_H
