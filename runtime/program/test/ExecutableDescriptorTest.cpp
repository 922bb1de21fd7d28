//===- ExecutableDescriptorTest.cpp - tests of descriptors ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A descriptor is the same after conversion to JSON and back. Inconsistent
// descriptors are refused with an error that names the problem: numbers out of
// range, indices that refer to nothing, members that are missing or of another
// type, stages that do not cover the model, an identity that does not match.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ExecutableDescriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sluice;
using nlohmann::json;
using testing::HasSubstr;
using namespace std::chrono_literals;

namespace {

ProgramDescriptor program(const char *name) {
  ProgramDescriptor result;
  result.name = name;
  result.cpu = "avx2";
  result.contextLength = 128;
  result.vocabSize = 64;
  result.hiddenSize = 32;
  result.rowFloats = 512;
  result.outputFloats = 96;
  result.logitsOffset = 32;
  result.caches = {{2, 16}};
  result.ropeTables = {{{1.0f, 0.1f, 0.31622776f}, 1.25f}};
  return result;
}

/// Returns a descriptor with two stages and a draft on three ranks.
ExecutableDescriptor example() {
  ExecutableDescriptor executable;
  executable.name = "tiny \"quoted\" é";
  executable.architecture = "llama";
  executable.quantization = "q8_0";
  executable.contextLength = 128;
  executable.vocabSize = 64;
  executable.hiddenSize = 32;
  executable.layers = 3;
  executable.eosTokens = {2, 63};
  executable.files = {{"/models/tiny.gguf", 100000, "0123456789abcdef"}};
  executable.phases = {"model", "kernels"};

  WeightDescriptor table{
      "embedding", 0,           64,          64 * 64, 64,
      32,          Format::F16, Format::F16, false,   WeightUse::Rows};
  table.digest = 0xfedcba9876543210u;
  WeightDescriptor output = table;
  output.use = WeightUse::Linear;
  WeightDescriptor norm{"norm", 0, 8192, 128, 1, 32};
  ProgramDescriptor first = program("main.s0"), last = program("main.s1");
  first.layers = 2;
  first.hasOutput = false;
  first.checkpoints = 4;
  first.stepRows = 48;
  first.weights = {table, norm};
  last.firstLayer = 2;
  last.layers = 1;
  last.hasEmbedding = false;
  last.weights = {output, norm};
  ProgramDescriptor draft = program("draft");
  draft.contextLength = 64;
  draft.hiddenSize = 16;
  draft.vocabSize = 60; // its table has another padding
  executable.programs = {first, last, draft};

  using Kind = RankRole::Kind;
  ExecutionPlan &plan = executable.plan;
  plan.maxLatency = 500us;
  plan.stepRows = 48;
  plan.ranks = {{{{Kind::Head}, {Kind::Draft}}, "n0"},
                {{{Kind::Stage, 0}}, "n1"},
                {{{Kind::Stage, 1}}, ""}};
  plan.stages = {{"main.s0", {1us, 2us}}, {"main.s1", {3us}}};
  plan.draft = PlanDraft{"draft", DraftPlacement::Own, 16, 2, {1us}};
  plan.channels = {{"c0", 0, 1, 32, PlanChannel::Kind::Rows},
                   {"c1", 1, 2, 8, PlanChannel::Kind::Activations},
                   {"c2", 2, 0, 32, PlanChannel::Kind::Tokens}};
  return executable;
}

TEST(ExecutableDescriptorTest, RoundTrips) {
  ExecutableDescriptor executable = example();
  Expected<std::string> text = executable.toJson();
  ASSERT_TRUE(text) << text.status().message();
  Expected<ExecutableDescriptor> back = ExecutableDescriptor::parse(*text);
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(*back->toJson(), *text);
  EXPECT_EQ(back->name, executable.name);
  EXPECT_EQ(back->eosTokens, executable.eosTokens);
  ASSERT_EQ(back->programs.size(), 3u);
  const ProgramDescriptor &last = back->stageProgram(1);
  EXPECT_EQ(last.name, "main.s1");
  EXPECT_EQ(last.ropeTables[0].inverseFrequencies,
            executable.programs[1].ropeTables[0].inverseFrequencies);
  EXPECT_EQ(last.ropeTables[0].attentionFactor, 1.25f);
  EXPECT_EQ(last.weights[0].use, WeightUse::Linear);
  EXPECT_EQ(last.weights[0].stored, Format::F16);
  EXPECT_EQ(last.weights[0].digest, 0xfedcba9876543210u);
  EXPECT_EQ(last.weights[1].digest, std::nullopt);
  EXPECT_EQ(last.firstLayer, 2);
  EXPECT_EQ(back->programs[0].stepRows, 48);
  EXPECT_EQ(back->programs[0].checkpoints, 4);
  EXPECT_EQ(back->programs[2].vocabSize, 60);

  const ExecutionPlan &plan = back->plan;
  EXPECT_EQ(plan.maxLatency, 500us);
  EXPECT_EQ(plan.ranks[1].place, "n1");
  EXPECT_EQ(plan.rankOf({RankRole::Kind::Stage, 1}), 2);
  EXPECT_EQ(plan.rankOf({RankRole::Kind::Draft}), 0);
  EXPECT_EQ(plan.stages[0].costs[1], Time(2us));
  EXPECT_EQ(plan.draft->depth, 16);
  EXPECT_EQ(plan.draft->costs[0], Time(1us));
  EXPECT_EQ(plan.channels[1].capacity, 8);
}

TEST(ExecutableDescriptorTest, ALocalPlanHasOneRank) {
  ExecutionPlan plan = makeLocalPlan({"a", "b"});
  EXPECT_TRUE(plan.validate().ok()) << plan.validate().message();
  EXPECT_EQ(plan.ranks.size(), 1u);
  EXPECT_EQ(plan.rankOf({RankRole::Kind::Stage, 1}), 0);
  EXPECT_FALSE(plan.draft);
}

TEST(ExecutableDescriptorTest, IdentityIsOfEverythingButPaths) {
  auto identity = [](const ExecutableDescriptor &executable) {
    return ExecutableDescriptor::parse(*executable.toJson())->plan.identity;
  };
  uint64_t usual = identity(example());
  EXPECT_NE(usual, 0u);
  ExecutableDescriptor other = example();
  other.files[0].path = "/elsewhere/tiny.gguf";
  EXPECT_EQ(identity(other), usual);
  other.files[0].identity = "0123456789abcdee";
  EXPECT_NE(identity(other), usual);
  other = example();
  other.plan.channels[0].capacity = 31;
  EXPECT_NE(identity(other), usual);
  other = example();
  other.programs[1].weights[0].format = Format::Q8_0;
  EXPECT_NE(identity(other), usual);
}

TEST(ExecutableDescriptorTest, CountsATiedTableOnce) {
  EXPECT_EQ(example().parameterCount(), 64 * 32 + 32);
  EXPECT_EQ(example().programs[0].cacheBytesPerToken(4), 2 * 2 * 16 * 4);
}

TEST(ExecutableDescriptorTest, PackingHashFollowsWhatIsPacked) {
  auto hash = [](const ExecutableDescriptor &executable) {
    return executable.programs[0].packingHash(executable.files);
  };
  uint64_t usual = hash(example());
  ExecutableDescriptor moved = example();
  moved.files[0].path = "/elsewhere/tiny.gguf";
  EXPECT_EQ(hash(moved), usual);
  ExecutableDescriptor other = example();
  other.files[0].identity = "0123456789abcdee";
  EXPECT_NE(hash(other), usual);
  other = example();
  other.programs[0].cpu = "avx512";
  EXPECT_NE(hash(other), usual);
  other = example();
  other.programs[0].weights[0].format = Format::Q8_0;
  EXPECT_NE(hash(other), usual);
}

template <typename Fn> std::string errorAfter(Fn edit) {
  json object = json::parse(*example().toJson());
  edit(object);
  Expected<ExecutableDescriptor> executable =
      ExecutableDescriptor::parse(object.dump());
  return executable ? "accepted" : executable.status().message();
}

/// Returns the error if the member at `pointer` has another value.
std::string errorWith(const char *pointer, json value) {
  return errorAfter([&](json &object) {
    object[json::json_pointer(pointer)] = std::move(value);
  });
}

TEST(ExecutableDescriptorTest, RefusesOutOfRange) {
  EXPECT_THAT(errorWith("/format", 1), HasSubstr("reads format 6"));
  EXPECT_THAT(errorWith("/vocab_size", 0), HasSubstr("vocab_size is 0"));
  EXPECT_THAT(errorWith("/context_length", -1), HasSubstr("context_length"));
  EXPECT_THAT(errorWith("/layers", int64_t(1) << 40), HasSubstr("layers"));
  EXPECT_THAT(errorWith("/eos_tokens", {64}), HasSubstr("eos token is 64"));
  EXPECT_THAT(errorWith("/eos_tokens", {-1}), HasSubstr("eos_tokens[0]"));
  EXPECT_THAT(errorWith("/files/0/identity", "xyz"),
              HasSubstr("16 hex digits"));
  EXPECT_THAT(errorWith("/programs", json::array()),
              HasSubstr("number of programs is 0"));
}

TEST(ExecutableDescriptorTest, RefusesProgramsOutOfRange) {
  auto member = [](const std::string &key, json value) {
    return errorWith(("/programs/1/" + key).c_str(), std::move(value));
  };
  EXPECT_THAT(member("output_floats", 63), HasSubstr("output_floats"));
  EXPECT_THAT(member("logits_offset", 33), HasSubstr("logits_offset"));
  EXPECT_THAT(member("row_floats", 1e30), HasSubstr("row_floats"));
  EXPECT_THAT(member("row_floats", ~uint64_t(0)), HasSubstr("row_floats"));
  EXPECT_THAT(member("step_rows", 0), HasSubstr("step_rows is 0"));
  EXPECT_THAT(member("checkpoints", -1), HasSubstr("checkpoints is -1"));
  EXPECT_THAT(member("name", "a/b"), HasSubstr("cannot be named 'a/b'"));
  EXPECT_THAT(member("name", ""), HasSubstr("cannot be named"));
  EXPECT_THAT(member("caches/0/head_dim", 0), HasSubstr("head_dim is 0"));
  auto weight = [&](const char *key, json value) {
    return member(std::string("weights/0/") + key, std::move(value));
  };
  EXPECT_THAT(weight("file", 1), HasSubstr("'embedding': no file 1"));
  EXPECT_THAT(weight("offset", 100000), HasSubstr("past the end"));
  EXPECT_THAT(weight("bytes", 4095), HasSubstr("do not hold 64 x 32 of f16"));
  EXPECT_THAT(weight("rows", int64_t(1) << 62), HasSubstr("out of range"));
  EXPECT_THAT(weight("cols", -32), HasSubstr("out of range"));
  EXPECT_THAT(weight("stored", "q9_9"), HasSubstr("unknown format 'q9_9'"));
  EXPECT_THAT(weight("use", "other"), HasSubstr("'other'"));
  EXPECT_THAT(weight("use", "vector"), HasSubstr("has 64 rows"));
  EXPECT_THAT(errorWith("/programs/0/weights/0/transposed", true),
              HasSubstr("only a linear weight"));
}

/// Returns the example with programs for cuda after those for CPUs.
ExecutableDescriptor forBoth() {
  ExecutableDescriptor executable = example();
  std::vector<ProgramDescriptor> cuda = executable.programs;
  for (ProgramDescriptor &program : cuda) {
    program.target = ProgramTarget::Cuda;
    program.cpu.clear();
    program.rowFloats = 256;
    executable.programs.push_back(program);
  }
  return executable;
}

TEST(ExecutableDescriptorTest, HasProgramsOfOneNameForTwoTargets) {
  Expected<ExecutableDescriptor> back =
      ExecutableDescriptor::parse(*forBoth().toJson());
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(back->findProgram("main.s1"), 1);
  EXPECT_EQ(back->findProgram("main.s1", ProgramTarget::Cpu), 1);
  EXPECT_EQ(back->findProgram("main.s1", ProgramTarget::Cuda), 4);
  EXPECT_EQ(back->programs[4].rowFloats, 256);
  EXPECT_EQ(back->findProgram("absent", ProgramTarget::Cuda), std::nullopt);
  EXPECT_TRUE(back->isFor(ProgramTarget::Cuda));
  EXPECT_FALSE(example().isFor(ProgramTarget::Cuda));
}

TEST(ExecutableDescriptorTest, RefusesTargetsThatDoNotFit) {
  auto refuses = [](auto change) {
    ExecutableDescriptor executable = forBoth();
    change(executable.programs);
    return std::string(executable.validate().message());
  };
  using Programs = std::vector<ProgramDescriptor>;
  EXPECT_EQ(refuses([](Programs &) {}), "");
  EXPECT_THAT(refuses([](Programs &p) { p.pop_back(); }),
              HasSubstr("not there for all targets"));
  EXPECT_THAT(refuses([](Programs &p) { p[3].layers = 1; }),
              HasSubstr("has not the shape of that for cpu"));
  EXPECT_THAT(refuses([](Programs &p) { p[3].cpu = "avx2"; }),
              HasSubstr("is for cuda and for the CPU avx2"));
  EXPECT_THAT(refuses([](Programs &p) { p[3].target = ProgramTarget::Cpu; }),
              HasSubstr("two programs are named"));
  EXPECT_THAT(refuses([](Programs &p) { std::swap(p[2], p[3]); }),
              HasSubstr("comes too late"));
}

TEST(ExecutableDescriptorTest, RefusesPartnersThatDoNotFit) {
  auto refuses = [](auto change) {
    ExecutableDescriptor executable = forBoth();
    ProgramDescriptor &program = executable.programs[4];
    program.weights.push_back(program.weights[0]);
    program.weights[0].partner = 2;
    change(program);
    return std::string(executable.validate().message());
  };
  EXPECT_EQ(refuses([](ProgramDescriptor &) {}), "");
  EXPECT_THAT(refuses([](ProgramDescriptor &p) { p.weights[0].partner = 3; }),
              HasSubstr("no weight 3"));
  EXPECT_THAT(refuses([](ProgramDescriptor &p) { p.weights[0].partner = 1; }),
              HasSubstr("'norm' is not of its kind"));
  EXPECT_THAT(refuses([](ProgramDescriptor &p) { p.weights[2].partner = 0; }),
              HasSubstr("is not of its kind"));
  EXPECT_THAT(refuses([](ProgramDescriptor &p) { p.weights[1].partner = 2; }),
              HasSubstr("only a linear weight"));
}

TEST(ExecutableDescriptorTest, RefusesStagesThatAreNotTheModel) {
  EXPECT_THAT(errorWith("/programs/1/first_layer", 1),
              HasSubstr("'main.s1' starts with layer 1, not 2"));
  EXPECT_THAT(errorWith("/programs/1/layers", 2),
              HasSubstr("the stages have 4 of 3 layers"));
  EXPECT_THAT(errorWith("/programs/0/has_embedding", false),
              HasSubstr("'main.s0' is stage 0 and has no embedding"));
  EXPECT_THAT(errorWith("/programs/0/has_output", true),
              HasSubstr("is stage 0 of 2 and has an output layer"));
  EXPECT_THAT(errorWith("/programs/1/hidden_size", 64),
              HasSubstr("of a model of another shape"));
  EXPECT_THAT(errorWith("/programs/1/name", "main.s0"),
              HasSubstr("two programs are named 'main.s0'"));
  EXPECT_THAT(errorWith("/plan/stages/1/program", "other"),
              HasSubstr("there is no program 'other'"));
  EXPECT_THAT(errorWith("/plan/stages/1/program", "main.s0"),
              HasSubstr("'main.s0' has two places"));
  EXPECT_THAT(errorAfter([](json &object) {
                object["programs"].push_back(object["programs"][2]);
                object["programs"][3]["name"] = "spare";
              }),
              HasSubstr("'spare' has no place"));
  EXPECT_THAT(errorWith("/programs/2/has_output", false),
              HasSubstr("the draft 'draft' is not a whole model"));
}

TEST(ExecutableDescriptorTest, RefusesRolesThatDoNotFit) {
  auto roles = [](int rank, json value) {
    return errorWith(("/plan/ranks/" + std::to_string(rank) + "/roles").c_str(),
                     std::move(value));
  };
  EXPECT_THAT(roles(0, {"draft"}), HasSubstr("no rank is head"));
  EXPECT_THAT(roles(1, {"stage 0", "head"}), HasSubstr("two ranks are head"));
  EXPECT_THAT(roles(1, json::array()), HasSubstr("rank 1 has no role"));
  EXPECT_THAT(roles(1, {"stage 2"}),
              HasSubstr("rank 1 is stage 2, which there is none of"));
  EXPECT_THAT(roles(1, {"stage 0", "stage 0"}), HasSubstr("two ranks"));
  EXPECT_THAT(roles(1, {"stage -1"}), HasSubstr("is not a role"));
  EXPECT_THAT(roles(1, {"stage 0x"}), HasSubstr("is not a role"));
  EXPECT_THAT(roles(1, {7}), HasSubstr("is not a role"));
  EXPECT_THAT(errorWith("/plan/draft/placement", "head"),
              HasSubstr("rank 0 has 2 roles"));
  EXPECT_THAT(errorWith("/plan/draft/placement", "moon"),
              HasSubstr("'placement' is 'moon'"));
  EXPECT_THAT(errorWith("/plan/draft", nullptr),
              HasSubstr("is draft, which there is none of"));
  EXPECT_THAT(errorAfter([](json &object) {
                object["plan"]["ranks"][0]["roles"] = {"head"};
                object["plan"]["ranks"][1]["roles"] = {"stage 0", "draft"};
              }),
              HasSubstr("the draft is not on the head's rank"));
}

TEST(ExecutableDescriptorTest, RefusesPlansOutOfRange) {
  EXPECT_THAT(errorWith("/plan/channels/1/to", 0),
              HasSubstr("'c1' takes activations from rank 1 to rank 0; in its "
                        "place activations go from rank 1 to rank 2"));
  EXPECT_THAT(errorWith("/plan/channels/0/kind", "tokens"),
              HasSubstr("'c0' takes tokens"));
  EXPECT_THAT(errorWith("/plan/channels/0/kind", "gold"),
              HasSubstr("'kind' is 'gold'"));
  EXPECT_THAT(errorWith("/plan/channels/0/name", "c1"),
              HasSubstr("named 'c1'"));
  EXPECT_THAT(errorWith("/plan/channels/2/capacity", 0),
              HasSubstr("capacity is 0"));
  EXPECT_THAT(
      errorAfter([](json &object) { object["plan"]["channels"].erase(1); }),
      HasSubstr("has 2 channels for 2 stages"));
  EXPECT_THAT(errorWith("/plan/draft/depth", 0), HasSubstr("depth is 0"));
  EXPECT_THAT(errorWith("/plan/draft/width", 1000), HasSubstr("width is 1000"));
  EXPECT_THAT(errorWith("/plan/step_rows", 0), HasSubstr("step_rows is 0"));
  EXPECT_THAT(errorWith("/plan/max_latency_ns", -1),
              HasSubstr("max_latency_ns is -1"));
  EXPECT_THAT(errorWith("/plan/stages/0/step_ns/3", -5),
              HasSubstr("a step of main.s0 of 4 rows is predicted to take -5"));
  EXPECT_THAT(errorWith("/plan/stages/0/step_ns", {1, 2}),
              HasSubstr("has 2 times, not 10"));
  EXPECT_THAT(errorWith("/plan/stages/0/step_ns/3", "x"),
              HasSubstr("step_ns[3]: is not a whole number"));
}

TEST(ExecutableDescriptorTest, RefusesAnIdentityOfSomethingElse) {
  EXPECT_THAT(errorWith("/plan/identity", "0123456789abcdef"),
              HasSubstr("'identity' is not that of the rest"));
  EXPECT_THAT(errorWith("/plan/channels/0/capacity", 31),
              HasSubstr("'identity' is not that of the rest"));
}

/// Expects an error if a member of the object at `pointer` is missing or null.
void expectEveryMemberNeeded(const char *pointer) {
  json whole = json::parse(*example().toJson());
  for (const auto &[key, value] : whole[json::json_pointer(pointer)].items()) {
    SCOPED_TRACE(key);
    auto object = json::json_pointer(pointer);
    EXPECT_THAT(errorAfter([&](json &root) { root[object].erase(key); }),
                HasSubstr("'" + key + "' is missing"));
    if (key == "draft" || key == "slice" || key == "scales" ||
        key == "digest") // null if there is none
      continue;
    std::string error =
        errorAfter([&](json &root) { root[object][key] = nullptr; });
    EXPECT_THAT(error, HasSubstr(key));
    EXPECT_THAT(error, HasSubstr(" is not "));
  }
}

TEST(ExecutableDescriptorTest, RefusesScalesThatAreNone) {
  // Replaces the output's f16 matrix by a matrix of e4m3 numbers.
  auto changed = [](const char *key, const json &value) {
    return errorAfter([&](json &root) {
      json &weight = root["programs"][1]["weights"][0];
      weight["stored"] = weight["format"] = "e4m3";
      weight["cols"] = 128;
      weight["rows"] = 200;
      weight["bytes"] = 128 * 200;
      weight["scales"] = {{"file", 0}, {"offset", 64}, {"format", "bf16"},
                          {"rows", 2}, {"cols", 1},    {"digest", nullptr}};
      json &object = weight["scales"].contains(key) ? weight["scales"] : weight;
      object[key] = value;
    });
  };
  // The scales are valid here; only the identity does not match any more.
  EXPECT_THAT(changed("rows", 2), HasSubstr("'identity' is not that"));
  EXPECT_THAT(changed("rows", 200), HasSubstr("'identity' is not that"));
  EXPECT_THAT(changed("scales", 5), HasSubstr("scales: is not an object"));
  EXPECT_THAT(changed("rows", 3), HasSubstr("3 x 1 scales of bf16 are not"));
  EXPECT_THAT(changed("format", "q8_0"), HasSubstr("scales of q8_0 are not"));
  EXPECT_THAT(changed("offset", 99997), HasSubstr("scales reach past the end"));
  EXPECT_THAT(changed("file", 1), HasSubstr("in no file 1"));
  EXPECT_THAT(changed("stored", "f32"),
              HasSubstr("has scales, but is stored in f32"));
  EXPECT_THAT(changed("use", "rows"),
              HasSubstr("scales lie apart, but it is used as rows"));
  EXPECT_THAT(changed("transposed", true),
              HasSubstr("scales lie apart, but it is used as transposed"));
}

TEST(ExecutableDescriptorTest, RefusesDigestsThatAreNone) {
  constexpr const char *digest = "/programs/0/weights/0/digest";
  for (const json &bad :
       {json(5), json(""), json("123"), json("0123456789ABCDEF"),
        json("0123456789abcdefg"), json("-123456789abcdef")})
    EXPECT_THAT(errorWith(digest, bad),
                HasSubstr("'digest' is not 16 hex digits"));
  // The digest is valid here; only the identity does not match any more.
  EXPECT_THAT(errorWith(digest, "0123456789abcdee"),
              HasSubstr("'identity' is not that"));
}

TEST(ExecutableDescriptorTest, DigestsDecideThePackedForm) {
  ExecutableDescriptor executable = example();
  ProgramDescriptor &program = executable.programs[0];
  uint64_t hash = program.packingHash(executable.files);
  program.weights[0].digest = *program.weights[0].digest + 1;
  EXPECT_NE(program.packingHash(executable.files), hash);
  program.weights[0].digest = std::nullopt;
  EXPECT_NE(program.packingHash(executable.files), hash);
}

TEST(ExecutableDescriptorTest, RefusesSlicesThatAreNone) {
  constexpr const char *table = "/programs/0/weights/0/slice";
  constexpr const char *matrix = "/programs/1/weights/0/slice";
  EXPECT_THAT(errorWith(matrix, 5), HasSubstr("slice: is not an object"));
  EXPECT_THAT(errorWith(matrix, json::object()),
              HasSubstr("'rows' is missing"));
  EXPECT_THAT(errorWith(matrix, {{"rows", json::array()}}),
              HasSubstr("slice: has no ranges"));
  EXPECT_THAT(errorWith(matrix, {{"rows", {0, "x"}}}),
              HasSubstr("rows[1]: is not a whole number"));
  EXPECT_THAT(errorWith(matrix, {{"columns", {0, 33}}}),
              HasSubstr("not in 32"));
  EXPECT_THAT(errorWith(table, {{"rows", {0, 20}}}),
              HasSubstr("a table is looked up whole"));
}

TEST(ExecutableDescriptorTest, RefusesGroupsThatAreNone) {
  EXPECT_THAT(errorWith("/programs/0/members", 2),
              HasSubstr("is not of a group of 1"));
  EXPECT_THAT(errorWith("/programs/0/members", 257),
              HasSubstr("members is 257, not within 1 to 256"));
  EXPECT_THAT(errorWith("/plan/stages/0/others", {"main.s9"}),
              HasSubstr("no rank is stage 0 member 1"));
  EXPECT_THAT(errorWith("/plan/ranks/0/roles/0", "stage 0 member x"),
              HasSubstr("is not a role"));
}

TEST(ExecutableDescriptorTest, RefusesEveryMissingOrMistypedMember) {
  for (const char *pointer :
       {"", "/files/0", "/programs/0", "/programs/0/weights/0",
        "/programs/0/caches/0", "/programs/0/rope_tables/0", "/plan",
        "/plan/ranks/0", "/plan/stages/0", "/plan/draft", "/plan/channels/0"}) {
    SCOPED_TRACE(pointer);
    expectEveryMemberNeeded(pointer);
  }
}

TEST(ExecutableDescriptorTest, RefusesWhatIsNotADescriptor) {
  for (std::string text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        std::string("{}"), std::string(100000, '['), std::string("\xff\xfe")}) {
    EXPECT_FALSE(ExecutableDescriptor::parse(text));
  }
  std::string whole = *example().toJson();
  for (size_t length = 0; length < whole.size(); length += 7)
    EXPECT_FALSE(ExecutableDescriptor::parse(whole.substr(0, length)));
}

TEST(ExecutableDescriptorTest, DoesNotWriteWhatItWouldNotRead) {
  ExecutableDescriptor executable = example();
  executable.files[0].path = "/models/\xff.gguf";
  EXPECT_THAT(executable.toJson().status().message(), HasSubstr("not UTF-8"));
  executable = example();
  executable.vocabSize = 0;
  EXPECT_FALSE(executable.toJson());
}

} // namespace
