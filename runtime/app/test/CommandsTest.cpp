//===- CommandsTest.cpp - score, steps, info, help and wrong usage --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/ProgramRun.h"
#include "runtime/core/Speculation.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/engine/test/TestStages.h"

#include <cmath>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

using CommandsTest = ProgramTest;
using Arguments = std::vector<std::string>;

TEST_F(CommandsTest, ScoreAgreesWithGeneration) {
  json generated = runJson({"generate", "--tokens", "5,6,7", "-n", "90",
                            "--logprobs", "0", "--ignore-eos"});
  std::string ids = "5,6,7";
  for (const json &token : generated["tokens"])
    ids += "," + to_string(token);
  json scored = runJson({"score", "--tokens", ids});
  ASSERT_EQ(scored["tokens"], 93);
  ASSERT_EQ(scored["token_logprobs"].size(), 93u);
  EXPECT_EQ(scored["token_ids"].size(), 93u);
  EXPECT_TRUE(scored["token_logprobs"][0].is_null());
  double sum = 0;
  for (size_t i = 1; i < 93; ++i) {
    sum -= scored["token_logprobs"][i].get<double>();
    // There, rows were computed one at a time; here, together.
    if (i >= 3) {
      EXPECT_EQ(scored["token_logprobs"][i],
                generated["logprobs"][i - 3]["logprob"]);
    }
  }
  EXPECT_NEAR(scored["nll"].get<double>(), sum / 92, 1e-9);
  EXPECT_NEAR(scored["perplexity"].get<double>(), std::exp(sum / 92), 1e-6);
}

TEST_F(CommandsTest, ScoreSummaryIsReadable) {
  addTokenizer();
  std::string path = folder + "/text";
  writeFile(path, "some text", 9);
  Finished result = run({"score", "-f", path});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("9 tokens: perplexity "));
  EXPECT_EQ(result.err, "");
}

TEST_F(CommandsTest, ScoreRefusesTooShortAndTooLong) {
  EXPECT_THAT(runFailing({"score", "--tokens", "5"}, 1),
              HasSubstr("at least two"));
  std::string ids = "1";
  for (int i = 0; i < 96; ++i)
    ids += ",1";
  EXPECT_THAT(runFailing({"score", "--tokens", ids}, 1),
              HasSubstr("has 97 tokens, more than the context of 96"));
}

TEST_F(CommandsTest, StepsAreOfTheRowsThatAreAskedFor) {
  json measured = runJson(
      {"steps", "--rows", "40,7,7", "-c", "20", "-b", "16", "--repeats", "4"});
  EXPECT_EQ(measured["model"], "test model");
  EXPECT_EQ(measured["context"], 20);
  ASSERT_EQ(measured["steps"].size(), 3u);
  const std::vector<int> rows = {1, 7, 40};
  for (size_t i = 0; i < rows.size(); ++i) {
    const json &step = measured["steps"][i];
    EXPECT_EQ(step["rows"], rows[i]);
    auto seconds = step["seconds"].get<std::vector<double>>();
    ASSERT_EQ(seconds.size(), 4u);
    std::ranges::sort(seconds);
    EXPECT_GT(seconds[0], 0);
    EXPECT_NEAR(step["median_seconds"].get<double>(),
                (seconds[1] + seconds[2]) / 2, 1e-12);
  }
}

TEST_F(CommandsTest, StepsAreOfTheRowsThatAPipelineKeepsTimesOf) {
  json measured = runJson({"steps", "-c", "1", "--repeats", "1"});
  std::vector<int32_t> rows;
  for (const json &step : measured["steps"])
    rows.push_back(step["rows"]);
  EXPECT_THAT(rows, testing::ElementsAreArray(StepTimes::rowCounts));
}

