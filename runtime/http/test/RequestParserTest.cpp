//===- RequestParserTest.cpp - tests of the request parser ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/RequestParser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice::http;
using namespace sluice::http::server;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Progress = RequestParser::Progress;

namespace {

constexpr HeaderLimits limits = {1024, 8, 100};

struct Outcome {
  Progress progress = Progress::NeedMore;
  BadRequest refusal;
  Request request;
  std::string rest; ///< bytes that were not consumed
};

/// Feeds `bytes` in pieces of `piece` bytes until there is a result.
Outcome parse(std::string_view bytes, size_t piece) {
  RequestParser parser(limits);
  Outcome outcome;
  std::string waiting;
  while (!bytes.empty() && outcome.progress == Progress::NeedMore) {
    waiting += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    size_t consumed = 0;
    outcome.progress = parser.feed(waiting, consumed);
    waiting.erase(0, consumed);
    EXPECT_LE(waiting.size(), limits.headerBytes + piece);
  }
  outcome.refusal = parser.refusal();
  if (outcome.progress == Progress::Complete)
    outcome.request = parser.take();
  outcome.rest = waiting + std::string(bytes);
  return outcome;
}

/// Feeds all bytes at once; feeding single bytes must give the same result.
Outcome parse(std::string_view bytes) {
  Outcome whole = parse(bytes, bytes.size());
  for (size_t piece : {size_t{1}, size_t{3}}) {
    Outcome pieces = parse(bytes, piece);
    EXPECT_EQ(pieces.progress, whole.progress) << bytes;
    EXPECT_EQ(pieces.refusal.status, whole.refusal.status) << bytes;
    EXPECT_EQ(pieces.request.body, whole.request.body);
    if (whole.progress == Progress::Complete) {
      EXPECT_EQ(pieces.rest, whole.rest);
    }
  }
  return whole;
}

/// Parses "POST / HTTP/1.1" with these fields and what follows them.
Outcome parsePost(std::string_view fieldsAndBody) {
  return parse("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(fieldsAndBody));
}

} // namespace

TEST(RequestParser, ReadsARequest) {
  Outcome outcome = parse("POST /a%20b?c=d HTTP/1.1\r\nhost: x\r\n"
                          "X-Name: \t two words \r\nX-Name: \xc3\xa4\r\n"
                          "Empty:\r\nContent-Length: 3\r\n\r\nabcGET");
  ASSERT_EQ(outcome.progress, Progress::Complete);
  const Request &request = outcome.request;
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/a%20b?c=d");
  EXPECT_EQ(request.path, "/a b");
  EXPECT_THAT(request.query, ElementsAre(Pair("c", "d")));
  EXPECT_THAT(request.fields,
              ElementsAre(Pair("host", "x"), Pair("X-Name", "two words"),
                          Pair("X-Name", "\xc3\xa4"), Pair("Empty", ""),
                          Pair("Content-Length", "3")));
  EXPECT_EQ(*request.field("x-nAME"), "two words");
  EXPECT_EQ(request.field("Name"), nullptr);
  EXPECT_EQ(request.body, "abc");
  EXPECT_FALSE(request.isHttp10);
  EXPECT_TRUE(request.keepAlive);
  EXPECT_EQ(outcome.rest, "GET");
}

TEST(RequestParser, KnowsWhetherTheConnectionStays) {
  struct {
    const char *bytes;
    bool keepAlive;
  } cases[] = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", false},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
  };
  for (const auto &[bytes, keepAlive] : cases) {
    Outcome outcome = parse(bytes);
    EXPECT_EQ(outcome.progress, Progress::Complete) << bytes;
    EXPECT_EQ(outcome.request.keepAlive, keepAlive) << bytes;
  }
}

TEST(RequestParser, SkipsEmptyLinesBeforeARequest) {
  EXPECT_EQ(parse("\r\n\r\nGET / HTTP/1.0\r\n\r\n").progress,
            Progress::Complete);
  RequestParser parser(limits);
  size_t consumed = 0;
  EXPECT_EQ(parser.feed("\r\n\r", consumed), Progress::NeedMore);
  EXPECT_EQ(consumed, 2u);
  EXPECT_EQ(parser.stage(), RequestParser::Stage::Idle);
}

