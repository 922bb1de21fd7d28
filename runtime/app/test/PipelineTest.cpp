//===- PipelineTest.cpp - the same tokens under every schedule ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests invariant 1 from outside: stages, a draft and every mode of speculation
// leave each token the same, at any temperature; also that the report of a run
// is consistent.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/ProgramRun.h"
#include "runtime/app/test/TestPipeline.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

class PipelineTest : public ProgramTest {
protected:
  /// Returns the tokens that the model generates as one program.
  json reference(const Arguments &options) {
    describe(program);
    return runJson(base + options)["tokens"];
  }
};

TEST_F(PipelineTest, TokensAreTheSameUnderEverySchedule) {
  for (const Arguments &sampling :
       {Arguments{}, Arguments{"--temperature", "0.8", "--seed", "7"},
        Arguments{"--temperature", "0.8", "--seed", "8", "--top-k", "20",
                  "--repeat-penalty", "1.1", "--presence-penalty", "0.5"}}) {
    json expected = reference(sampling);
    ASSERT_EQ(expected.size(), 60u);
    for (DraftPlacement placement : {DraftPlacement::Own, DraftPlacement::Head})
      for (const Arguments &mode :
           {Arguments{"--speculate", "off"}, Arguments{"--speculate", "sync"},
            Arguments{"--speculate", "sync", "--sync-split"},
            Arguments{"--speculate", "sync", "--speculate-width", "3",
                      "--speculate-depth", "4"},
            Arguments{}, Arguments{"--no-cancel"},
            Arguments{"--no-fuse", "--no-continuous"},
            Arguments{"--speculate-width", "1", "--prefill-chunk", "2"},
            Arguments{"--oracle-acceptance", "0.5"},
            Arguments{"--oracle-acceptance", "0"}}) {
        describe(withDraft(program, placement));
        json result = runJson(base + sampling + mode);
        EXPECT_EQ(result["tokens"], expected) << json(sampling) << json(mode);
      }
  }
}

TEST_F(PipelineTest, SyncTakesAShortChainWhereNothingElseIsAsked) {
  describe(withDraft(program, DraftPlacement::Own));
  json counts = runJson(base + Arguments{"--speculate", "sync"})["speculation"];
  EXPECT_EQ(counts["depth"], 4);
  EXPECT_EQ(counts["width"], 1);
  counts =
      runJson(base + Arguments{"--speculate", "sync", "--speculate-depth", "2",
                               "--speculate-width", "3"})["speculation"];
  EXPECT_EQ(counts["depth"], 2);
  EXPECT_EQ(counts["width"], 3);
}

/// 16-bit rows are rounded, so the reference uses the same format without
/// guesses.
TEST_F(PipelineTest, TokensAreTheSameWithShortActivations) {
  describe(withDraft(program, DraftPlacement::Own));
  for (const char *format : {"bf16", "f16"}) {
    Arguments options = base + Arguments{"--activations", format};
    json expected =
        runJson(options + Arguments{"--speculate", "off"})["tokens"];
    ASSERT_EQ(expected.size(), 60u);
    for (const char *mode : {"sync", "async"})
      EXPECT_EQ(runJson(options + Arguments{"--speculate", mode})["tokens"],
                expected)
          << format << mode;
    for (const char *seed : {"1", "2", "3", "4", "5", "6"})
      EXPECT_EQ(runJson(options + Arguments{"--oracle-acceptance", "0.5",
                                            "--oracle-seed", seed})["tokens"],
                expected)
          << format << seed;
  }
}

/// A cache of 8 bits rounds each row by itself, so every schedule gives the
/// same tokens as one program, with the caches of all ranks and of the draft.
TEST_F(PipelineTest, TokensAreTheSameWithAnEightBitCache) {
  for (const Arguments &sampling :
       {Arguments{"--cache-type", "q8_0"},
        Arguments{"--cache-type", "q8_0", "--temperature", "0.8", "--seed",
                  "7"}}) {
    json expected = reference(sampling);
    ASSERT_EQ(expected.size(), 60u);
    for (DraftPlacement placement : {DraftPlacement::Own, DraftPlacement::Head})
      for (const Arguments &mode :
           {Arguments{"--speculate", "off"}, Arguments{"--speculate", "sync"},
            Arguments{}, Arguments{"--speculate-width", "3"},
            Arguments{"--prefill-chunk", "2"},
            Arguments{"--oracle-acceptance", "0.5"}}) {
        describe(withDraft(program, placement));
        EXPECT_EQ(runJson(base + sampling + mode)["tokens"], expected)
            << json(sampling) << json(mode);
      }
  }
}