TEST_F(CommandsTest, StepsAreWrittenAsAClusterDescribesThem) {
  Finished result = run({"steps", "--rows", "2", "-c", "1"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, testing::MatchesRegex(
                              "steps:\n  model: \"test model\"\n"
                              "  context: 1\n  times:\n"
                              "    - \\{rows: 1, time: [0-9.e-]+ ms\\}\n"
                              "    - \\{rows: 2, time: [0-9.e-]+ ms\\}\n"));
}

TEST_F(CommandsTest, StepsOfAShortContextAttendToAllOfIt) {
  EXPECT_EQ(runJson({"steps", "--rows", "1"})["context"], 32);
  program.contextLength = program.programs[0].contextLength = 16;
  describe(program);
  EXPECT_EQ(runJson({"steps", "--rows", "1"})["context"], 16);
}

TEST_F(CommandsTest, StepsBeyondTheContextAreRefused) {
  EXPECT_THAT(runFailing({"steps", "-c", "97"}, 1), HasSubstr("96"));
}

TEST_F(CommandsTest, InfoDescribesTheProgram) {
  json info = runJson({"info", "-c", "64"});
  EXPECT_EQ(info["name"], "test model");
  EXPECT_EQ(info["architecture"], "hand-written");
  EXPECT_EQ(info["parameters"], 2 * vocab * hidden + context * hidden + hidden);
  EXPECT_EQ(info["plan"]["stages"], 1);
  EXPECT_EQ(info["plan"]["identity"].get<std::string>().size(), 16u);
  EXPECT_EQ(info["plan"]["ranks"][0]["roles"], json({"head", "stage 0"}));
  ASSERT_EQ(info["programs"].size(), 1u);
  EXPECT_EQ(info["programs"][0]["name"], "main");
  EXPECT_EQ(info["programs"][0]["rank"], 0);
  EXPECT_EQ(info["programs"][0]["weights_bytes"],
            info["memory"]["weights_bytes"]);
  EXPECT_EQ(info["phases"], json({"model", "kernels"}));
  EXPECT_EQ(info["formats"]["f16"], 2 * vocab * hidden * 2);
  EXPECT_EQ(info["memory"]["cache_bytes_per_token"], 2 * hidden * 4);
  EXPECT_EQ(info["memory"]["cache_bytes"], 2 * hidden * 4 * 64);
  EXPECT_EQ(info["memory"]["cache_type"], "f32");
  EXPECT_EQ(info["memory"]["step_rows"], 64);
  EXPECT_EQ(info["memory"]["arena_bytes"], (64 * rowFloats + outputFloats) * 4);
  EXPECT_EQ(info["cpu"], "avx2");
  EXPECT_EQ(info["cpu_supported"], true);
  EXPECT_EQ(info["files"][0]["path"], modelPath);
  Finished text = run({"info"});
  EXPECT_EQ(text.code, 0);
  for (const char *word :
       {"test model", "hand-written", "model > kernels", "f16",
        "avx2 (this CPU has it)", "model.bin", "1 stage on 1 rank",
        "head, stage 0 (main: 1 layer from 0,"})
    EXPECT_THAT(text.out, HasSubstr(word));
}

TEST_F(CommandsTest, InfoCountsTheCacheOfTheTypeThatIsAskedFor) {
  const Arguments rounded = {"info", "-c", "64", "--cache-type", "q8_0"};
  json info = runJson(rounded);
  // There is a scale for each 32 dimensions.
  int64_t bytes = 2 * (hidden + hidden / 32 * 4);
  EXPECT_EQ(info["memory"]["cache_type"], "q8_0");
  EXPECT_EQ(info["memory"]["cache_bytes_per_token"], bytes);
  EXPECT_EQ(info["memory"]["cache_bytes"], bytes * 64);
  EXPECT_EQ(info["programs"][0]["cache_bytes_per_token"], bytes);
  EXPECT_EQ(info["memory"]["arena_bytes"], (64 * rowFloats + outputFloats) * 4);
  EXPECT_THAT(run(rounded).out, HasSubstr("cache (q8_0, 144 bytes a token"));
  EXPECT_EQ(runJson({"info", "-c", "64", "--cache-type", "f32"}),
            runJson({"info", "-c", "64"}));
}

/// Chunks are as long as the checkpoints permit, and guesses join their steps.
TEST_F(CommandsTest, InfoCountsTheStepsOfAPipeline) {
  ExecutableDescriptor stages = inStages(program);
  stages.plan.ranks = {
      {{{RankRole::Kind::Head, 0}, {RankRole::Kind::Stage, 0}}, ""},
      {{{RankRole::Kind::Stage, 1}}, ""}};
  stages.plan.channels[1].to = stages.plan.channels[2].from = 1;
  stages.plan.stepRows = 40;
  describe(stages);
  PipelineLimits limits;
  limits.contextLength = context;
  limits.prefillRows = 40;
  StageLimits steps = limits.stage();
  EXPECT_GT(steps.outputs, 1);
  json info = runJson({"info"});
  EXPECT_EQ(info["memory"]["step_rows"], steps.rows);
  EXPECT_EQ(info["programs"][0]["arena_bytes"], steps.rows * rowFloats * 4);
  EXPECT_EQ(info["programs"][1]["arena_bytes"],
            (steps.rows * secondRowFloats + steps.outputs * outputFloats) * 4);
  // A shorter chunk is requested, and there are more guesses.
  stages.plan.ranks[0].roles.push_back({RankRole::Kind::Draft, 0});
  ProgramDescriptor draft = program.programs[0];
  draft.name = "draft";
  stages.programs.push_back(draft);
  stages.plan.draft = PlanDraft{
      .program = "draft", .placement = DraftPlacement::Head, .depth = 200};
  describe(stages);
  limits.prefillRows = 8;
  limits.speculation.nodes = 200;
  steps = limits.stage();
  info = runJson({"info", "-b", "8"});
  EXPECT_EQ(info["memory"]["step_rows"], 209);
  EXPECT_EQ(info["programs"][2]["arena_bytes"],
            (209 * rowFloats + steps.outputs * outputFloats) * 4);
}

TEST_F(CommandsTest, InfoWorksOnAnyCpu) {
  program.programs[0].cpu = "avx9000";
  describe(program);
  json info = runJson({"info"});
  EXPECT_EQ(info["cpu_supported"], false);
  EXPECT_THAT(run({"info"}).out, HasSubstr("avx9000"));
}

TEST_F(CommandsTest, HelpAndVersion) {
  Finished help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char *command : {"generate", "score", "steps", "info"})
    EXPECT_THAT(help.out, HasSubstr(command));
  Finished generate = run({"generate", "--help"});
  EXPECT_EQ(generate.code, 0);
  for (const char *option :
       {"--prompt", "--n-predict", "--temperature", "--top-k", "--stop",
        "--company", "--threads", "--ctx-size", "--model-dir", "--verify WHEN"})
    EXPECT_THAT(generate.out, HasSubstr(option));
  for (const char *command :
       {"generate", "score", "steps", "info", "serve", "bench"})
    EXPECT_THAT(run({command, "--help"}).out, HasSubstr("--cache-type"));
  EXPECT_EQ(run({"--version"}).code, 0);
}

