//===- ProgramDescriptorTest.cpp - both directions and what is refused ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What toJson() writes parse() reads back unchanged. A descriptor with any
// number out of range, a member missing or of another type is refused with a
// message that names it; no text crashes the reader.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ProgramDescriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sluice;
using nlohmann::json;
using testing::HasSubstr;

namespace {

ProgramDescriptor example() {
  ProgramDescriptor program;
  program.name = "tiny \"quoted\" é";
  program.architecture = "llama";
  program.quantization = "q8_0";
  program.cpu = "avx2";
  program.contextLength = 128;
  program.vocabSize = 64;
  program.hiddenSize = 32;
  program.layers = 1;
  program.rowFloats = 512;
  program.outputFloats = 96;
  program.logitsOffset = 32;
  program.caches = {{2, 16}};
  program.ropeTables = {{{1.0f, 0.1f, 0.31622776f}, 1.25f}};
  program.files = {{"/models/tiny.gguf", 100000, "0123456789abcdef"}};
  WeightDescriptor table{
      "embedding", 0,           64,          64 * 64, 64,
      32,          Format::F16, Format::F16, false,   WeightUse::Rows};
  WeightDescriptor output = table;
  output.use = WeightUse::Linear;
  WeightDescriptor norm{"norm", 0, 8192, 128, 1, 32};
  program.weights = {table, output, norm};
  program.eosTokens = {2, 63};
  program.phases = {"model", "kernels"};
  return program;
}

TEST(ProgramDescriptorTest, RoundTrips) {
  ProgramDescriptor program = example();
  Expected<std::string> text = program.toJson();
  ASSERT_TRUE(text) << text.status().message();
  Expected<ProgramDescriptor> back = ProgramDescriptor::parse(*text);
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(*back->toJson(), *text);
  EXPECT_EQ(back->name, program.name);
  EXPECT_EQ(back->ropeTables[0].inverseFrequencies,
            program.ropeTables[0].inverseFrequencies);
  EXPECT_EQ(back->ropeTables[0].attentionFactor, 1.25f);
  EXPECT_EQ(back->weights[1].use, WeightUse::Linear);
  EXPECT_EQ(back->weights[0].stored, Format::F16);
  EXPECT_EQ(back->eosTokens, program.eosTokens);
  EXPECT_EQ(back->packingHash(), program.packingHash());
}

TEST(ProgramDescriptorTest, CountsATiedTableOnce) {
  EXPECT_EQ(example().parameterCount(), 64 * 32 + 32);
  EXPECT_EQ(example().cacheBytesPerToken(4), 2 * 2 * 16 * 4);
}

TEST(ProgramDescriptorTest, PackingHashFollowsWhatIsPacked) {
  uint64_t hash = example().packingHash();
  ProgramDescriptor moved = example();
  moved.files[0].path = "/elsewhere/tiny.gguf";
  EXPECT_EQ(moved.packingHash(), hash);
  ProgramDescriptor other = example();
  other.files[0].identity = "0123456789abcdee";
  EXPECT_NE(other.packingHash(), hash);
  other = example();
  other.cpu = "avx512";
  EXPECT_NE(other.packingHash(), hash);
  other = example();
  other.weights[0].format = Format::Q8_0;
  EXPECT_NE(other.packingHash(), hash);
}

/// The error of parsing the example after `edit` changed its JSON.
template <typename Fn> std::string errorAfter(Fn edit) {
  json object = json::parse(*example().toJson());
  edit(object);
  Expected<ProgramDescriptor> program = ProgramDescriptor::parse(object.dump());
  return program ? "accepted" : program.status().message();
}

TEST(ProgramDescriptorTest, RefusesOutOfRange) {
  auto weight = [](const char *key, json value) {
    return errorAfter([&](json &object) { object["weights"][0][key] = value; });
  };
  auto member = [](const char *key, json value) {
    return errorAfter([&](json &object) { object[key] = value; });
  };
  EXPECT_THAT(member("format", 2), HasSubstr("reads format 1"));
  EXPECT_THAT(member("vocab_size", 0), HasSubstr("vocab_size is 0"));
  EXPECT_THAT(member("context_length", -1), HasSubstr("context_length"));
  EXPECT_THAT(member("layers", int64_t(1) << 40), HasSubstr("layers"));
  EXPECT_THAT(member("output_floats", 63), HasSubstr("output_floats"));
  EXPECT_THAT(member("logits_offset", 33), HasSubstr("logits_offset"));
  EXPECT_THAT(member("row_floats", 1e30), HasSubstr("row_floats"));
  EXPECT_THAT(member("row_floats", ~uint64_t(0)), HasSubstr("row_floats"));
  EXPECT_THAT(member("eos_tokens", {64}), HasSubstr("eos token is 64"));
  EXPECT_THAT(member("eos_tokens", {-1}), HasSubstr("eos_tokens[0]"));
  EXPECT_THAT(weight("file", 1), HasSubstr("'embedding': no file 1"));
  EXPECT_THAT(weight("offset", 100000), HasSubstr("past the end"));
  EXPECT_THAT(weight("bytes", 4095), HasSubstr("do not hold 64 x 32 of f16"));
  EXPECT_THAT(weight("rows", int64_t(1) << 62), HasSubstr("out of range"));
  EXPECT_THAT(weight("cols", -32), HasSubstr("out of range"));
  EXPECT_THAT(weight("stored", "q9_9"), HasSubstr("unknown format 'q9_9'"));
  EXPECT_THAT(weight("use", "other"), HasSubstr("'other'"));
  EXPECT_THAT(weight("transposed", true), HasSubstr("only a linear weight"));
  EXPECT_THAT(weight("use", "vector"), HasSubstr("has 64 rows"));
  EXPECT_THAT(
      errorAfter([](json &object) { object["files"][0]["identity"] = "xyz"; }),
      HasSubstr("16 hex digits"));
}

TEST(ProgramDescriptorTest, RefusesEveryMissingOrMistypedMember) {
  json whole = json::parse(*example().toJson());
  for (const auto &[key, value] : whole.items()) {
    SCOPED_TRACE(key);
    EXPECT_THAT(errorAfter([&](json &object) { object.erase(key); }),
                HasSubstr("'" + key + "' is missing"));
    EXPECT_THAT(errorAfter([&](json &object) { object[key] = nullptr; }),
                HasSubstr("'" + key + "' is not"));
  }
  for (const auto &[key, value] : whole["weights"][0].items()) {
    SCOPED_TRACE(key);
    EXPECT_THAT(
        errorAfter([&](json &object) { object["weights"][0].erase(key); }),
        HasSubstr("weights[0]: '" + key + "' is missing"));
  }
}

TEST(ProgramDescriptorTest, RefusesWhatIsNotADescriptor) {
  for (std::string text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        std::string("{}"), std::string(100000, '['), std::string("\xff\xfe")}) {
    EXPECT_FALSE(ProgramDescriptor::parse(text));
  }
  std::string whole = *example().toJson();
  for (size_t length = 0; length < whole.size(); length += 7)
    EXPECT_FALSE(ProgramDescriptor::parse(whole.substr(0, length)));
}

TEST(ProgramDescriptorTest, DoesNotWriteWhatItWouldNotRead) {
  ProgramDescriptor program = example();
  program.files[0].path = "/models/\xff.gguf";
  EXPECT_THAT(program.toJson().status().message(), HasSubstr("not UTF-8"));
  program = example();
  program.vocabSize = 0;
  EXPECT_FALSE(program.toJson());
}

} // namespace
