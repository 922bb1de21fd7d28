//===- StreamTest.cpp - answers as streams of events ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/test/ServeFixture.h"

using namespace sluice;
using namespace sluice::serve::test;

using StreamTest = ServeTest;

TEST_F(StreamTest, ACompletionIsAStreamOfItsParts) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}, {"stream", true}});
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "ab");
  std::string first = client->readUntil("\n\n");
  EXPECT_NE(first.find("HTTP/1.1 200"), first.npos);
  EXPECT_NE(first.find("Content-Type: text/event-stream"), first.npos);
  EXPECT_NE(first.find("Cache-Control: no-cache"), first.npos);
  engine.tell(0, "c");
  engine.end(0, FinishReason::Length);
  std::string rest = client->readUntil("data: [DONE]\n\n");
  EXPECT_NE(rest.find("\"finish_reason\":\"length\""), rest.npos) << rest;
  EXPECT_EQ(rest.find("usage\":{"), rest.npos) << rest;
}

TEST_F(StreamTest, TheEventsAreThoseOfTheApi) {
  start();
  auto client =
      send("/v1/completions", {{"prompt", "p"},
                               {"stream", true},
                               {"stream_options", {{"include_usage", true}}}});
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "abc");
  engine.end(0, FinishReason::Stop);
  ReadAnswer answer = client->read();
  EXPECT_TRUE(answer.complete);
  auto events = eventsOf(answer.body);
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(textOf(events), "abc");
  json usage = json::parse(events[events.size() - 2]);
  EXPECT_EQ(usage["choices"], json::array());
  EXPECT_EQ(usage["usage"]["prompt_tokens"], 1);
  EXPECT_EQ(usage["usage"]["completion_tokens"], 3);
  json last = json::parse(events[events.size() - 3]);
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  for (size_t i = 0; i + 1 < events.size(); ++i)
    EXPECT_EQ(json::parse(events[i])["id"], usage["id"]);
}

TEST_F(StreamTest, AChatBeginsWithItsRole) {
  engine.answerAll("Hi");
  start();
  ReadAnswer answer = post(
      "/v1/chat/completions",
      {{"messages", {{{"role", "user"}, {"content", "x"}}}}, {"stream", true}});
  auto events = eventsOf(answer.body);
  ASSERT_GE(events.size(), 3u);
  json first = json::parse(events[0]);
  EXPECT_EQ(first["object"], "chat.completion.chunk");
  EXPECT_EQ(first["choices"][0]["delta"]["role"], "assistant");
  std::string text;
  for (size_t i = 0; i + 1 < events.size(); ++i)
    text += json::parse(events[i])["choices"][0]["delta"].value("content", "");
  EXPECT_EQ(text, "Hi");
  EXPECT_EQ(
      json::parse(events[events.size() - 2])["choices"][0]["finish_reason"],
      "stop");
}

/// The stop string arrives byte by byte, and no part of it is ever sent.
TEST_F(StreamTest, AStopStringAcrossChunks) {
  start();
  auto client = send("/v1/completions",
                     {{"prompt", "p"}, {"stream", true}, {"stop", "<END>"}});
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "text <EN");
  // The text may come in one event or in several.
  std::string begun;
  while (begun.size() < 5) {
    std::string event = client->readUntil("\n\n");
    size_t data = event.find("data: ");
    ASSERT_NE(data, event.npos) << event;
    begun += textOf({event.substr(data + 6)});
  }
  EXPECT_EQ(begun, "text ");
  engine.tell(0, "D");
  engine.tell(0, ">");
  engine.tell(0, " never");
  std::string rest = client->readUntil("data: [DONE]\n\n");
  EXPECT_EQ(rest.find('<'), rest.npos) << rest;
  EXPECT_EQ(rest.find("never"), rest.npos) << rest;
  EXPECT_NE(rest.find("\"finish_reason\":\"stop\""), rest.npos) << rest;
  EXPECT_TRUE(http::test::eventually([&] { return engine.open() == 0; }));
  EXPECT_EQ(engine.finished(0), FinishReason::Stop);
}

/// Text that looked like the start of the stop string is sent at the end.
TEST_F(StreamTest, WhatWasHeldBackComesAtTheEnd) {
  start();
  auto client = send("/v1/completions",
                     {{"prompt", "p"}, {"stream", true}, {"stop", "<END>"}});
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "a<EN");
  engine.end(0, FinishReason::Stop);
  EXPECT_EQ(textOf(eventsOf(client->read().body)), "a<EN");
}

/// A character of several tokens is sent when it is complete.
TEST_F(StreamTest, CharactersAreWhole) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}, {"stream", true}});
  ASSERT_TRUE(engine.wait(0));
  engine.tell(0, "a\xe2\x82");
  EXPECT_NE(client->readUntil("\n\n").find("\"text\":\"a\""),
            std::string::npos);
  engine.tell(0, "\xac");
  engine.end(0, FinishReason::Stop);
  std::string rest = client->readUntil("[DONE]");
  EXPECT_NE(rest.find("\xe2\x82\xac"), rest.npos) << rest;
}

TEST_F(StreamTest, ChoicesComeMixedAndEachEndsForItself) {
  start();
  auto client =
      send("/v1/completions", {{"prompt", "p"}, {"stream", true}, {"n", 3}});
  ASSERT_TRUE(engine.wait(2));
  for (const char *piece : {"x", "y", "z"})
    for (size_t i : {0, 1, 2})
      engine.tell(i, piece + std::to_string(i));
  engine.end(1, FinishReason::Stop);
  engine.end(0, FinishReason::Length);
  engine.end(2, FinishReason::Stop);
  ReadAnswer answer = client->read();
  auto events = eventsOf(answer.body);
  EXPECT_EQ(textOf(events, 0), "x0y0z0");
  EXPECT_EQ(textOf(events, 1), "x1y1z1");
  EXPECT_EQ(textOf(events, 2), "x2y2z2");
  int ends = 0;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    json chunk = json::parse(events[i]);
    for (const json &choice : chunk["choices"])
      ends += !choice["finish_reason"].is_null();
  }
  EXPECT_EQ(ends, 3);
}

/// Tokens that come while others are being sent share chunks: there are at most
/// as many chunks as tokens, and no text is missing.
TEST_F(StreamTest, WhatPilesUpGoesTogether) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}, {"stream", true}});
  ASSERT_TRUE(engine.wait(0));
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += static_cast<char>('a' + i % 26);
  engine.tell(0, text);
  engine.end(0, FinishReason::Stop);
  auto events = eventsOf(client->read().body);
  EXPECT_EQ(textOf(events), text);
  EXPECT_LE(events.size(), 5002u);
}

/// The data for a client that does not read is limited.
TEST_F(StreamTest, AClientThatNeverReadsIsCutOff) {
  start();
  auto client = send("/v1/completions", {{"prompt", "p"}, {"stream", true}});
  ASSERT_TRUE(engine.wait(0));
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!engine.finished(0) && std::chrono::steady_clock::now() < until)
    for (int i = 0; i < 100; ++i)
      engine.tell(0, "x");
  EXPECT_EQ(engine.finished(0), FinishReason::Cancelled);
  EXPECT_TRUE(becomes("sluice:client_disconnects_total", "1"));
}

TEST_F(StreamTest, Http10StreamsUntilTheConnectionCloses) {
  engine.answerAll("old");
  start();
  TestClient client(server->port());
  std::string body = R"({"prompt":"p","stream":true})";
  client.send("POST /v1/completions HTTP/1.0\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  std::string all = client.readAll();
  EXPECT_TRUE(all.ends_with("data: [DONE]\n\n")) << all;
}
