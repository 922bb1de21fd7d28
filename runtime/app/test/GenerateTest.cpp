//===- GenerateTest.cpp - the command `generate`, from outside ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What users see of `generate`: the JSON object; streamed text, which is always
// valid UTF-8; how a text ends; and that batch mates, chunks and threads do not
// change a bit of the logits.
//
//===----------------------------------------------------------------------===//

#include "runtime/app/test/ProgramRun.h"
#include "runtime/engine/test/TestStages.h"
#include "runtime/program/PackedFileWriter.h"
#include "runtime/text/Utf8.h"

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

using GenerateTest = ProgramTest;
using Arguments = std::vector<std::string>;

Arguments operator+(Arguments left, const Arguments &right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

const Arguments base = {"generate", "--tokens", "5,6,7"};

/// Returns the part of the result that does not depend on the machine's speed.
json withoutTimes(json result) {
  result.erase("timing");
  result.erase("tokens_per_second");
  return result;
}

TEST_F(GenerateTest, PrintsOneObject) {
  json result = runJson(base + Arguments{"-n", "24"});
  EXPECT_EQ(result["tokens"].size(), 24u);
  EXPECT_TRUE(result["text"].is_null());
  EXPECT_EQ(result["finish_reason"], "length");
  const json &timing = result["timing"];
  EXPECT_EQ(timing["prompt_tokens"], 3);
  EXPECT_EQ(timing["generated_tokens"], 24);
  for (const char *key : {"prompt_seconds", "generate_seconds", "ttft_seconds"})
    EXPECT_GT(timing[key].get<double>(), 0) << key;
  EXPECT_FALSE(result.contains("last_logits"));
  EXPECT_TRUE(std::filesystem::exists(executable() + ".weights"));
}

TEST_F(GenerateTest, NothingButTheTokensDecidesTheLogits) {
  std::string prompt = "1";
  for (int i = 2; i <= 70; ++i)
    prompt += "," + std::to_string(i * 37 % vocab);
  auto outcome = [&](const Arguments &options) {
    json result =
        runJson(Arguments{"generate", "--tokens", prompt, "-n", "20",
                          "--logits", "--logprobs", "3", "--ignore-eos"} +
                options);
    return withoutTimes(result);
  };
  for (const char *type : {"f32", "q8_0"}) {
    const Arguments cache = {"--cache-type", type};
    json alone = outcome(cache + Arguments{"--threads", "1"});
    EXPECT_EQ(alone["last_logits"].size(), size_t(vocab));
    EXPECT_EQ(alone["tokens"].size(), 20u);
    EXPECT_EQ(alone["logprobs"].size(), 20u);
    EXPECT_EQ(alone["logprobs"][0]["top"].size(), 3u);
    EXPECT_EQ(alone["logprobs"][0]["top"][0]["token"], alone["tokens"][0]);
    for (const char *chunk : {"1", "7", "64"})
      for (const char *company : {"0", "1", "17"})
        for (const char *threads : {"1", "3"})
          EXPECT_EQ(outcome(cache + Arguments{"-b", chunk, "--company", company,
                                              "-t", threads}),
                    alone)
              << type << " " << chunk << " " << company << " " << threads;
  }
}

/// A cache of 8 bits rounds slightly; f32 is the default.
TEST_F(GenerateTest, TheCacheHasTheTypeThatIsAskedFor) {
  std::string prompt = "1";
  for (int i = 2; i <= 70; ++i)
    prompt += "," + std::to_string(i * 37 % vocab);
  auto logits = [&](const Arguments &options) {
    json result = runJson(
        Arguments{"generate", "--tokens", prompt, "-n", "0", "--logits"} +
        options);
    return result["last_logits"].get<std::vector<double>>();
  };
  std::vector<double> exact = logits({});
  std::vector<double> rounded = logits({"--cache-type", "q8_0"});
  EXPECT_EQ(logits({"--cache-type", "f32"}), exact);
  EXPECT_NE(rounded, exact);
  double largest = *std::max_element(exact.begin(), exact.end());
  for (size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(rounded[i], exact[i], 0.02 * largest);
}

TEST_F(GenerateTest, LogitsReadBackExactly) {
  json result = runJson(base + Arguments{"-n", "0", "--logits"});
  EXPECT_EQ(result["tokens"].size(), 0u);
  Finished text = run(base + Arguments{"-n", "0", "--logits", "--json"});
  for (const json &value : result["last_logits"]) {
    char printed[32];
    std::snprintf(printed, sizeof(printed), "%.9g", value.get<float>());
    EXPECT_THAT(text.out, HasSubstr(printed));
  }
}

TEST_F(GenerateTest, FillsTheContext) {
  // The limit is that of prompt and output together.
  json result = runJson(base + Arguments{"-n", "-1"});
  EXPECT_EQ(result["tokens"].size(), size_t(context - 3));
  result = runJson(base + Arguments{"-n", "1000", "-c", "10"});
  EXPECT_EQ(result["tokens"].size(), size_t(10 - 3));
  EXPECT_EQ(result["finish_reason"], "length");
}

TEST_F(GenerateTest, EndsAtStopTokens) {
  json free = runJson(base + Arguments{"-n", "12"});
  int third = free["tokens"][2];
  size_t first = 0;
  while (free["tokens"][first] != third)
    ++first;
  json stopped = runJson(
      base + Arguments{"-n", "12", "--stop-token", std::to_string(third)});
  EXPECT_EQ(stopped["finish_reason"], "stop");
  EXPECT_EQ(stopped["tokens"].size(), first);

  program.eosTokens = {third};
  describe(program);
  EXPECT_EQ(runJson(base + Arguments{"-n", "12"})["tokens"].size(), first);
  EXPECT_EQ(runJson(base + Arguments{"-n", "12", "--ignore-eos"})["tokens"],
            free["tokens"]);
}

TEST_F(GenerateTest, SamplesRepeatably) {
  auto tokens = [&](const Arguments &options) {
    return runJson(base + Arguments{"-n", "30"} + options)["tokens"];
  };
  json greedy = tokens({});
  EXPECT_EQ(tokens({"--temperature", "0"}), greedy);
  // A sampling option alone implies temperature 1.
  json sampled = tokens({"--seed", "7"});
  EXPECT_NE(sampled, greedy);
  EXPECT_EQ(tokens({"--seed", "7"}), sampled);
  EXPECT_EQ(tokens({"--seed", "7", "--temperature", "1", "--company", "5"}),
            sampled);
  EXPECT_NE(tokens({"--seed", "8"}), sampled);
  EXPECT_EQ(tokens({"--seed", "7", "--top-k", "1"}), greedy);
  json result = runJson(base + Arguments{"--top-p", "0.9"});
  EXPECT_TRUE(result["seed"].is_number());
}

TEST_F(GenerateTest, BiasAndPenaltiesChangeGreedyTokens) {
  json first = runJson(base + Arguments{"-n", "1"})["tokens"][0];
  std::string id = to_string(first);
  json other =
      runJson(base + Arguments{"-n", "1", "--logit-bias", id + "-inf"});
  EXPECT_NE(other["tokens"][0], first);
  json forced = runJson(base + Arguments{"-n", "5", "--logit-bias", "9+1000"});
  EXPECT_EQ(forced["tokens"], json({9, 9, 9, 9, 9}));
}

TEST_F(GenerateTest, ReadsTokenFiles) {
  json direct = runJson(base + Arguments{"-n", "8"});
  std::string path = folder + "/ids";
  writeFile(path, "5\n6, 7\n", 7);
  json fromFile = runJson({"generate", "--tokens-file", path, "-n", "8"});
  EXPECT_EQ(fromFile["tokens"], direct["tokens"]);
}

TEST_F(GenerateTest, StreamsIdsWithoutTokenizer) {
  json object = runJson(base + Arguments{"-n", "3"});
  Finished text = run(base + Arguments{"-n", "3"});
  std::string expected;
  for (const json &token : object["tokens"])
    expected += to_string(token) + " ";
  EXPECT_EQ(text.out, expected + "\n");
  EXPECT_THAT(text.err, HasSubstr("prompt: 3 tokens, "));
}

TEST_F(GenerateTest, TextIsWholeCharacters) {
  addTokenizer();
  json object = runJson({"generate", "-p", "h\xc3\xa9", "-n", "60"});
  EXPECT_EQ(object["timing"]["prompt_tokens"], 3);
  Finished text = run({"generate", "-p", "h\xc3\xa9", "-n", "60"});
  EXPECT_EQ(text.code, 0);
  EXPECT_TRUE(sluice::text::isValidUtf8(text.out));
  EXPECT_EQ(text.out, object["text"].get<std::string>() + "\n");
  Finished echoed = run({"generate", "-p", "h\xc3\xa9", "-n", "60", "--echo"});
  EXPECT_EQ(echoed.out, "h\xc3\xa9" + text.out);
  json biased =
      runJson({"generate", "-p", "x", "-n", "3", "--logit-bias", "97+1000"});
  EXPECT_EQ(biased["text"], "aaa");
}

TEST_F(GenerateTest, SpecialTokensInThePrompt) {
  addTokenizer();
  auto promptTokens = [&](const Arguments &options) {
    json result =
        runJson(Arguments{"generate", "-p", "a<s>b", "-n", "1"} + options);
    return result["timing"]["prompt_tokens"].get<int>();
  };
  EXPECT_EQ(promptTokens({}), 3);
  EXPECT_EQ(promptTokens({"--no-special"}), 5);
}

TEST_F(GenerateTest, EndsBeforeStopStrings) {
  addTokenizer();
  Arguments letters = {"generate", "-p",           "x",      "-n",
                       "9",        "--logit-bias", "97+1000"};
  json result = runJson(letters + Arguments{"--stop", "nope", "--stop", "aaa"});
  EXPECT_EQ(result["text"], "");
  EXPECT_EQ(result["finish_reason"], "stop");
  EXPECT_EQ(result["tokens"].size(), 3u);
  result = runJson(letters + Arguments{"--stop", "aab"});
  EXPECT_EQ(result["text"], "aaaaaaaaa");
  EXPECT_EQ(run(letters + Arguments{"--stop", "aab"}).out, "aaaaaaaaa\n");
  // CLI11 would read this text as a list.
  EXPECT_EQ(run(letters + Arguments{"--stop", "{}"}).out, "aaaaaaaaa\n");
}

TEST_F(GenerateTest, ReadsTextFromFilesAndStandardInput) {
  addTokenizer();
  json direct = runJson({"generate", "-p", "abc\n", "-n", "5"});
  std::string path = folder + "/text";
  writeFile(path, "abc\n", 4);
  EXPECT_EQ(runJson({"generate", "-f", path, "-n", "5"})["tokens"],
            direct["tokens"]);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "abc\n", 4), 4);
  ::close(ends[1]);
  Finished piped =
      finish(start({"generate", "-f", "-", "-n", "5", "--json"}, "", ends[0]));
  ::close(ends[0]);
  EXPECT_EQ(json::parse(piped.out)["tokens"], direct["tokens"]);
}

