//===- ServeOptionsTest.cpp - the options of a server ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/ServeOptions.h"

#include "runtime/serve/test/ServeFixture.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

using namespace sluice;
using namespace sluice::serve;
using namespace sluice::serve::test;

namespace {

/// Returns the error of the arguments; "" if there is none.
std::string parse(std::vector<std::string> arguments, ServeOptions &options) {
  CLI::App app("test", "test");
  addServeOptions(app, options);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError &error) {
    return error.what();
  }
  return "";
}

class OptionsTest : public ServeTest {
protected:
  std::string problem() {
    auto made = ApiServer::create(options, model, "1", engine);
    return made.status().message();
  }
};

} // namespace

TEST(ServeOptions, Defaults) {
  ServeOptions options;
  EXPECT_EQ(parse({}, options), "");
  auto http = options.httpOptions();
  ASSERT_TRUE(http);
  EXPECT_EQ(http->address, "127.0.0.1");
  EXPECT_EQ(http->port, 8000);
  EXPECT_TRUE(options.page);
  EXPECT_FALSE(options.logRequests);
}

TEST(ServeOptions, AllOfThem) {
  ServeOptions options;
  EXPECT_EQ(parse({"--host",
                   "::",
                   "--port",
                   "81",
                   "--api-key-file",
                   "keys",
                   "--api-key",
                   "a",
                   "--api-key",
                   "b",
                   "--tls-cert",
                   "c.pem",
                   "--tls-key",
                   "k.pem",
                   "--served-model-name",
                   "m",
                   "--served-model-name",
                   "n",
                   "--max-queue",
                   "5",
                   "--max-num-seqs",
                   "6",
                   "--max-body-bytes",
                   "7000",
                   "--max-held-bytes",
                   "9000",
                   "--max-header-bytes",
                   "8000",
                   "--max-connections",
                   "9",
                   "--request-timeout",
                   "1.5",
                   "--queue-timeout",
                   "2",
                   "--drain-seconds",
                   "0",
                   "--cors-origin",
                   "https://a.example",
                   "--no-page",
                   "--share-prefixes",
                   "all",
                   "--log-requests",
                   "--chat-template",
                   "t.jinja"},
                  options),
            "");
  EXPECT_EQ(options.host, "::");
  EXPECT_EQ(options.port, 81);
  EXPECT_EQ(options.apiKeyFile, "keys");
  EXPECT_EQ(options.apiKeys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.modelNames, (std::vector<std::string>{"m", "n"}));
  EXPECT_EQ(options.maxQueue, 5);
  EXPECT_EQ(options.maxSequences, 6);
  EXPECT_EQ(options.maxHeldBytes, 9000);
  EXPECT_EQ(options.requestTimeout, 1.5);
  EXPECT_EQ(options.queueTimeout, 2);
  EXPECT_EQ(options.drainSeconds, 0);
  EXPECT_TRUE(options.sharesAmongKeys);
  EXPECT_EQ(options.corsOrigins,
            (std::vector<std::string>{"https://a.example"}));
  EXPECT_FALSE(options.page);
  EXPECT_TRUE(options.logRequests);
  EXPECT_EQ(options.chatTemplateFile, "t.jinja");
  auto http = options.httpOptions();
  ASSERT_TRUE(http);
  EXPECT_EQ(http->bodyBytes, 7000);
  EXPECT_EQ(http->headerBytes, 8000);
  EXPECT_EQ(http->connections, 9);
  EXPECT_EQ(http->certificateFile, "c.pem");
  EXPECT_EQ(http->keyFile, "k.pem");
}

TEST(ServeOptions, WhatIsWrongIsRefused) {
  const std::vector<std::vector<std::string>> cases = {
      {"--port", "65536"},
      {"--port", "-1"},
      {"--host", ""},
      {"--tls-cert", "c.pem"},
      {"--tls-key", "k.pem"},
      {"--max-queue", "0"},
      {"--max-num-seqs", "0"},
      {"--max-body-bytes", "0"},
      {"--request-timeout", "-1"},
      {"--drain-seconds", "nan"},
      {"--api-key", ""},
      {"--max-header-bytes", "1"}};
  for (const auto &arguments : cases) {
    ServeOptions options;
    EXPECT_NE(parse(arguments, options), "") << arguments[0];
  }
}

TEST_F(OptionsTest, WhatCannotBeServedIsSaid) {
  options.host = "example.org";
  EXPECT_NE(problem().find("example.org"), std::string::npos);
  options.host = "localhost";
  EXPECT_EQ(problem(), "");
  options.corsOrigins = {"example.org"};
  EXPECT_NE(problem().find("'example.org' is no origin"), std::string::npos);
  options.corsOrigins = {};
  options.chatTemplateFile = "/nowhere.jinja";
  EXPECT_NE(problem().find("/nowhere.jinja"), std::string::npos);
  options.chatTemplateFile = "";
  options.apiKeyFile = "/nowhere.keys";
  EXPECT_NE(problem().find("/nowhere.keys"), std::string::npos);
  options.apiKeyFile = "";
  options.tlsCertificate = "/nowhere.pem";
  EXPECT_NE(problem(), "");
}

TEST_F(OptionsTest, ATemplateFileReplacesTheModels) {
  std::string path = testing::TempDir() + "sluice-template.jinja";
  std::ofstream(path) << "{{ messages[0].content }}?";
  options.chatTemplateFile = path;
  engine.answerAll("ok");
  start();
  std::remove(path.c_str());
  EXPECT_EQ(post("/v1/chat/completions",
                 {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}})
                .status,
            200);
  EXPECT_EQ(engine.promptOf(0), "Hello?");
}

TEST_F(OptionsTest, APortInUseIsSaid) {
  start();
  options.port = server->port();
  EXPECT_NE(problem().find(std::to_string(server->port())), std::string::npos);
}