TEST_F(CommandsTest, ADeviceThatTheProgramHasNoCodeFor) {
  const Arguments generate = {"generate", "--tokens", "5,6,7",
                              "-n",       "3",        "--json"};
  auto with = [&](const Arguments &more) {
    Arguments all = generate;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_THAT(runFailing(with({"--device", "cuda"}), 1),
              HasSubstr("--device cuda: this program has no code for a GPU"));
  EXPECT_THAT(runFailing(with({"--cache-type", "f16"}), 1),
              HasSubstr("on the CPU the cache is f32 or q8_0"));
  EXPECT_EQ(run(with({"--device", "cpu"})).code, 0);
  // A program without code for GPUs does not mention them.
  Finished automatic = run(with({"--device", "auto"}));
  EXPECT_EQ(automatic.code, 0);
  EXPECT_EQ(automatic.err, "");
}

TEST_F(CommandsTest, WhoAsksForPinnedThreadsHearsWhyTheyAreNot) {
  const std::string many =
      std::to_string(::sysconf(_SC_NPROCESSORS_ONLN) + 1) + " threads";
  auto err = [&](const std::string &when) {
    Finished finished =
        run({"generate", "--tokens", "5,6,7", "-n", "2", "-t",
             many.substr(0, many.find(' ')), "--cpu-pin", when});
    EXPECT_EQ(finished.code, 0);
    return finished.err;
  };
  EXPECT_THAT(err("on"), HasSubstr("--cpu-pin on: threads are not pinned: " +
                                   many + " are more than "));
  EXPECT_THAT(err("auto"), testing::Not(HasSubstr("--cpu-pin")));
  EXPECT_THAT(err("off"), testing::Not(HasSubstr("--cpu-pin")));
}

TEST_F(CommandsTest, MoreThreadsThanCoresAreWarnedOf) {
  const int64_t cores = cpu::defaultThreadCount();
  auto err = [&](int64_t threads) {
    Finished finished = run({"generate", "--tokens", "5,6,7", "-n", "2", "-t",
                             std::to_string(threads)});
    EXPECT_EQ(finished.code, 0);
    return finished.err;
  };
  EXPECT_THAT(err(cores), testing::Not(HasSubstr("warning")));
  EXPECT_THAT(err(cores + 1),
              testing::StartsWith(
                  "model: warning: -t " + std::to_string(cores + 1) +
                  ": this machine has " + std::to_string(cores) +
                  (cores == 1 ? " core" : " cores") +
                  " for this process; threads beyond that slow it down\n"));
}

/// Only the processors on which the process may run count.
TEST_F(CommandsTest, CoresAreThoseThatTheProcessMayUse) {
  const cpu::AffinityMask all = cpu::AffinityMask::ofThisThread();
  cpu::AffinityMask({all.processors().front()}).apply();
  Finished finished =
      run({"generate", "--tokens", "5,6,7", "-n", "2", "--threads", "2"});
  all.apply();
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.err, HasSubstr("this machine has 1 core for this"));
}