TEST_F(GenerateTest, InterruptEndsTheTextCleanly) {
  ::setenv("SLUICE_TEST_STEP_MS", "20", 1);
  for (bool asJson : {false, true}) {
    Arguments arguments = base + Arguments{"-n", "90", "--ignore-eos"};
    if (asJson)
      arguments.push_back("--json");
    pid_t process = start(arguments);
    ::usleep(300000);
    ::kill(process, SIGINT);
    Finished result = finish(process);
    EXPECT_EQ(result.code, asJson ? 0 : 130) << result.err;
    if (asJson) {
      json object = json::parse(result.out);
      EXPECT_EQ(object["finish_reason"], "cancelled");
      EXPECT_LT(object["tokens"].size(), 90u);
    } else {
      EXPECT_EQ(result.out.back(), '\n');
    }
  }
  ::setenv("SLUICE_TEST_STEP_MS", "5000", 1);
  pid_t process = start(base);
  ::usleep(200000);
  ::kill(process, SIGINT);
  ::usleep(50000);
  ::kill(process, SIGINT);
  EXPECT_EQ(finish(process).code, 128 + SIGINT);
  ::unsetenv("SLUICE_TEST_STEP_MS");
}

TEST_F(GenerateTest, InterruptWhileReadingThePrompt) {
  addTokenizer();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t process = start({"generate", "-f", "-"}, "", ends[0]);
  ::usleep(200000);
  ::kill(process, SIGTERM);
  Finished result = finish(process);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(result.code, 128 + SIGTERM);
  EXPECT_EQ(result.err, "model: interrupted\n");
}

