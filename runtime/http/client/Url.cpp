//===- Url.cpp - http:// and https:// URLs --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/Url.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>

using namespace sluice;
using namespace sluice::http;

namespace {

constexpr size_t maxUrlBytes = 8192;
constexpr size_t maxHostBytes = 253; // of a DNS name (RFC 1035)

bool isLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

char toSmall(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string inSmallLetters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), toSmall);
  return small;
}

Status parsePort(std::string_view text, uint16_t &port) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0)
    return failure("the port '", text, "' is not a number from 1 to 65535");
  return {};
}

/// Splits `text`, which begins with an IPv6 address in brackets.
Status parseBracketed(std::string_view text, Url &url, std::string_view &rest) {
  size_t close = text.find(']');
  if (close == std::string_view::npos)
    return failure("']' is missing after the IPv6 address");
  url.host = inSmallLetters(text.substr(1, close - 1));
  in6_addr address;
  if (inet_pton(AF_INET6, url.host.c_str(), &address) != 1)
    return failure("'", url.host, "' is not an IPv6 address");
  rest = text.substr(close + 1);
  if (!rest.empty() && rest.front() != ':')
    return failure("'", rest, "' after the IPv6 address");
  return {};
}

Status parseName(std::string_view text, Url &url, std::string_view &rest) {
  size_t colon = std::min(text.find(':'), text.size());
  url.host = inSmallLetters(text.substr(0, colon));
  rest = text.substr(colon);
  if (url.host.empty())
    return failure("the host is missing");
  if (url.host.size() > maxHostBytes)
    return failure("the host has more than ", maxHostBytes, " characters");
  for (char c : url.host)
    if (!isLetterOrDigit(c) && c != '.' && c != '-' && c != '_')
      return failure("'", std::string_view(&c, 1), "' in the host");
  return {};
}

Status parseAuthority(std::string_view text, Url &url) {
  if (text.find('@') != std::string_view::npos)
    return failure("user names and passwords are not supported");
  std::string_view port;
  Status parsed = text.starts_with('[') ? parseBracketed(text, url, port)
                                        : parseName(text, url, port);
  if (!parsed.ok())
    return parsed;
  url.port = url.tls ? 443 : 80;
  return port.empty() ? Status() : parsePort(port.substr(1), url.port);
}

Status parseTarget(std::string_view text, Url &url) {
  for (char c : text)
    if (c <= ' ' || c > '~' || c == '#')
      return c == '#' ? failure("a fragment ('#') is not sent to servers")
                      : failure("a blank, control or non-ASCII character in "
                                "the path; percent-encode it");
  url.target = text.starts_with('/') ? "" : "/";
  url.target += text;
  return {};
}

Status parseInto(std::string_view text, Url &url) {
  if (text.size() > maxUrlBytes)
    return failure("more than ", maxUrlBytes, " bytes");
  size_t colon = text.find("://");
  std::string scheme = inSmallLetters(
      text.substr(0, colon == std::string_view::npos ? 0 : colon));
  if (scheme != "http" && scheme != "https")
    return failure("it must begin with http:// or https://");
  url.tls = scheme == "https";
  text.remove_prefix(colon + 3);
  size_t end = std::min(text.find_first_of("/?#"), text.size());
  SLUICE_RETURN_IF_ERROR(parseAuthority(text.substr(0, end), url));
  return parseTarget(text.substr(end), url);
}

} // namespace

std::string Url::authority() const {
  std::string text =
      host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80))
    text += ":" + std::to_string(port);
  return text;
}

Expected<Url> http::parseUrl(std::string_view text) {
  Url url;
  if (Status s = parseInto(text, url); !s.ok())
    return failure("'", text.substr(0, 100),
                   "' is not a usable URL: ", s.message());
  return url;
}