TEST_F(CommandsTest, WrongUsageExitsWithTwo) {
  std::string sixtyFive = "1";
  for (int rows = 2; rows <= 65; ++rows)
    sixtyFive += "," + std::to_string(rows);
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"frobnicate"},
      {"generate"},
      {"score"},
      {"generate", "-p", "a", "--tokens", "1"},
      {"generate", "--tokens"},
      {"generate", "--tokens", "1", "--frobnicate"},
      {"generate", "--tokens", "1", "stray"},
      {"generate", "--tokens", "1", "-n", "many"},
      {"generate", "--tokens", "1", "-n", "-2"},
      {"generate", "--tokens", "1", "-t", "0"},
      {"generate", "--tokens", "1", "-c", "0"},
      {"generate", "--tokens", "1", "-b", "0"},
      {"generate", "--tokens", "1", "--cache-type", "q4_0"},
      {"generate", "--tokens", "1", "--cache-type"},
      {"generate", "--tokens", "1", "--device", "tpu"},
      {"generate", "--tokens", "1", "--cpu-pin", "yes"},
      {"generate", "--tokens", "1", "--cpu-pin"},
      {"generate", "--tokens", "1", "--temperature", "-1"},
      {"generate", "--tokens", "1", "--temperature", "nan"},
      {"generate", "--tokens", "1", "--top-p", "1.5"},
      {"generate", "--tokens", "1", "--min-p", "-0.1"},
      {"generate", "--tokens", "1", "--top-k", "-5"},
      {"generate", "--tokens", "1", "--seed", "-1"},
      {"generate", "--tokens", "1", "--seed", "99999999999999999999"},
      {"generate", "--tokens", "1", "--repeat-penalty", "0"},
      {"generate", "--tokens", "1", "--presence-penalty", "9"},
      {"generate", "--tokens", "1", "--logit-bias", "x+1"},
      {"generate", "--tokens", "1", "--logit-bias", "5+inf"},
      {"generate", "--tokens", "1", "--stop-token", "x"},
      {"generate", "--tokens", "1", "--logits"},
      {"generate", "--tokens", "1", "--logprobs", "3"},
      {"generate", "--tokens", "1", "--company", "-1", "--json"},
      {"generate", "--tokens", "1", "--trace", ""},
      {"generate", "--tokens", "1", "--emulate", ""},
      {"generate", "--tokens", "1", "--emulate-target", "x"},
      {"generate", "--tokens", "1", "--emulate-draft", "x"},
      {"generate", "--tokens", "1", "--emulate-max-latency-us", "9"},
      {"generate", "--tokens", "1", "--oracle-acceptance", "nan"},
      {"generate", "--tokens", "1", "--oracle-acceptance", "1.01"},
      {"generate", "--tokens", "1", "--oracle-seed", "1"},
      {"generate", "--tokens", "1", "--oracle-acceptance", "1", "--oracle-seed",
       "-1"},
      {"generate", "--tokens", "1", "--oracle-acceptance", "1", "--oracle-seed",
       "99999999999999999999999"},
      {"generate", "--tokens", "1", "--sync-split"},
      {"generate", "--tokens", "1", "--sync-split", "--speculate", "async"},
      {"generate", "--tokens", "1", "--speculate", "off", "--speculate-depth",
       "3"},
      {"generate", "--tokens", "1", "--speculate", "off", "--speculate-width",
       "3"},
      {"generate", "--tokens", "1", "--speculate", "off", "--no-continuous"},
      {"generate", "--tokens", "1", "--speculate", "off", "--oracle-acceptance",
       "0.5"},
      {"generate", "--tokens", "1", "--speculate", "sync", "--no-continuous"},
      {"bench", "http://127.0.0.1:1"},
      {"bench", "--requests", "0"},
      {"steps", "--rows", "0"},
      {"steps", "--rows", "4097"},
      {"steps", "--rows", sixtyFive},
      {"steps", "--rows"},
      {"steps", "--repeats", "0"},
      {"steps", "-p", "a"},
      {"info", "stray"},
  };
  for (const std::vector<std::string> &arguments : wrong) {
    std::string shown;
    for (const std::string &argument : arguments)
      shown += argument + " ";
    SCOPED_TRACE(shown);
    runFailing(arguments, 2);
  }
}

} // namespace
