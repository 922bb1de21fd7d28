//===- TargetOptionsTest.cpp - the options of a benchmark of a server -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/TargetOptions.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::bench;
using testing::HasSubstr;

namespace {

/// Parses a command line. Returns the error or "".
std::string parse(const std::string &line, TargetOptions &options) {
  CLI::App app("test", "test");
  addTargetOptions(app, options);
  try {
    app.parse(line);
  } catch (const CLI::ParseError &error) {
    return error.what();
  }
  return settleTargetOptions(app, options).message();
}

TEST(TargetOptionsTest, Reads) {
  TargetOptions options;
  EXPECT_EQ(parse("http://h:1 --model m --api-key k --ca-file c --requests 7 "
                  "--temperature 0.5",
                  options),
            "");
  EXPECT_EQ(options.http.url, "http://h:1");
  EXPECT_EQ(options.http.api.model, "m");
  EXPECT_EQ(options.http.api.endpoint, BenchEndpoint::Completions);
  EXPECT_EQ(options.http.api.temperature, 0.5);
  EXPECT_EQ(options.http.apiKey, "k");
  EXPECT_EQ(options.http.caFile, "c");
  EXPECT_EQ(options.bench.workload.requests, 7);
}

/// The report says which server was measured, and not its key.
TEST(TargetOptionsTest, TheReportNamesTheServer) {
  TargetOptions options;
  EXPECT_EQ(parse("http://h:1 --model m --api-key k --endpoint chat", options),
            "");
  EXPECT_THAT(options.bench.target,
              testing::ElementsAre(testing::Pair("url", "http://h:1"),
                                   testing::Pair("model", "m"),
                                   testing::Pair("endpoint", "chat")));
}

TEST(TargetOptionsTest, ChatTakesText) {
  TargetOptions options;
  EXPECT_EQ(parse("http://h --endpoint chat", options), "");
  EXPECT_EQ(options.http.api.endpoint, BenchEndpoint::Chat);
  EXPECT_EQ(options.bench.prompt.form, PromptForm::Text);
  EXPECT_EQ(parse("http://h --endpoint chat --prompt-form tokens", options),
            "--prompt-form tokens: not with --endpoint chat");
}

TEST(TargetOptionsTest, KeysFromFiles) {
  std::string path = testing::TempDir() + "/bench-key";
  std::ofstream(path) << "secret\r\nmore\n";
  TargetOptions options;
  EXPECT_EQ(parse("http://h --api-key-file " + path, options), "");
  EXPECT_EQ(options.http.apiKey, "secret");
  std::ofstream(path) << "\n";
  EXPECT_THAT(parse("http://h --api-key-file " + path, options),
              HasSubstr("its first line is not a key"));
  EXPECT_NE(parse("http://h --api-key-file /no/such/file", options), "");
}

TEST(TargetOptionsTest, Refuses) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "URL is required"},
      {"http://h http://i", "not expected"},
      {"http://h --api-key k --api-key-file f", "excludes"},
      {"http://h --endpoint images", "images not in"},
      {"http://h --requests 0", "not in range"}};
  for (const auto &[line, why] : cases) {
    TargetOptions options;
    EXPECT_THAT(parse(line, options), HasSubstr(why)) << line;
  }
}

} // namespace
