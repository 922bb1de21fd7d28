//===- ApiError.cpp - errors in the form of the OpenAI API ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ApiError.h"

#include "runtime/base/Status.h"
#include "runtime/text/JsonWriter.h"
#include "runtime/text/Utf8.h"

using namespace sluice;
using namespace sluice::openai;

static void writeOrNull(text::JsonWriter &json, const std::string &text) {
  if (text.empty())
    json.null();
  else
    json.string(text);
}

std::string ApiError::json() const {
  text::JsonWriter json(text::JsonWriter::Style::Compact);
  json.beginObject();
  json.key("error").beginObject();
  json.key("message").string(message);
  json.key("type").string(errorType(status));
  writeOrNull(json.key("param"), param);
  writeOrNull(json.key("code"), code);
  json.endObject();
  json.endObject();
  return json.take();
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
  // Messages quote what a client sent, perhaps cut within a character.
  message =
      text::replaceInvalidUtf8(Status::error(std::move(message)).message());
  return {400, std::move(message), std::move(param), std::move(code)};
}
