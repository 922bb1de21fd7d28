//===- BenchOptionsTest.cpp - the options of the load generator -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/BenchOptions.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>

#include <fstream>

using namespace sluice;
using namespace sluice::bench;
using testing::HasSubstr;

namespace {

/// Parses a command line. Returns the error or "".
std::string parse(const std::string &line, BenchOptions &options) {
  CLI::App app("test", "test");
  addBenchOptions(app, options);
  try {
    app.parse(line);
  } catch (const CLI::ParseError &error) {
    return error.what();
  }
  return settleBenchOptions(app, options).message();
}

TEST(BenchOptionsTest, Reads) {
  BenchOptions options;
  EXPECT_EQ(parse("--requests 64 --arrival gamma --mean-interval-ms 100 "
                  "--burstiness 0.5 --prompt-tokens 8 --output-tokens "
                  "uniform:128:768 --shared-prefix-tokens 4 --seed 9 "
                  "--temperature 0.7 "
                  "--goodput ttft:500,itl:50 --json --save-requests f "
                  "--timeout-s 1.5 --warmup-requests 2 --max-concurrency 7 "
                  "--vocab-size 99",
                  options),
            "");
  EXPECT_EQ(options.workload.requests, 64);
  EXPECT_EQ(options.workload.arrival, Arrival::Gamma);
  EXPECT_EQ(options.workload.meanIntervalMs, 100);
  EXPECT_EQ(options.workload.burstiness, 0.5);
  EXPECT_EQ(options.workload.promptTokens.spelling(), "8");
  EXPECT_EQ(options.workload.outputTokens.spelling(), "uniform:128:768");
  EXPECT_EQ(options.workload.seed, 9u);
  EXPECT_EQ(options.prompt.sharedPrefixTokens, 4);
  EXPECT_EQ(options.prompt.vocabularySize, 99);
  EXPECT_EQ(options.temperature, 0.7);
  EXPECT_EQ(options.goodput.ttftMs, 500);
  EXPECT_EQ(options.goodput.itlMs, 50);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.saveRequests, "f");
  EXPECT_EQ(options.timeoutSeconds, 1.5);
  EXPECT_EQ(options.warmupRequests, 2);
  EXPECT_EQ(options.maxConcurrency, 7);
}

TEST(BenchOptionsTest, Defaults) {
  BenchOptions options;
  EXPECT_EQ(parse("", options), "");
  EXPECT_EQ(options.workload.arrival, Arrival::All);
  EXPECT_EQ(options.prompt.form, PromptForm::Tokens);
  EXPECT_TRUE(options.target.empty());
  EXPECT_FALSE(options.goodput.any());
}

TEST(BenchOptionsTest, Refuses) {
  const std::pair<const char *, const char *> cases[] = {
      {"--requests 0", "Value 0 not in range 1 to 1000000"},
      {"--arrival sometimes", "sometimes not in"},
      {"--prompt-tokens uniform:9:5",
       "--prompt-tokens: 'uniform:9:5' is not a length: the lowest length is "
       "above the highest"},
      {"--output-tokens x", "--output-tokens: 'x' is not a length"},
      {"--goodput ttft", "--goodput: ttft needs a number of milliseconds"},
      {"--mean-interval-ms 0 --arrival fixed", "not in range"},
      {"--mean-interval-ms nan --arrival fixed", "not in range"},
      {"--arrival poisson", "--arrival poisson: needs --mean-interval-ms"},
      {"--mean-interval-ms 5", "--mean-interval-ms: only with --arrival"},
      {"--arrival fixed --mean-interval-ms 5 --burstiness 2",
       "--burstiness: only with --arrival gamma"},
      {"--concurrency 4 --arrival all", "--concurrency: not with --arrival"},
      {"--concurrency 4 --max-concurrency 4",
       "--concurrency: not with --max-concurrency"},
      {"--concurrency 4 --trace-file f", "--concurrency: not with --trace-"},
      {"--trace-file f --prompt-tokens 5",
       "--trace-file: not with --prompt-tokens"},
      {"--trace-file f --arrival all", "--trace-file: not with --arrival"},
      {"--model m", "not expected"},
      {"--seed -1", "is not a number from 0"},
      {"--prompt-form text --vocab-size 5", "--vocab-size: not with prompts"},
      {"--json --save-requests -", "--save-requests -: not with --json"},
      {"--no-such-option", "not expected"}};
  for (const auto &[line, why] : cases) {
    BenchOptions options;
    EXPECT_THAT(parse(line, options), HasSubstr(why)) << line;
  }
}

TEST(BenchOptionsTest, NamesOfArrivals) {
  EXPECT_EQ(arrivalName(Arrival::All), "all");
  EXPECT_EQ(arrivalName(Arrival::Fixed), "fixed");
  EXPECT_EQ(arrivalName(Arrival::Poisson), "poisson");
  EXPECT_EQ(arrivalName(Arrival::Gamma), "gamma");
}

} // namespace
