//===- ApiError.cpp - errors as the OpenAI API gives them -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ApiError.h"

#include "runtime/base/Status.h"
#include "runtime/text/Utf8.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::openai;

using nlohmann::ordered_json;

static ordered_json orNull(const std::string &text) {
  return text.empty() ? ordered_json() : ordered_json(text);
}

std::string ApiError::json() const {
  ordered_json error = {{"message", message},
                        {"type", errorType(status)},
                        {"param", orNull(param)},
                        {"code", orNull(code)}};
  return ordered_json{{"error", std::move(error)}}.dump(
      -1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string_view openai::errorType(int status) {
  switch (status) {
  case 401:
    return "authentication_error";
  case 403:
    return "permission_error";
  case 404:
    return "not_found_error";
  case 429:
    return "rate_limit_error";
  default:
    return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

ApiError openai::invalidField(std::string param, std::string message,
                              std::string code) {
  // Messages quote what a client sent, cut short.
  message =
      text::replaceInvalidUtf8(Status::error(std::move(message)).message());
  return {400, std::move(message), std::move(param), std::move(code)};
}