TEST(RequestParser, ReadsChunks) {
  Outcome outcome = parsePost("Transfer-Encoding: Chunked\r\n\r\n"
                              "3\r\nabc\r\n0A ; x=\"y;\" ;z\r\n0123456789\r\n"
                              "000\r\nTrailer: 1\r\n\r\nrest");
  ASSERT_EQ(outcome.progress, Progress::Complete) << outcome.refusal.message;
  EXPECT_EQ(outcome.request.body, "abc0123456789");
  EXPECT_EQ(outcome.request.field("Trailer"), nullptr);
  EXPECT_EQ(outcome.rest, "rest");
  EXPECT_EQ(parsePost("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").progress,
            Progress::Complete);
}

TEST(RequestParser, RefusesMalformedHeaders) {
  for (std::string_view bytes : {
           "\x16\x03\x01",                       // TLS
           "GET / HTTP/1.1\nHost: a\n\n",        // bare LF
           "GET / HTTP/1.1\rHost: a\r\r",        // bare CR
           "GET /\r\n\r\n",                      // HTTP/0.9
           "GET / HTTP\r\n\r\n",                 // no version
           "GET / H\r\n\r\n",                    //
           "GET / HTTX/1.1\r\n\r\n",             //
           "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", //
           "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", //
           " GET / HTTP/1.1\r\nHost: a\r\n\r\n", //
           "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",  //
           "GET a HTTP/1.1\r\nHost: a\r\n\r\n",  // target
           "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET / HTTP/1.1\r\n\r\n",                       // no Host
           "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", // two Hosts
           "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",          // an invalid Host
           "GET / HTTP/1.0\r\nHost: a b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX: b\x01\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", // obs-fold
           "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nOrigin: b\r\norigin: b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n"
           "Content-Type: application/json\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nContent-Encoding: identity\r\n"
           "Content-Encoding: gzip\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nConnection: \"\r\n\r\n",
       })
    EXPECT_EQ(parse(bytes).refusal.status, 400) << bytes;
  EXPECT_EQ(parse(std::string_view("GET / HTTP/1.1\0", 15)).refusal.status,
            400);
}

TEST(RequestParser, TellsBinaryGarbageAtOnce) {
  RequestParser parser(limits);
  size_t consumed = 0;
  EXPECT_EQ(parser.feed("\x16", consumed), Progress::Refused);
}

