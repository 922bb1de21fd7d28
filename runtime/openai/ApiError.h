//===- ApiError.h - errors in the form of the OpenAI API ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The error that a client gets if its request cannot be answered: an HTTP
// status and {"error": {"message", "type", "param", "code"}}, after OpenAI's
// guide "Error codes" and its API description (schema Error).
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
  int status = 400;       ///< HTTP status
  std::string message;    ///< for people; one line
  std::string param = {}; ///< field that is wrong; empty: null
  std::string code = {};  ///< for programs; empty: null

  /// Returns the body of the answer.
  std::string json() const;
};

/// Returns the `type` for a status: invalid_request_error, authentication_error
/// (401), permission_error (403), not_found_error (404), rate_limit_error
/// (429), server_error (500 and up).
std::string_view errorType(int status);

/// Returns a 400 that names a field, for example messages[2].content. In the
/// message, control characters become '?' and invalid UTF-8 becomes U+FFFD.
ApiError invalidField(std::string param, std::string message,
                      std::string code = {});

/// A value, or the error why there is none. Both convert to it implicitly, as
/// with Expected.
template <typename T> class [[nodiscard]] ApiExpected {
public:
  ApiExpected(T value) : held(std::move(value)) {}
  ApiExpected(ApiError error) : failed(std::move(error)) {}

  bool ok() const { return held.has_value(); }
  explicit operator bool() const { return ok(); }

  /// May be called only if there is no value.
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

/// The result of calls that only check: an error, or none.
using ApiStatus = std::optional<ApiError>;

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_APIERROR_H