/// The oracle knows the tokens that the pipeline will generate, which differ
/// from those of rows in full precision.
TEST_F(PipelineTest, TheOraclesTruthIsThatOfShortActivations) {
  describe(withDraft(program, DraftPlacement::Own));
  int different = 0;
  for (const char *seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    Arguments sampled = base + Arguments{"--temperature", "1.5", "--seed", seed,
                                         "--speculate",   "sync"};
    json exact = runJson(sampled)["tokens"];
    json result = runJson(sampled + Arguments{"--activations", "bf16",
                                              "--oracle-acceptance", "1"});
    different += result["tokens"] != exact;
    EXPECT_GT(result["speculation"]["launched"], 30);
    EXPECT_EQ(result["speculation"]["cancelled"], 0) << seed;
  }
  EXPECT_GT(different, 0);
}

/// Without speculation, the plan's draft is not loaded.
TEST_F(PipelineTest, ThePlainPipelineHasNoDraft) {
  std::string prompt = "1";
  for (int i = 2; i <= 80; ++i)
    prompt += "," + std::to_string(i);
  const Arguments longPrompt = {"generate", "--tokens", prompt, "-n", "16"};
  describe(program);
  json expected = runJson(longPrompt)["tokens"];
  for (DraftPlacement placement : {DraftPlacement::Own, DraftPlacement::Head}) {
    ExecutableDescriptor executable = withDraft(program, placement);
    // If the draft were loaded, it would not be found.
    executable.programs.back().name = executable.plan.draft->program = "absent";
    describe(executable);
    for (const Arguments &more :
         {Arguments{}, Arguments{"--prefill-chunk", "3"},
          Arguments{"--prefill-chunk", "3", "--no-fuse"}}) {
      json result =
          runJson(longPrompt + Arguments{"--speculate", "off"} + more);
      EXPECT_EQ(result["tokens"], expected) << json(more);
      EXPECT_FALSE(result.contains("draft"));
    }
  }
  // The described machines are those of the whole plan.
  json result = runJson(base + Arguments{"--speculate", "off"} +
                        emulation(folder) + Arguments{"--prefill-chunk", "2"});
  EXPECT_EQ(result["stages"].size(), 2u);
}

TEST_F(PipelineTest, NothingIsGuessedBehindTheDraftsContext) {
  json expected = reference({});
  for (int64_t context : {3, 5, 20, 64})
    for (const char *mode : {"sync", "async"}) {
      ExecutableDescriptor executable = withDraft(program, DraftPlacement::Own);
      executable.programs.back().contextLength = context;
      describe(executable);
      // Measured times decide whether a guess pays. On a busy machine, one bad
      // measurement can outlast a short context, so one of several runs must
      // have guesses.
      bool guesses = false;
      for (int run = 0; run < 5 && !guesses; ++run) {
        json result = runJson(base + Arguments{"--speculate", mode});
        EXPECT_EQ(result["tokens"], expected) << context << mode;
        guesses = result["speculation"]["launched"] > 0;
      }
      EXPECT_EQ(guesses, context > 5) << context << mode;
    }
}