TEST(RequestParser, RefusesUnclearLengths) {
  for (std::string_view fields : {
           "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
           "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
           "Content-Length: 1, 1\r\n\r\na",
           "Content-Length: 1,\r\n\r\na",
           "Content-Length: +1\r\n\r\na",
           "Content-Length: -1\r\n\r\na",
           "Content-Length: 0x1\r\n\r\na",
           "Content-Length: 1 1\r\n\r\na",
           "Content-Length:\r\n\r\na",
           "Content-Length: 18446744073709551617\r\n\r\na",
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
           "Content-Length: 5\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: x\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
           "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding:\r\n\r\n0\r\n\r\n",
       })
    EXPECT_EQ(parsePost(fields).refusal.status, 400) << fields;
  EXPECT_EQ(parse("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "0\r\n\r\n")
                .refusal.status,
            400);
}

TEST(RequestParser, RefusesUnknownCodings) {
  for (std::string_view value : {"gzip", "gzip, chunked", "identity",
                                 "xchunked", "chunked;a=b", "\"chunked\""})
    EXPECT_EQ(parsePost("Transfer-Encoding: " + std::string(value) +
                        "\r\n\r\n0\r\n\r\n")
                  .refusal.status,
              501)
        << value;
}

TEST(RequestParser, RefusesMalformedChunks) {
  for (std::string_view body : {
           "x\r\n\r\n\r\n",
           "1\r\nab\r\n0\r\n\r\n",
           "1\nabcdefg\r\n",
           "-1\r\nabcde",
           "0x1\r\n\r\n",
           " 1\r\na\r\n0\r\n\r\n",
           "1 \r\na\r\n0\r\n\r\n",
           "1;\r\na\r\n0\r\n\r\n",
           "1;a=\"\n\"\r\na\r\n0\r\n\r\n",
           "fffffffffffffffff\r\na\r\n",
           "0\r\nContent-Length: 5\r\n\r\n",
           "0\r\na b: c\r\n\r\n",
       })
    EXPECT_EQ(
        parsePost("Transfer-Encoding: chunked\r\n\r\n" + std::string(body))
            .refusal.status,
        400)
        << body;
}

TEST(RequestParser, RefusesOtherVersions) {
  for (std::string_view version : {"0.9", "1.2", "2.0", "3.0"})
    EXPECT_EQ(
        parse("GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n\r\n")
            .refusal.status,
        505)
        << version;
  EXPECT_EQ(parse("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").refusal.status, 505);
}

TEST(RequestParser, RefusesLongMethods) {
  EXPECT_EQ(parse(std::string(33, 'A') + " / HTTP/1.1\r\nHost: a\r\n\r\n")
                .refusal.status,
            501);
}

TEST(RequestParser, LimitsHeaders) {
  std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  size_t room = limits.headerBytes - start.size() - 4;
  EXPECT_EQ(parse(start + std::string(room, 'x') + "\r\n\r\n").progress,
            Progress::Complete);
  EXPECT_EQ(
      parse(start + std::string(room + 1, 'x') + "\r\n\r\n").refusal.status,
      431);
  EXPECT_EQ(parse(std::string(2000, 'A')).refusal.status, 431);

  std::string fields = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (size_t i = 1; i < limits.headerCount; ++i)
    fields += "X: y\r\n";
  EXPECT_EQ(parse(fields + "\r\n").progress, Progress::Complete);
  EXPECT_EQ(parse(fields + "X: y\r\n\r\n").refusal.status, 431);
}

TEST(RequestParser, LimitsBodies) {
  std::string body(limits.bodyBytes, 'x');
  EXPECT_EQ(parsePost("Content-Length: 100\r\n\r\n" + body).request.body, body);
  // It is refused before any byte of the body has come.
  EXPECT_EQ(parsePost("Content-Length: 101\r\n\r\n").refusal.status, 413);
  std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(parsePost(chunked + "64\r\n" + body + "\r\n0\r\n\r\n").request.body,
            body);
  EXPECT_EQ(parsePost(chunked + "64\r\n" + body + "\r\n1\r\n").refusal.status,
            413);
  EXPECT_EQ(parsePost(chunked + "ffffffff\r\n").refusal.status, 413);
}

TEST(RequestParser, LimitsWhatComesWithChunks) {
  std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  std::string extension = ";" + std::string(600, 'x');
  EXPECT_EQ(parsePost(chunked + "1" + extension + "\r\na\r\n1" + extension +
                      "\r\na\r\n0\r\n\r\n")
                .refusal.status,
            431);
  EXPECT_EQ(parsePost(chunked + "1;" + std::string(3000, 'x')).refusal.status,
            431);
  EXPECT_EQ(
      parsePost(chunked + "0\r\nX: " + std::string(3000, 'x')).refusal.status,
      431);
  std::string trailers;
  for (size_t i = 0; i <= limits.headerCount; ++i)
    trailers += "X: y\r\n";
  Outcome outcome = parsePost(chunked + "0\r\n" + trailers + "\r\n");
  EXPECT_EQ(outcome.refusal.status, 431);
  EXPECT_THAT(outcome.refusal.message, HasSubstr("trailers"));
}

TEST(RequestParser, KnowsExpectations) {
  RequestParser parser(limits);
  size_t consumed = 0;
  EXPECT_EQ(parser.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                        "Expect: 100-Continue\r\n\r\n",
                        consumed),
            Progress::NeedMore);
  EXPECT_EQ(parser.stage(), RequestParser::Stage::Body);
  EXPECT_TRUE(parser.expectsContinue());
  EXPECT_EQ(parsePost("Expect: x\r\n\r\n").refusal.status, 417);
  EXPECT_EQ(parse("GET / HTTP/1.0\r\nExpect: x\r\n\r\n").progress,
            Progress::Complete);
}
