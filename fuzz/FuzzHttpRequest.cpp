//===- FuzzHttpRequest.cpp - fuzzes the reader of HTTP requests -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/AnswerHead.h"
#include "runtime/http/RequestParser.h"
#include "runtime/http/Syntax.h"

#include <algorithm>
#include <cstdlib>

using namespace sluice::http;
using namespace sluice::http::server;

static constexpr HeaderLimits limits = {512, 8, 256};

namespace {

struct Outcome {
  RequestParser::Progress progress = RequestParser::Progress::NeedMore;
  int status = 0;
  Request request;
  size_t used = 0;
};

} // namespace

static void require(bool holds) {
  if (!holds)
    std::abort();
}

static Outcome parse(std::string_view bytes, size_t piece) {
  RequestParser parser(limits);
  Outcome outcome;
  size_t given = 0;
  while (given < bytes.size() &&
         outcome.progress == RequestParser::Progress::NeedMore) {
    given += std::min(piece, bytes.size() - given);
    std::string_view fresh = bytes.substr(outcome.used, given - outcome.used);
    // A copy of its own, so that reads beyond it are noticed.
    std::string copy(fresh);
    copy.shrink_to_fit();
    size_t consumed = 0;
    outcome.progress = parser.feed(copy, consumed);
    require(consumed <= copy.size());
    outcome.used += consumed;
    if (outcome.progress == RequestParser::Progress::NeedMore)
      require(given - outcome.used <= limits.headerBytes + piece);
  }
  outcome.status = parser.refusal().status;
  require((outcome.status != 0) ==
          (outcome.progress == RequestParser::Progress::Refused));
  require(outcome.status == 0 ||
          (outcome.status >= 400 && outcome.status <= 599));
  if (outcome.progress == RequestParser::Progress::Complete)
    outcome.request = parser.take();
  return outcome;
}

/// What Request.h says of one.
static void checkRequest(const Request &request) {
  require(isToken(request.method));
  require(request.path.starts_with('/') || request.path == "*");
  require(request.path.find('\0') == request.path.npos);
  require(std::ranges::all_of(request.target,
                              [](char c) { return c > ' ' && c <= '~'; }));
  require(request.fields.size() <= limits.headerCount);
  require(request.body.size() <= limits.bodyBytes);
  for (const auto &[name, value] : request.fields) {
    require(isToken(name));
    require(std::ranges::none_of(value, [](unsigned char c) {
      return (c < ' ' && c != '\t') || c == 0x7f;
    }));
  }
  require(request.isHttp10 || request.field("Host"));
  require(!request.field("Transfer-Encoding") ||
          !request.field("Content-Length"));
}

/// Whatever is in its fields, an answer's head ends at its end only.
static void checkAnswer(std::string_view text) {
  size_t middle = text.size() / 2;
  Fields fields = {{std::string(text.substr(0, middle)), ""},
                   {"X", std::string(text.substr(middle))}};
  std::string head;
  appendHead(head, {200, fields, BodyEnd::Length, 3}, /*now=*/0);
  require(head.find("\r\n\r\n") == head.size() - 4);
  require(std::ranges::count(head, '\n') == std::ranges::count(head, '\r'));
  require(std::ranges::count(head, '\n') <= 6);
}

/// The first byte is the length of the pieces in which the rest comes. How it
/// comes must not change what is understood, else two servers could understand
/// a request in two ways; the limit on what is kept may apply earlier.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  size_t piece = std::max<size_t>(data[0], 1);
  std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  checkAnswer(bytes);
  // One request after the other, as long as it is clear where they begin.
  for (int requests = 0; !bytes.empty() && requests < 8; ++requests) {
    Outcome whole = parse(bytes, bytes.size());
    Outcome pieces = parse(bytes, piece);
    bool isComplete = whole.progress == RequestParser::Progress::Complete;
    bool areComplete = pieces.progress == RequestParser::Progress::Complete;
    if (isComplete)
      checkRequest(whole.request);
    if (isComplete && areComplete) {
      require(whole.used == pieces.used);
      require(whole.request.fields == pieces.request.fields);
      require(whole.request.body == pieces.request.body);
      require(whole.request.path == pieces.request.path);
    } else {
      require(!areComplete && (!isComplete || pieces.status == 431));
    }
    if (!isComplete)
      break;
    bytes.remove_prefix(whole.used);
  }
  return 0;
}