TEST_F(GenerateTest, FullDiskIsAnError) {
  Finished result = run(base + Arguments{"--json"}, "/dev/full");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "model: error: standard output: cannot write: No "
                        "space left on device\n");
}

TEST_F(GenerateTest, SaysWhatIsWrongWithThePrompt) {
  auto fails = [&](const Arguments &arguments) {
    return runFailing(Arguments{"generate"} + arguments, 1);
  };
  EXPECT_THAT(fails({"-p", "text"}), HasSubstr("no tokenizer"));
  EXPECT_THAT(fails({"--tokens", "1,300"}),
              HasSubstr("token 2 is 300, which is not in the vocabulary"));
  EXPECT_THAT(fails({"--tokens", "1,x7"}),
              HasSubstr("tokens: word 2 'x7' is not a token id"));
  EXPECT_THAT(fails({"--tokens", "1 -7"}), HasSubstr("'-7'"));
  EXPECT_THAT(fails({"--tokens", "99999999999"}), HasSubstr("not a token id"));
  EXPECT_THAT(fails({"--tokens", ""}), HasSubstr("tokens: is empty"));
  EXPECT_THAT(fails({"--tokens", " ,\n"}), HasSubstr("tokens: is empty"));
  EXPECT_THAT(fails({"--tokens", "1,2,3", "-c", "2"}),
              HasSubstr("has 3 tokens, more than the context of 2"));
  EXPECT_THAT(fails({"--tokens", "1", "-c", "97"}),
              HasSubstr("a context of 97 tokens is more than the model's 96"));
  EXPECT_THAT(fails({"--tokens-file", folder + "/none"}),
              HasSubstr("/none: cannot open: No such file"));
  EXPECT_THAT(fails({"--tokens-file", folder}),
              HasSubstr("cannot read: Is a directory"));
  addTokenizer();
  EXPECT_THAT(fails({"-p", ""}), HasSubstr("prompt: is empty"));
  EXPECT_THAT(fails({"-f", "/dev/null"}), HasSubstr("/dev/null"));
  std::string longText(200, 'a');
  EXPECT_THAT(fails({"-p", longText}),
              HasSubstr("has 200 tokens, more than the context of 96"));
}

