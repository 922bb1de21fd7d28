//===- AnswerHead.cpp - the status line and fields of an answer -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/AnswerHead.h"

#include "runtime/http/Syntax.h"

#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream> // which Beast's header uses without including it

using namespace sluice::http;
using namespace sluice::http::server;

bool server::isBodiless(int status) { return status == 204 || status == 304; }

static bool isOurs(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {
      "Connection", "Content-Length", "Date", "Transfer-Encoding"};
  return std::ranges::any_of(names, [&](std::string_view own) {
    return equalsIgnoringCase(name, own);
  });
}

static void appendField(std::string &out, std::string_view name,
                        std::string_view value) {
  out.append(name).append(": ");
  for (char c : value) {
    bool isControl = (c >= 0 && c < ' ' && c != '\t') || c == '\x7f';
    out += isControl ? '?' : c;
  }
  out += "\r\n";
}

/// Returns a date such as "Sun, 06 Nov 1994 08:49:37 GMT", English in every
/// locale.
static std::string formatDate(std::time_t now) {
  constexpr const char *days[] = {"Sun", "Mon", "Tue", "Wed",
                                  "Thu", "Fri", "Sat"};
  constexpr const char *months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                days[utc.tm_wday], utc.tm_mday, months[utc.tm_mon],
                utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return text;
}

void server::appendHead(std::string &out, const AnswerHead &head,
                        std::time_t now) {
  auto status = static_cast<unsigned>(head.status);
  auto reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(status));
  out += "HTTP/1.1 " + std::to_string(status) + ' ';
  out.append(reason.data(), reason.size()).append("\r\n");
  appendField(out, "Date", formatDate(now));
  for (const auto &[name, value] : head.fields)
    if (isToken(name) && !isOurs(name))
      appendField(out, name, value);
  if (head.end == BodyEnd::Length)
    appendField(out, "Content-Length", std::to_string(head.length));
  if (head.end == BodyEnd::Chunks)
    appendField(out, "Transfer-Encoding", "chunked");
  if (head.closes)
    appendField(out, "Connection", "close");
  else if (head.isHttp10)
    appendField(out, "Connection", "keep-alive");
  out += "\r\n";
}
