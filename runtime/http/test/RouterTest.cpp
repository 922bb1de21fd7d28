//===- RouterTest.cpp - tests of requests to handlers ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Router.h"
#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <gtest/gtest.h>

using namespace sluice::http;
using namespace sluice::http::test;

TEST(Router, FindsHandlersByPathAndMethod) {
  auto says = [](const std::string &text) {
    return [text](const std::shared_ptr<Exchange> &exchange) {
      exchange->reply(200, {}, text);
    };
  };
  Router router;
  router.add("GET", "/a", says("old"));
  router.add("GET", "/a", says("get a"));
  router.add("POST", "/a", says("post a"));
  router.add("POST", "/b c", says("post b"));
  auto made = Server::create(testOptions(), router);
  ASSERT_TRUE(made);
  ASSERT_TRUE((*made)->start().ok());
  TestClient client((*made)->port());
  auto ask = [&](const std::string &request, bool isHead = false) {
    client.send(request);
    return client.read(isHead);
  };
  EXPECT_EQ(ask(get("/a?b=c")).body, "get a");
  EXPECT_EQ(ask(post("/a", "")).body, "post a");
  EXPECT_EQ(ask(post("/b%20c", "")).body, "post b");
  EXPECT_EQ(ask("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n", true).status, 200);

  Answer answer = ask(get("/a/%ff?key=secret"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "there is nothing at /a/%ff\n");
  EXPECT_EQ(ask(get("/" + std::string(300, 'x'))).body,
            "there is nothing at /" + std::string(199, 'x') + "...\n");
  answer = ask("DELETE /a HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.field("Allow"), "GET, HEAD, POST");
  EXPECT_EQ(answer.body, "/a does not take DELETE, but GET, HEAD, POST\n");
  answer = ask("HEAD /b%20c HTTP/1.1\r\nHost: a\r\n\r\n", true);
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.field("Allow"), "POST");
}
