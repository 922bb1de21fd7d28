//===- ResponseReaderTest.cpp - an incremental parser of HTTP answers -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/ResponseReader.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::client;

namespace {

struct Taken : ResponseSink {
  void onHead(const ResponseHead &reported) override {
    head = reported;
    ++heads;
  }
  void onBody(std::string_view piece) override { body += piece; }

  ResponseHead head;
  int heads = 0;
  std::string body;
};

/// Feeds `bytes` in pieces of `size` bytes. Returns the error or "".
std::string feedAll(ResponseReader &reader, std::string_view bytes, size_t size,
                    Taken &taken) {
  for (size_t at = 0; at < bytes.size(); at += size)
    if (auto failed = reader.feed(bytes.substr(at, size), taken))
      return failed->message;
  return "";
}

constexpr size_t maxHeader = 1000;
constexpr uint64_t maxBody = 100;

struct Case {
  const char *bytes;
  int status;
  const char *body;
  bool complete;  ///< without the end of the connection
  bool canFollow; ///< whether another answer can follow
};

TEST(ResponseReaderTest, ReadsInPiecesOfAnySize) {
  const Case cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true,
       true},
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "", true,
       true},
      {"HTTP/1.1 204 No Content\r\n\r\n", 204, "", true, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
       "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
       200, "abcde", true, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
       "A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
       200, "0123456789", true, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200,
       "", true, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
       "0\r\nTrailer: x\r\n\r\n",
       200, "", true, true},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
       200, "a", true, false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", true, false},
      {"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, "until the end", false,
       false},
      {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
       "HTTP/1.1 100 Continue\r\n\r\n"
       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
       200, "ok", true, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n", 200,
       "a", true, false},
  };
  for (const Case &each : cases)
    for (size_t size : {1, 2, 3, 1000}) {
      ResponseReader reader(maxHeader, maxBody);
      Taken taken;
      EXPECT_EQ(feedAll(reader, each.bytes, size, taken), "") << each.bytes;
      EXPECT_EQ(taken.heads, 1);
      EXPECT_EQ(taken.head.status, each.status);
      EXPECT_EQ(taken.body, each.body);
      EXPECT_EQ(reader.isComplete(), each.complete);
      EXPECT_EQ(reader.canFollow(), each.canFollow) << each.bytes;
      EXPECT_FALSE(reader.feedEnd());
      EXPECT_TRUE(reader.isComplete());
    }
}

TEST(ResponseReaderTest, FieldsAreFoundInAnyCase) {
  ResponseReader reader(maxHeader, maxBody);
  Taken taken;
  feedAll(reader,
          "HTTP/1.1 200 Fine\r\nX-One: a\r\nx-one: b\r\nContent-Length: "
          "0\r\n\r\n",
          1000, taken);
  EXPECT_EQ(taken.head.reason, "Fine");
  EXPECT_EQ(taken.head.field("x-ONE"), "a");
  EXPECT_EQ(taken.head.field("content-length"), "0");
  EXPECT_EQ(taken.head.field("x-on"), "");
}

TEST(ResponseReaderTest, RefusesWhatIsNotHttp) {
  const std::string cases[] = {
      "SSH-2.0-OpenSSH_9.2\r\n",
      "<html>",
      "HTP/1.1 200 OK\r\n\r\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "HTTP/1.1 2x0 OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
      "HTTP/1.1 101 Switching Protocols\r\n\r\n",
      std::string("\x15\x03\x01\x00\x02\x02\x28", 7), // a TLS alert
  };
  for (const std::string &bytes : cases)
    for (size_t size : {1, 3, 1000}) {
      ResponseReader reader(maxHeader, maxBody);
      Taken taken;
      EXPECT_NE(feedAll(reader, bytes, size, taken), "") << bytes;
    }
  std::string hints;
  for (int i = 0; i < 17; ++i)
    hints += "HTTP/1.1 100 Continue\r\n\r\n";
  ResponseReader reader(maxHeader, maxBody);
  Taken taken;
  EXPECT_EQ(feedAll(reader, hints, 1000, taken), "too many 1xx answers");
}

TEST(ResponseReaderTest, HasLimits) {
  std::string start = "HTTP/1.1 200 OK\r\n";
  std::string chunked = start + "Transfer-Encoding: chunked\r\n\r\n";
  const std::pair<std::string, const char *> cases[] = {
      {start + "X: " + std::string(2000, 'x'), "the answer's header is too "
                                               "large"},
      {start + "Content-Length: 101\r\n\r\n", "the answer's body is too large"},
      {chunked + "65\r\n", "the answer's body is too large"},
      {chunked + "40\r\n" + std::string(64, 'x') + "\r\n40\r\n",
       "the answer's body is too large"},
      {chunked + "1;" + std::string(2000, 'x'), "the answer's header is too "
                                                "large"},
      {"HTTP/1.0 200 OK\r\n\r\n" + std::string(101, 'x'),
       "the answer's body is too large"},
  };
  for (const auto &[bytes, why] : cases)
    for (size_t size : {size_t{1}, size_t{10}, bytes.size()}) {
      ResponseReader reader(maxHeader, maxBody);
      Taken taken;
      EXPECT_EQ(feedAll(reader, bytes, size, taken), why) << size;
    }
}

TEST(ResponseReaderTest, AnEarlyEndIsAnError) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "closed without an answer"},
      {"HTTP/1.", "closed before the answer's end"},
      {"HTTP/1.1 200 OK\r\nA: b", "closed before the answer's end"},
      {"HTTP/1.1 100 Continue\r\n\r\n", "closed before the answer's end"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na",
       "closed before the answer's end"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
       "closed before the answer's end"},
  };
  for (const auto &[bytes, why] : cases) {
    ResponseReader reader(maxHeader, maxBody);
    Taken taken;
    EXPECT_EQ(feedAll(reader, bytes, 1000, taken), "");
    auto failed = reader.feedEnd();
    ASSERT_TRUE(failed) << bytes;
    EXPECT_EQ(failed->kind, FailureKind::Closed);
    EXPECT_EQ(failed->message, why);
  }
}

} // namespace
