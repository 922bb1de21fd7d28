//===- SseParserTest.cpp - an incremental parser of server-sent events ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/SseParser.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::http;
using testing::ElementsAre;

namespace {

/// Returns the events of `stream`, fed in pieces of `size` bytes, as
/// "name|data".
std::vector<std::string> eventsOf(std::string_view stream, size_t size) {
  SseParser parser;
  std::vector<std::string> events;
  for (size_t at = 0; at < stream.size(); at += size) {
    Status fed =
        parser.feed(stream.substr(at, size), [&](const SseEvent &event) {
          events.push_back(std::string(event.name) + "|" +
                           std::string(event.data));
        });
    EXPECT_TRUE(fed.ok()) << fed.message();
  }
  return events;
}

struct Case {
  std::string_view stream;
  std::vector<std::string> events;
};

/// The first cases are the examples of the HTML standard, section 9.2.6.
const Case cases[] = {
    {"data: YHOO\ndata: +2\ndata: 10\n\n", {"|YHOO\n+2\n10"}},
    {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
     "data:  third event\n",
     {"|first event", "|second event"}},
    {"data\n\ndata\ndata\n\ndata:", {"|", "|\n"}},
    {"data:test\n\ndata: test\n\n", {"|test", "|test"}},
    {"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
     {"add|73857293", "remove|2153"}},
    // The following cases test the standard's rules.
    {"data: a\r\rdata: b\r\n\r\ndata: c\n\n", {"|a", "|b", "|c"}},
    {"data: a\r\n\rdata: b\r\n\n", {"|a", "|b"}},
    {"\xEF\xBB\xBF"
     "data: a\n\n\xEF\xBB\xBF"
     "data: b\n\n",
     {"|a"}},
    {"event: lost\n\ndata: a\n\n", {"|a"}},
    {"Data: a\nunknown: b\nretry: 5\ndata: [DONE]\n\n", {"|[DONE]"}},
    {"data:: a:b\n\n", {"|: a:b"}},
    {"data: a", {}},
    {"data: a\n", {}},
    {"\n\n\n\r\r", {}},
    {":\n:keep-alive\ndata: x\n: y\n\n", {"|x"}},
};

TEST(SseParserTest, PiecesOfAnySize) {
  for (const Case &each : cases)
    for (size_t size :
         {size_t{1}, size_t{2}, size_t{3}, size_t{7}, each.stream.size()})
      EXPECT_EQ(eventsOf(each.stream, size), each.events)
          << each.stream << " in pieces of " << size;
}

/// An answer's token must not wait for the bytes of the next one.
TEST(SseParserTest, EventsComeWithTheirLastByte) {
  for (std::string end : {"\n\n", "\r\r", "\r\n\r"}) {
    SseParser parser;
    int events = 0;
    auto count = [&](const SseEvent &) { ++events; };
    std::string stream = "data: x" + end;
    for (size_t i = 0; i < stream.size(); ++i) {
      EXPECT_EQ(events, 0);
      ASSERT_TRUE(parser.feed(stream.substr(i, 1), count).ok());
    }
    EXPECT_EQ(events, 1);
  }
}

TEST(SseParserTest, ALineHasALimit) {
  for (size_t size : {1, 5, 100}) {
    SseParser parser(16);
    std::vector<std::string> events;
    auto take = [&](const SseEvent &event) { events.emplace_back(event.data); };
    std::string stream = "data: 1234567890\n\ndata: 12345678901\n\n";
    Status fed;
    for (size_t at = 0; at < stream.size(); at += size)
      fed = parser.feed(stream.substr(at, size), take);
    EXPECT_THAT(events, ElementsAre("1234567890"));
    EXPECT_EQ(fed.message(),
              "event stream: a line or event has more than 16 bytes");
    // The error remains.
    EXPECT_FALSE(parser.feed("\n", take).ok());
    EXPECT_FALSE(parser.feed("", take).ok());
    EXPECT_EQ(events.size(), 1u);
  }
}

/// The limit also holds if each line is short.
TEST(SseParserTest, AnEventHasALimit) {
  SseParser parser(17);
  auto ignore = [](const SseEvent &) {};
  for (int line = 0; line < 3; ++line)
    EXPECT_TRUE(parser.feed("data: 12345\n", ignore).ok()) << line;
  EXPECT_FALSE(parser.feed("data: 12345\n", ignore).ok());
}

} // namespace