TEST_F(PipelineTest, ReportsAddUp) {
  describe(withDraft(program, DraftPlacement::Own));
  json result = runJson(base + Arguments{"--oracle-acceptance", "0.6"} +
                        emulation(folder));
  const json &speculation = result["speculation"];
  EXPECT_EQ(speculation["mode"], "async");
  int64_t launched = speculation["launched"];
  EXPECT_GT(launched, 0);
  EXPECT_EQ(launched, speculation["accepted"].get<int64_t>() +
                          speculation["cancelled"].get<int64_t>());
  EXPECT_GT(speculation["accepted"].get<int64_t>(), 0);
  EXPECT_GT(result["tokens_per_second"].get<double>(), 0);
  ASSERT_EQ(result["stages"].size(), 2u);
  int64_t measured = 0;
  for (const json &stage :
       {result["draft"], result["stages"][0], result["stages"][1]}) {
    auto count = [&](const char *key) { return stage[key].get<int64_t>(); };
    EXPECT_GT(count("steps"), 0);
    EXPECT_GE(count("rows"), count("steps"));
    EXPECT_LE(count("left_at_checkpoints"), count("rows"));
    EXPECT_LE(count("guesses"), count("rows") - count("left_at_checkpoints"));
    const json &latency = stage["cancel_latency_us"];
    measured += latency["count"].get<int64_t>();
    EXPECT_LE(latency["p50"].get<double>(), latency["p99"].get<double>());
    EXPECT_LE(latency["p99"].get<double>(), latency["max"].get<double>());
    if (stage["name"] == "draft")
      continue;
    // Rows that came back dead have been computed by every stage.
    EXPECT_GE(count("computed_dead"),
              speculation["computed_dead"].get<int64_t>());
    EXPECT_LE(count("computed_dead"), count("guesses"));
  }
  EXPECT_GT(measured, 0);
  for (const json &hop : result["traffic"]["hops"])
    EXPECT_GT(hop["bytes"].get<int64_t>() + hop["control_bytes"].get<int64_t>(),
              0);
}

TEST_F(PipelineTest, LogProbabilitiesTravel) {
  describe(program);
  json expected = runJson(base + Arguments{"--logprobs", "3"})["logprobs"];
  describe(withDraft(program, DraftPlacement::Own));
  json found = runJson(base + Arguments{"--logprobs", "3"})["logprobs"];
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i]["token"], expected[i]["token"]);
    EXPECT_NEAR(found[i]["logprob"], expected[i]["logprob"], 1e-5);
    ASSERT_EQ(found[i]["top"].size(), 3u);
    for (size_t k = 0; k < 3; ++k)
      EXPECT_EQ(found[i]["top"][k]["token"], expected[i]["top"][k]["token"]);
  }
}

/// The contents of a trace, by rank.
struct TraceCounts {
  std::map<int, int> lanes;
  std::map<std::string, std::map<int, int>> named;
  std::map<int, int> messages;    ///< received messages, by sender
  std::map<int, double> shortest; ///< the shortest of these, in microseconds
  int controls = 0;
};

TraceCounts countTrace(const json &trace) {
  TraceCounts counts;
  std::map<int, double> began; // [message id]
  for (const json &event : trace["traceEvents"]) {
    int rank = event["pid"];
    std::string name = event["name"], type = event["ph"];
    counts.lanes[rank] += name == "thread_name";
    if (type == "X") {
      ++counts.named["step"][rank];
      EXPECT_GT(event["dur"].get<double>(), 0);
      EXPECT_GT(event["args"]["rows"].get<int>(), 0);
    } else if (type == "b") {
      began[event["id"].get<int>()] = event["ts"];
    } else if (type == "e") {
      double took =
          event["ts"].get<double>() - began.at(event["id"].get<int>());
      counts.controls += name.starts_with("control");
      auto [first, isFirst] = counts.shortest.emplace(rank, took);
      first->second = std::min(first->second, took);
      ++counts.messages[rank];
    } else if (type != "M") {
      ++counts.named[name][rank];
    }
  }
  return counts;
}

