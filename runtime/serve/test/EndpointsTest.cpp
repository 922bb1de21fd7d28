//===- EndpointsTest.cpp - paths, methods and types of bodies -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/test/ServeFixture.h"

#include <ctime>

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

using EndpointsTest = ServeTest;

TEST_F(EndpointsTest, Models) {
  options.modelNames = {"first", "org/second"};
  start();
  json list = bodyOf(get("/v1/models"));
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["data"][0]["id"], "first");
  EXPECT_EQ(list["data"][0]["object"], "model");
  EXPECT_EQ(bodyOf(get("/v1/models/first"))["id"], "first");
  EXPECT_EQ(bodyOf(get("/v1/models/org/second"))["id"], "org/second");
  EXPECT_EQ(bodyOf(get("/v1/models/org%2Fsecond"))["id"], "org/second");
  for (const char *path : {"/v1/models/demo", "/v1/models/"}) {
    ReadAnswer answer = get(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(errorOf(answer)["code"], "model_not_found") << path;
  }
}

TEST_F(EndpointsTest, AModelIsAsOldAsItsServerWhereNothingElseIsKnown) {
  model.created = 0;
  const std::time_t before = std::time(nullptr);
  start();
  json first = bodyOf(get("/v1/models"))["data"][0]["created"];
  EXPECT_GE(first, before);
  EXPECT_LE(first, std::time(nullptr));
  EXPECT_EQ(bodyOf(get("/v1/models/demo"))["created"], first);
}

TEST_F(EndpointsTest, TokenizeAndDetokenize) {
  start();
  ReadAnswer answer = post("/tokenize", {{"prompt", "Hi"}});
  EXPECT_EQ(answer.status, 200);
  json body = bodyOf(answer);
  EXPECT_EQ(body["tokens"], json({'H', 'i'}));
  EXPECT_EQ(body["count"], 2);
  EXPECT_EQ(bodyOf(post("/detokenize", {{"tokens", {'H', 'i'}}}))["prompt"],
            "Hi");
  EXPECT_EQ(post("/tokenize", {{"text", "Hi"}}).status, 400);
  EXPECT_EQ(post("/detokenize", {{"tokens", "Hi"}}).status, 400);
}

TEST_F(EndpointsTest, EmbeddingsAreRefusedByName) {
  start();
  ReadAnswer answer = post("/v1/embeddings", {{"input", "text"}});
  EXPECT_TRUE(answer.status == 400 || answer.status == 501);
  EXPECT_NE(errorOf(answer)["message"].get<std::string>().find("embeddings"),
            std::string::npos);
}

TEST_F(EndpointsTest, HealthFollowsTheEngine) {
  engine.setHealth(Status::error("the model is not ready yet"));
  start();
  ReadAnswer answer = get("/health");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "5");
  EXPECT_EQ(errorOf(answer)["message"], "the model is not ready yet");
  EXPECT_EQ(post("/v1/completions", {{"prompt", "p"}}).status, 503);
  engine.setHealth({});
  EXPECT_EQ(get("/health").status, 200);
  EXPECT_EQ(bodyOf(get("/health"))["status"], "ok");
}

TEST_F(EndpointsTest, Version) {
  start();
  EXPECT_EQ(bodyOf(get("/version"))["version"], "1.2.3");
}