TEST_F(GenerateTest, SaysWhatIsWrongWithOptions) {
  EXPECT_THAT(runFailing(base + Arguments{"--logit-bias", "300+1"}, 1),
              HasSubstr("token 300 is not in the vocabulary of 300"));
  EXPECT_THAT(runFailing(base + Arguments{"--stop-token", "300"}, 1),
              HasSubstr("300 is not in the vocabulary"));
  EXPECT_THAT(runFailing(base + Arguments{"--stop", "x"}, 1),
              HasSubstr("no tokenizer"));
  addTokenizer();
  EXPECT_THAT(runFailing(base + Arguments{"--stop", ""}, 1),
              HasSubstr("--stop: "));
}

TEST_F(GenerateTest, SaysWhatIsWrongWithItsFiles) {
  std::filesystem::remove(modelPath);
  EXPECT_THAT(runFailing(base, 1),
              HasSubstr("model.bin: the model's file is missing"));
  EXPECT_FALSE(std::filesystem::exists(executable() + ".weights"));
  writeFile(executable() + ".json", "{}", 2);
  EXPECT_THAT(runFailing(base, 1), HasSubstr("'format' is missing"));
  describe(program);
  writeFile(executable() + ".tokenizer", "junk", 4);
  EXPECT_THAT(runFailing(base, 1), HasSubstr("tokenizer: "));
}

TEST_F(GenerateTest, EmbeddedWeightsNeedNoOtherFile) {
  json separate = runJson(base);
  program.embedded = true;
  describe(program);
  EXPECT_THAT(runFailing(base, 1), HasSubstr("embedded weights are missing"));
  {
    Expected<MappedFile> linked = MappedFile::open(SLUICE_TEST_PROGRAM);
    Expected<AtomicFile> out = AtomicFile::create(executable(), 0777);
    ASSERT_TRUE(linked && out);
    std::span<const uint8_t> bytes = linked->bytes();
    ASSERT_TRUE(out->write(bytes.data(), bytes.size()).ok());
    ASSERT_TRUE(appendEmbeddedWeights(program, {}, {}, *out).ok());
    ASSERT_TRUE(out->commit().ok());
  }
  std::filesystem::remove(modelPath);
  std::filesystem::remove(executable() + ".weights");
  json embedded = runJson(base);
  EXPECT_EQ(embedded["tokens"], separate["tokens"]);
  EXPECT_FALSE(std::filesystem::exists(executable() + ".weights"));
}

TEST_F(GenerateTest, StagesGiveTheSameLogits) {
  Arguments arguments =
      base +
      Arguments{"-n", "30", "--logits", "--seed", "3", "--logprobs", "2"};
  auto outcome = [&](const Arguments &more) {
    json result = runJson(arguments + more);
    return withoutTimes(result);
  };
  json whole = outcome({});
  describe(inStages(program));
  std::filesystem::remove(executable() + ".weights");
  EXPECT_EQ(outcome({"--threads", "1"}), whole);
  EXPECT_EQ(outcome({"--threads", "3", "--company", "3", "-b", "2"}), whole);
  EXPECT_TRUE(std::filesystem::exists(executable() + ".main.s0.weights"));
  EXPECT_TRUE(std::filesystem::exists(executable() + ".main.s1.weights"));
  EXPECT_FALSE(std::filesystem::exists(executable() + ".weights"));
}

TEST_F(GenerateTest, RowKernelsAreFoundByTheirNames) {
  program.programs[0].step.kernelNames[1] = "other";
  describe(program);
  EXPECT_THAT(runFailing(base, 1),
              HasSubstr("lacks the row kernel 'other' of program 'main'"));
}

TEST_F(GenerateTest, StopsOnAnotherCpu) {
  program.programs[0].cpu = "avx9000";
  describe(program);
  EXPECT_THAT(runFailing(base, 1), HasSubstr("avx9000"));
}

} // namespace