TEST_F(PipelineTest, WritesATrace) {
  describe(withDraft(program, DraftPlacement::Own));
  std::string path = folder + "/trace.json";
  runJson(base + Arguments{"--trace", path, "--oracle-acceptance", "0.6"} +
          emulation(folder));
  std::ifstream file(path);
  TraceCounts counts = countTrace(json::parse(file));
  for (int rank : {0, 1, 2})
    EXPECT_EQ(counts.lanes[rank], 3) << rank;
  // The draft's steps are on rank 0, each stage's on its own rank.
  for (int rank : {0, 1, 2})
    EXPECT_GT(counts.named["step"][rank], 0) << rank;
  EXPECT_EQ(counts.named["token"][0], 60);
  EXPECT_EQ(counts.named["finish"][0], 1);
  EXPECT_GT(counts.named["launch"][0], 0);
  EXPECT_GT(counts.named["cancel"][0], 0);
  // There are rows, results and cancels. None arrives sooner than the link
  // permits, and both ends have recorded it.
  for (int rank : {0, 1, 2}) {
    EXPECT_GT(counts.messages[rank], 0) << rank;
    EXPECT_GE(counts.shortest[rank], 100.0) << rank;
  }
  EXPECT_EQ(counts.named["arrived"].size(), 0u);
  for (int rank : {1, 2}) {
    EXPECT_EQ(counts.named["cancel seen"][rank], counts.named["cancel"][0]);
    EXPECT_GT(counts.named["frames at the door"][rank], 0) << rank;
  }
  // Each step that threads have computed ends with a mark; the oracle computes
  // nothing.
  for (int rank : {1, 2})
    EXPECT_GT(counts.named["barriers"][rank], 0) << rank;
  EXPECT_EQ(counts.named["barriers"][0], 0);
  // Where rows leave depends on the timing of the two stages.
  EXPECT_GT(counts.named["checkpoint"][1] + counts.named["checkpoint"][2], 0);
  EXPECT_EQ(counts.controls, 2 * counts.named["cancel"][0]);
  EXPECT_THAT(runFailing(base + Arguments{"--trace", "/nowhere/t"}, 1),
              HasSubstr("--trace"));
}

/// The interrupt also works if there is always a next token.
TEST_F(PipelineTest, InterruptEndsTheTextBetweenQuickTokens) {
  describe(withDraft(program, DraftPlacement::Own));
  ::setenv("SLUICE_TEST_STEP_MS", "20", 1);
  pid_t process = start(base + Arguments{"--json", "--speculate", "off"});
  ::usleep(400000);
  ::kill(process, SIGINT);
  Finished result = finish(process);
  ::unsetenv("SLUICE_TEST_STEP_MS");
  EXPECT_EQ(result.code, 0) << result.err;
  json object = json::parse(result.out);
  EXPECT_EQ(object["finish_reason"], "cancelled");
  EXPECT_LT(object["tokens"].size(), 60u);
}

/// A step that still runs after the end of the text does not delay the text,
/// and a prompt that was not finished has no speed.
TEST_F(PipelineTest, WaitsForTheLastStep) {
  describe(withDraft(program, DraftPlacement::Own));
  ::setenv("SLUICE_TEST_STEP_MS", "6500", 1);
  pid_t process = start(base + Arguments{"--json", "--speculate", "off"});
  ::usleep(400000);
  ::kill(process, SIGINT);
  Finished result = finish(process);
  ::unsetenv("SLUICE_TEST_STEP_MS");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  json object = json::parse(result.out);
  EXPECT_EQ(object["finish_reason"], "cancelled");
  EXPECT_EQ(object["stages"].size(), 2u);
  EXPECT_TRUE(object["timing"]["prompt_seconds"].is_null());
  EXPECT_TRUE(object["timing"]["ttft_seconds"].is_null());
}

/// Frames use the plan's channels.
TEST_F(PipelineTest, ChannelsAreAsBigAsPlanned) {
  json expected = reference({});
  ExecutableDescriptor executable = withDraft(program, DraftPlacement::Own);
  executable.plan.channels[1].capacity = 6;
  describe(executable);
  EXPECT_EQ(runJson(base + Arguments{"--prefill-chunk", "1"})["tokens"],
            expected);
  executable.plan.channels[1].capacity = 5;
  describe(executable);
  EXPECT_THAT(runFailing(base, 1),
              HasSubstr("channels of 5 frames: head: frames in flight is 3"));
}

/// Computing the tokens for the oracle does not count as the user's waiting
/// time.
TEST_F(PipelineTest, TheOraclesTruthIsNotInTheTimes) {
  describe(withDraft(program, DraftPlacement::Own));
  ::setenv("SLUICE_TEST_STEP_MS", "20", 1);
  json result = runJson(base + Arguments{"--oracle-acceptance", "0.9"});
  ::unsetenv("SLUICE_TEST_STEP_MS");
  EXPECT_GT(result["timing"]["ttft_seconds"].get<double>(), 0.020);
  EXPECT_LT(result["timing"]["ttft_seconds"].get<double>(), 60 * 0.020);
}

} // namespace