TEST_F(EndpointsTest, UnknownPathsAre404) {
  start();
  for (const char *path : {"/v1", "/v1/", "/v1/completions/", "/nothing",
                           "/page.css.map", "//", "/v1/models2"}) {
    ReadAnswer answer = get(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(errorOf(answer)["type"], "not_found_error") << path;
  }
  EXPECT_EQ(post("/nothing", {}).status, 404);
  // The query may hold private data, so it is not shown.
  EXPECT_EQ(get("/nothing?secret").body.find("secret"), std::string::npos);
}

TEST_F(EndpointsTest, WrongMethodsAre405WithThoseThatAreRight) {
  start();
  struct {
    const char *method, *path, *allow;
  } cases[] = {{"GET", "/v1/completions", "POST"},
               {"DELETE", "/v1/chat/completions", "POST"},
               {"OPTIONS", "/v1/chat/completions", "POST"},
               {"POST", "/health", "GET, HEAD"},
               {"POST", "/v1/models", "GET, HEAD"},
               {"DELETE", "/v1/models/demo", "GET, HEAD"},
               {"PUT", "/", "GET, HEAD"},
               {"POST", "/page.js", "GET, HEAD"}};
  for (const auto &one : cases) {
    ReadAnswer answer = ask(std::string(one.method) + ' ' + one.path +
                            " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(answer.status, 405) << one.method << one.path;
    EXPECT_EQ(answer.field("Allow"), one.allow) << one.method << one.path;
    errorOf(answer);
  }
}

TEST_F(EndpointsTest, HeadIsAnsweredLikeGet) {
  start();
  ReadAnswer answer = ask("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Length"), "15");
  // HEAD does not start a stream.
  TestClient client(server->port());
  client.send("HEAD /status/events HTTP/1.1\r\nHost: localhost\r\n\r\n" +
              http::test::get("/health"));
  EXPECT_EQ(client.read(/*isHead=*/true).status, 200);
  EXPECT_EQ(client.read().status, 200);
}

TEST_F(EndpointsTest, BodiesOfOtherTypesAre415) {
  engine.answerAll("ok");
  start();
  auto status = [&](const std::string &fields) {
    return ask(http::test::post("/v1/completions", R"({"prompt":"p"})", fields))
        .status;
  };
  EXPECT_EQ(status(""), 200);
  EXPECT_EQ(status("Content-Type: application/json\r\n"), 200);
  EXPECT_EQ(status("Content-Type: Application/JSON; charset=utf-8\r\n"), 200);
  // Sent by curl -d.
  EXPECT_EQ(status("Content-Type: application/x-www-form-urlencoded\r\n"), 200);
  // A page of another origin could send this without asking for permission.
  EXPECT_EQ(status("Content-Type: application/x-www-form-urlencoded\r\n"
                   "Origin: https://example.org\r\n"),
            415);
  EXPECT_EQ(status("Origin: https://example.org\r\n"), 415);
  EXPECT_EQ(status("Content-Type: \r\nOrigin: null\r\n"), 415);
  EXPECT_EQ(status("Content-Type: application/json\r\n"
                   "Origin: https://example.org\r\n"),
            200);
  // The server does not decompress bodies.
  EXPECT_EQ(status("Content-Encoding: gzip\r\n"), 415);
  EXPECT_EQ(status("Content-Encoding: Identity\r\n"), 200);
  EXPECT_EQ(status("Content-Type: text/plain\r\n"), 415);
  EXPECT_EQ(status("Content-Type: multipart/form-data; boundary=x\r\n"), 415);
  EXPECT_EQ(status("Content-Type: application/jsonx\r\n"), 415);
}

TEST_F(EndpointsTest, TheMetricsAreText) {
  EngineStatus status;
  status.head.running = 3;
  status.head.waiting = 2;
  status.head.preempted = 1;
  status.head.pages = 8;
  status.head.pagesUsed = 2;
  status.head.preemptions = 4;
  status.head.prefixQueries = 100;
  status.head.prefixHits = 60;
  status.head.speculation = {.launched = 20,
                             .accepted = 12,
                             .cancelled = 8,
                             .computedDead = 3,
                             .drafted = 30};
  engine.setStatus(status);
  start();
  ReadAnswer answer = get("/metrics");
  EXPECT_EQ(answer.field("Content-Type"),
            "text/plain; version=0.0.4; charset=utf-8");
  const std::pair<const char *, const char *> expected[] = {
      {"sluice:num_requests_running", "3"},
      {"sluice:num_requests_waiting", "3"},
      {"sluice:kv_cache_usage_perc", "0.25"},
      {"sluice:num_preemptions_total", "4"},
      {"sluice:prefix_cache_queries_total", "100"},
      {"sluice:prefix_cache_hits_total", "60"},
      {"sluice:spec_decode_num_draft_tokens_total", "30"},
      {"sluice:spec_decode_num_launched_tokens_total", "20"},
      {"sluice:spec_decode_num_accepted_tokens_total", "12"},
      {"sluice:spec_decode_num_cancelled_tokens_total", "8"},
      {"sluice:spec_decode_num_rows_saved_total", "5"},
      {"sluice:build_info{version=\"1.2.3\"}", "1"},
      {"sluice:http_connections", "1"}};
  for (const auto &[name, value] : expected)
    EXPECT_EQ(metric(name), value) << name;
}

TEST_F(EndpointsTest, ThePageIsThereAndMayDoNothingElsewhere) {
  start();
  ReadAnswer page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(page.field("Content-Security-Policy").find("default-src 'none'"),
            std::string::npos);
  EXPECT_TRUE(page.body.starts_with("<!doctype html>")) << page.body;
  EXPECT_TRUE(page.body.ends_with("</html>\n"));
  // No file is fetched from elsewhere or written inside the page.
  for (const char *path : {"/", "/page.css", "/page.js", "/picture.js"}) {
    std::string text = get(path).body;
    EXPECT_GT(text.size(), 1000u) << path;
    EXPECT_EQ(text.find("https://"), text.npos) << path;
    EXPECT_EQ(text.find("innerHTML"), text.npos) << path;
    EXPECT_EQ(text.find("style=\""), text.npos) << path;
  }
  EXPECT_EQ(get("/page.css").field("Content-Type"), "text/css; charset=utf-8");
  EXPECT_EQ(get("/page.js").field("Content-Type"),
            "text/javascript; charset=utf-8");
}

TEST_F(EndpointsTest, ThePageCanBeLeftOut) {
  options.page = false;
  start();
  EXPECT_EQ(get("/").status, 404);
  EXPECT_EQ(get("/page.js").status, 404);
}
