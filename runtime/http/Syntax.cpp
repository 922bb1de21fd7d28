//===- Syntax.cpp - parts of HTTP's grammar -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Syntax.h"

#include <algorithm>

using namespace sluice::http;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

static bool isOneOf(char c, std::string_view set) {
  return set.find(c) != set.npos;
}

bool server::equalsIgnoringCase(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, lowered, lowered);
}

bool server::isToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return isDigit(c) || isLetter(c) || isOneOf(c, "!#$%&'*+-.^_`|~");
  });
}

static std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> server::splitList(std::string_view text) {
  std::vector<std::string_view> elements;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    if (std::string_view element = trimmed(text.substr(0, comma));
        !element.empty())
      elements.push_back(element);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return elements;
}

bool server::isHost(std::string_view text) {
  // uri-host [ ":" port ]: a name, or an address (in brackets for IPv6).
  return std::ranges::all_of(text, [](char c) {
    return isDigit(c) || isLetter(c) || isOneOf(c, "-._~%!$&'()*+,;=:[]");
  });
}

static int hexDigit(char c) {
  if (isDigit(c))
    return c - '0';
  c = lowered(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Decodes percent-encoding, and '+' for forms. Returns false if two
/// hexadecimal digits do not follow a percent sign.
static bool percentDecode(std::string_view text, bool isForm,
                          std::string &decoded) {
  decoded.clear();
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3)
        return false;
      int high = hexDigit(text[i + 1]), low = hexDigit(text[i + 2]);
      if (high < 0 || low < 0)
        return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && isForm) {
      c = ' ';
    }
    decoded += c;
  }
  return true;
}

static bool readQuery(std::string_view text, Fields &query) {
  while (!text.empty()) {
    size_t end = std::min(text.find('&'), text.size());
    std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty())
      continue;
    size_t equals = std::min(pair.find('='), pair.size());
    std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    auto &[name, decoded] = query.emplace_back();
    if (!percentDecode(pair.substr(0, equals), /*isForm=*/true, name) ||
        !percentDecode(value, /*isForm=*/true, decoded))
      return false;
  }
  return true;
}

/// Removes scheme and authority from an absolute-form. Returns false for other
/// forms.
static bool removeOrigin(std::string_view &target) {
  size_t colon = target.find("://");
  if (colon == target.npos)
    return false;
  std::string_view scheme = target.substr(0, colon);
  if (!server::equalsIgnoringCase(scheme, "http") &&
      !server::equalsIgnoringCase(scheme, "https"))
    return false;
  target.remove_prefix(colon + 3);
  size_t end = std::min(target.find_first_of("/?"), target.size());
  if (end == 0 || !server::isHost(target.substr(0, end)))
    return false;
  target.remove_prefix(end);
  return true;
}

bool server::readTarget(Request &request) {
  std::string_view target = request.target;
  // A fragment is for the client only; other bytes than visible ASCII must be
  // percent-encoded.
  if (std::ranges::any_of(
          target, [](char c) { return c <= ' ' || c > '~' || c == '#'; }))
    return false;
  if (target == "*") {
    request.path = target;
    return request.method == "OPTIONS";
  }
  if (!target.starts_with('/') && !removeOrigin(target))
    return false;
  size_t mark = std::min(target.find('?'), target.size());
  if (!percentDecode(target.substr(0, mark), /*isForm=*/false, request.path) ||
      request.path.find('\0') != request.path.npos)
    return false;
  if (request.path.empty()) // the target is "http://host"
    request.path = "/";
  return readQuery(target.substr(std::min(mark + 1, target.size())),
                   request.query);
}
