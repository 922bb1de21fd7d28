//===- RequestText.cpp - the bytes of an HTTP request ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/RequestText.h"

#include <algorithm>
#include <strings.h>

using namespace sluice;
using namespace sluice::http;

namespace {

constexpr const char *ownFields[] = {
    "Host",       "Content-Length", "Transfer-Encoding",
    "Connection", "Expect",         "Upgrade"};

/// Returns whether `text` is a token (RFC 9110, section 5.6.2), as names of
/// methods and fields are.
bool isToken(std::string_view text) {
  static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || marks.find(c) != std::string_view::npos;
  });
}

bool isFieldValue(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
  });
}

bool isTarget(std::string_view text) {
  return text.starts_with('/') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c <= '~'; });
}

Status checkField(const std::string &name, const std::string &value) {
  if (!isToken(name))
    return failure("request: '", name, "' cannot be the name of a field");
  for (const char *own : ownFields)
    if (strcasecmp(own, name.c_str()) == 0)
      return failure("request: the field ", own, " is the client's own");
  if (!isFieldValue(value))
    return failure("request: a control character in the field ", name);
  return {};
}

} // namespace

Expected<std::string> client::requestText(const ClientRequest &request,
                                          const std::string &authority) {
  if (!isToken(request.method))
    return failure("request: '", request.method, "' is not a method");
  if (!isTarget(request.target))
    return failure("request: '", request.target, "' is not a path");
  std::string text =
      request.method + " " + request.target + " HTTP/1.1\r\nHost: " + authority;
  for (const auto &[name, value] : request.fields) {
    SLUICE_RETURN_IF_ERROR(checkField(name, value));
    text += "\r\n" + name + ": " + value;
  }
  if (!request.body.empty() || request.method != "GET")
    text += "\r\nContent-Length: " + std::to_string(request.body.size());
  text += "\r\n\r\n";
  text += request.body;
  return text;
}
