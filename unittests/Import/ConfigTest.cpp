//===- ConfigTest.cpp - tests of reading models' configurations -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GGUFBytes.h"

#include "sluice/Import/Model/ModelFiles.h"
#include "sluice/Import/Support/JSON.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace sluice;
using namespace sluice::importer;
using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns a bundled model's config.json, with `changes` merged into it (a null
/// value stays null).
json configOf(const std::string &model, const json &changes = json::object()) {
  Expected<json> config =
      readJSONFile(SLUICE_TEST_MODELS "/" + model + "/config.json");
  EXPECT_TRUE(config) << config.status().message();
  for (const auto &item : changes.items())
    (*config)[item.key()] = item.value();
  return *config;
}

Expected<ModelConfig> read(const std::string &model,
                           const json &changes = json::object(),
                           const json &generation = json()) {
  return readHuggingFaceConfig("m/config.json",
                               configOf("archs/" + model, changes), generation);
}

std::string error(const std::string &model, const json &changes) {
  return read(model, changes).status().message();
}

TEST(HuggingFaceConfig, ReadsLlama) {
  Expected<ModelConfig> config = read("llama");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->architecture, "llama");
  EXPECT_EQ(config->vocabulary, 512);
  EXPECT_EQ(config->context, 256);
  EXPECT_EQ(config->heads, 4);
  EXPECT_EQ(config->keyValueHeads, 2);
  EXPECT_EQ(config->headDim, 16);
  EXPECT_EQ(config->attentionScale, 0.25);
  EXPECT_EQ(config->norm, NormKind::RMS);
  EXPECT_TRUE(config->gated);
  EXPECT_EQ(config->rope.dimensions, 16);
  EXPECT_FALSE(config->rope.interleaved);
  EXPECT_EQ(config->tied, Tied::No);
  EXPECT_THAT(config->eosTokens, ElementsAre(1));
}

TEST(HuggingFaceConfig, ReadsLlamasBiases) {
  Expected<ModelConfig> config =
      read("llama", {{"attention_bias", true}, {"mlp_bias", true}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->queryKeyValueBias, Bias::Required);
  EXPECT_EQ(config->attentionOutputBias, Bias::Required);
  EXPECT_EQ(config->feedForwardBias, Bias::Required);
}

TEST(HuggingFaceConfig, ReadsOldAndNewRopeOptions) {
  json llama3 = {{"factor", 8.0},
                 {"low_freq_factor", 1.0},
                 {"high_freq_factor", 4.0},
                 {"original_max_position_embeddings", 64},
                 {"rope_type", "llama3"}};
  Expected<ModelConfig> old = read("llama", {{"rope_parameters", nullptr},
                                             {"rope_theta", 500000},
                                             {"rope_scaling", llama3}});
  llama3["rope_theta"] = 500000;
  Expected<ModelConfig> modern = read("llama", {{"rope_parameters", llama3}});
  for (const Expected<ModelConfig> &config : {old, modern}) {
    ASSERT_TRUE(config) << config.status().message();
    EXPECT_EQ(config->rope.base, 500000);
    EXPECT_EQ(config->rope.scaling.kind, RopeScaling::Kind::Llama3);
    EXPECT_EQ(config->rope.scaling.factor, 8);
    EXPECT_EQ(config->rope.scaling.originalContext, 64);
  }
  Expected<ModelConfig> linear =
      read("llama", {{"rope_parameters", nullptr},
                     {"rope_scaling", {{"type", "linear"}, {"factor", 2}}}});
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->rope.scaling.kind, RopeScaling::Kind::Linear);
}

TEST(HuggingFaceConfig, ReadsYarn) {
  json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"rope_theta", 1e6}};
  Expected<ModelConfig> config = read("qwen2", {{"rope_parameters", yarn}});
  ASSERT_TRUE(config) << config.status().message();
  const RopeScaling &scaling = config->rope.scaling;
  EXPECT_EQ(scaling.kind, RopeScaling::Kind::Yarn);
  EXPECT_EQ(scaling.originalContext, 256);
  EXPECT_EQ(scaling.betaFast, 32);
  EXPECT_DOUBLE_EQ(scaling.attentionFactor, 0.1 * std::log(4.0) + 1);
  EXPECT_TRUE(scaling.truncate);

  yarn["attention_factor"] = 2;
  yarn["truncate"] = false;
  yarn["original_max_position_embeddings"] = 64;
  config = read("qwen2", {{"rope_parameters", yarn}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->rope.scaling.attentionFactor, 2);
  EXPECT_EQ(config->rope.scaling.originalContext, 64);
  EXPECT_FALSE(config->rope.scaling.truncate);
}

TEST(HuggingFaceConfig, RefusesRopeItCannotDo) {
  auto withType = [](std::string_view type) {
    return error("llama", {{"rope_parameters",
                            {{"rope_type", type}, {"rope_theta", 1e4}}}});
  };
  for (std::string_view type : {"dynamic", "longrope", "su", "mrope"})
    EXPECT_THAT(withType(type),
                HasSubstr("'rope_parameters': 'rope_type': '" +
                          std::string(type) + "' is not supported"));
  EXPECT_THAT(withType("linear"), HasSubstr("'factor': missing"));
  EXPECT_THAT(withType("llama3"), HasSubstr("'factor': missing"));
  EXPECT_THAT(error("llama", {{"rope_scaling", {{"type", "default"}}}}),
              HasSubstr("given beside 'rope_parameters'"));
  EXPECT_THAT(error("llama", {{"partial_rotary_factor", 0.5}}),
              HasSubstr("'partial_rotary_factor': 0.5 is not supported"));
  EXPECT_THAT(error("llama", {{"rope_parameters", {{"rope_theta", -1}}}}),
              HasSubstr("rope's base -1"));
}

TEST(HuggingFaceConfig, ReadsWindows) {
  Expected<ModelConfig> mistral = read("mistral-swa");
  ASSERT_TRUE(mistral) << mistral.status().message();
  EXPECT_EQ(mistral->architecture, "llama");
  EXPECT_THAT(mistral->windows, ElementsAre(16, 16, 16));
  EXPECT_TRUE(
      read("mistral-swa", {{"sliding_window", nullptr}})->windows.empty());
  json config = configOf("archs/mistral-swa");
  config.erase("sliding_window");
  EXPECT_THAT(readHuggingFaceConfig("m", config, json())->windows, Each(4096));

  EXPECT_THAT(read("qwen2")->windows, Each(0));
  EXPECT_THAT(read("qwen2", {{"use_sliding_window", true},
                             {"sliding_window", 8},
                             {"max_window_layers", 1},
                             {"layer_types", nullptr}})
                  ->windows,
              ElementsAre(0, 8, 8));
  json types = {"sliding_attention", "full_attention", "sliding_attention"};
  EXPECT_THAT(read("qwen2", {{"use_sliding_window", true},
                             {"sliding_window", 8},
                             {"layer_types", types}})
                  ->windows,
              ElementsAre(8, 0, 8));
  EXPECT_THAT(error("qwen2", {{"layer_types", {"chunked_attention"}}}),
              HasSubstr("'chunked_attention' is not supported"));
  EXPECT_THAT(error("qwen2", {{"layer_types", {"full_attention"}}}),
              HasSubstr("for 1 of 3 layers"));
  EXPECT_THAT(error("llama", {{"sliding_window", 16}}),
              HasSubstr("'sliding_window': unknown option"));
}

TEST(HuggingFaceConfig, ReadsGPT2) {
  Expected<ModelConfig> config = read("gpt2");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->position, PositionKind::Learned);
  EXPECT_EQ(config->qkv, QKVLayout::Concat);
  EXPECT_EQ(config->activation, Activation::GeluTanh);
  EXPECT_EQ(config->feedForward, 256);
  EXPECT_TRUE(config->transposed);
  EXPECT_EQ(config->tied, Tied::Yes);
  EXPECT_EQ(read("gpt2", {{"n_inner", 100}})->feedForward, 100);
  EXPECT_EQ(read("gpt2", {{"scale_attn_weights", false}})->attentionScale, 1);
  EXPECT_TRUE(
      read("gpt2", {{"scale_attn_by_inverse_layer_idx", true}})->scaleByLayer);
  EXPECT_THAT(error("gpt2", {{"add_cross_attention", true}}),
              HasSubstr("'add_cross_attention': true is not supported"));
}

TEST(HuggingFaceConfig, ReadsGPTJ) {
  Expected<ModelConfig> config = read("gptj");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_TRUE(config->rope.interleaved);
  EXPECT_EQ(config->rope.dimensions, 8);
  EXPECT_EQ(config->residual, Residual::ParallelOneNorm);
  EXPECT_EQ(config->outputBias, Bias::Required);
  EXPECT_THAT(error("gptj", {{"rotary_dim", 7}}), HasSubstr("rope turns 7"));
  EXPECT_THAT(error("gptj", {{"rotary_dim", 32}}), HasSubstr("rope turns 32"));
}

TEST(HuggingFaceConfig, ReadsGPTNeoX) {
  Expected<ModelConfig> config = read("gpt-neox");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->rope.dimensions, 4);
  EXPECT_EQ(config->qkv, QKVLayout::Grouped);
  EXPECT_EQ(config->residual, Residual::ParallelTwoNorms);
  EXPECT_EQ(read("gpt-neox", {{"use_parallel_residual", false}})->residual,
            Residual::Serial);
  EXPECT_EQ(read("gpt-neox", {{"attention_bias", false}})->queryKeyValueBias,
            Bias::None);
  Expected<ModelConfig> old = read("gpt-neox", {{"rope_parameters", nullptr},
                                                {"rotary_pct", 0.5},
                                                {"rotary_emb_base", 5000}});
  ASSERT_TRUE(old);
  EXPECT_EQ(old->rope.dimensions, 8);
  EXPECT_EQ(old->rope.base, 5000);
  EXPECT_THAT(error("gpt-neox",
                    {{"rope_parameters", {{"partial_rotary_factor", 1.5}}}}),
              HasSubstr("a rotated part of 1.5"));
}

TEST(HuggingFaceConfig, ReadsEveryFormOfFalcon) {
  Expected<ModelConfig> old = read("falcon-mqa");
  ASSERT_TRUE(old) << old.status().message();
  EXPECT_EQ(old->keyValueHeads, 1);
  EXPECT_EQ(old->qkv, QKVLayout::Concat);
  EXPECT_EQ(old->residual, Residual::ParallelOneNorm);
  EXPECT_EQ(old->activation, Activation::Gelu);
  EXPECT_EQ(old->tied, Tied::Yes);

  Expected<ModelConfig> serial = read("falcon-mqa", {{"parallel_attn", false},
                                                     {"multi_query", false},
                                                     {"alibi", true},
                                                     {"bias", true}});
  ASSERT_TRUE(serial);
  EXPECT_EQ(serial->residual, Residual::Serial);
  EXPECT_EQ(serial->qkv, QKVLayout::Grouped);
  EXPECT_EQ(serial->keyValueHeads, 4);
  EXPECT_EQ(serial->position, PositionKind::Alibi);
  EXPECT_EQ(serial->alibiScale, 0.25);
  EXPECT_EQ(serial->queryKeyValueBias, Bias::Required);

  Expected<ModelConfig> grouped = read("falcon-gqa");
  ASSERT_TRUE(grouped);
  EXPECT_EQ(grouped->keyValueHeads, 2);
  EXPECT_EQ(grouped->qkv, QKVLayout::Grouped);
  EXPECT_EQ(grouped->residual, Residual::ParallelTwoNorms);
  EXPECT_EQ(
      read("falcon-gqa", {{"num_ln_in_parallel_attn", nullptr}})->residual,
      Residual::ParallelTwoNorms);
  EXPECT_EQ(read("falcon-gqa", {{"num_ln_in_parallel_attn", 1}})->residual,
            Residual::ParallelOneNorm);
  EXPECT_THAT(error("falcon-gqa", {{"num_ln_in_parallel_attn", 3}}),
              HasSubstr("neither 1 nor 2"));
  EXPECT_THAT(error("falcon-gqa",
                    {{"num_ln_in_parallel_attn", 1}, {"parallel_attn", false}}),
              HasSubstr("'parallel_attn': false is not supported"));
}

TEST(HuggingFaceConfig, TakesTheGenerationsEndTokens) {
  Expected<ModelConfig> config =
      read("llama", json::object(), {{"eos_token_id", {3, 4}}, {"top_k", 5}});
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_THAT(config->eosTokens, ElementsAre(3, 4));
  EXPECT_THAT(read("llama", {{"eos_token_id", nullptr}})->eosTokens,
              ElementsAre());
  Expected<ModelConfig> outside =
      read("llama", {{"eos_token_id", {-1, 3, 512, 5000000000}}});
  ASSERT_TRUE(outside) << outside.status().message();
  EXPECT_THAT(outside->eosTokens, ElementsAre(3));
  EXPECT_THAT(outside->warnings,
              ElementsAre("m/config.json: the end-of-text token -1 is outside "
                          "the vocabulary of 512 and is left out",
                          HasSubstr("token 512 is"), HasSubstr("5000000000")));
  EXPECT_THAT(read("llama", {}, {{"eos_token_id", "x"}}).status().message(),
              HasSubstr("m/generation_config.json: 'eos_token_id'"));
}

TEST(HuggingFaceConfig, RefusesOtherArchitectures) {
  for (std::string_view name : {"gemma2", "mixtral", "phi3", "qwen3"}) {
    std::string model(name);
    EXPECT_THAT(readHuggingFaceConfig("m", configOf("refused/" + model), json())
                    .status()
                    .message(),
                HasSubstr("m: model_type '" + model +
                          "' is not supported (llama, mistral, qwen2, gpt2, "
                          "gptj, gpt_neox, falcon are)"));
  }
  EXPECT_THAT(
      readHuggingFaceConfig("m", json::object(), json()).status().message(),
      HasSubstr("'model_type': missing"));
}

TEST(HuggingFaceConfig, ReadsQuantisationThatTensorsSayMoreOf) {
  json fp8 = {{"quant_method", "fp8"},
              {"activation_scheme", "dynamic"},
              {"weight_block_size", {128, 128}}};
  json weights = {{"num_bits", 8},
                  {"type", "float"},
                  {"strategy", "block"},
                  {"block_structure", {128, 128}}};
  json group = {{"targets", {"Linear"}},
                {"weights", weights},
                {"input_activations", {{"dynamic", true}, {"num_bits", 8}}}};
  json compressed = {{"quant_method", "compressed-tensors"},
                     {"format", "float-quantized"},
                     {"sparsity_config", {{"format", "dense"}}},
                     {"config_groups", {{"group_0", group}}}};
  auto errorOf = [](const json &quantization) {
    return error("llama", {{"quantization_config", quantization}});
  };
  EXPECT_EQ(errorOf(fp8), "");
  EXPECT_EQ(errorOf(compressed), "");

  auto changed = [](json value, const char *pointer, const json &to) {
    value[json::json_pointer(pointer)] = to;
    return value;
  };
  EXPECT_THAT(errorOf(changed(fp8, "/activation_scheme", "static")),
              HasSubstr("'quantization_config': 'activation_scheme': 'static' "
                        "is not supported (only 'dynamic' is)"));
  EXPECT_THAT(errorOf(changed(fp8, "/weight_block_size", {64, 128})),
              HasSubstr("'weight_block_size': only blocks of [128, 128]"));
  EXPECT_THAT(errorOf(changed(fp8, "/fmt", "e5m2")), HasSubstr("'fmt': "));
  EXPECT_THAT(errorOf(changed(fp8, "/surprise", 1)), HasSubstr("'surprise'"));
  const char *inGroup = "/config_groups/group_0";
  for (auto [key, value] : std::initializer_list<std::pair<std::string, json>>{
           {"weights/num_bits", 4},
           {"weights/type", "int"},
           {"weights/strategy", "group"},
           {"weights/symmetric", false},
           {"weights/block_structure", {128, 64}},
           {"input_activations/dynamic", false},
           {"output_activations", {{"num_bits", 8}}},
           {"format", "int-quantized"}})
    EXPECT_THAT(
        errorOf(changed(compressed, (inGroup + ("/" + key)).c_str(), value)),
        HasSubstr("'" + key.substr(key.find('/') + 1) + "': "))
        << key;
  EXPECT_THAT(
      errorOf(changed(compressed, "/kv_cache_scheme", {{"num_bits", 8}})),
      HasSubstr("'kv_cache_scheme': is not supported"));
  EXPECT_THAT(errorOf(changed(compressed, "/sparsity_config/format", "sparse")),
              HasSubstr("'sparsity_config': 'format': 'sparse'"));
  json none = json::object();
  EXPECT_EQ(errorOf(changed(compressed, "/transform_config", none)), "");
  EXPECT_THAT(errorOf(changed(compressed, "/transform_config", {{"r1", none}})),
              HasSubstr("'transform_config': is not supported"));
  EXPECT_THAT(errorOf(changed(compressed, "/config_groups", none)),
              HasSubstr("'config_groups': names no weights"));
}

TEST(HuggingFaceConfig, RefusesOptionsByName) {
  for (const auto &[key, value] :
       std::initializer_list<std::pair<std::string, json>>{
           {"quantization_config", {{"bits", 4}}},
           {"num_local_experts", 8},
           {"is_encoder_decoder", true},
           {"hidden_act", "quick_gelu"},
           {"logit_scale", 0.5},
           {"num_attention_heads", 3},
           {"hidden_size", 0},
           {"hidden_size", -64},
           {"num_hidden_layers", 2147483647},
           {"rms_norm_eps", "small"},
           {"tie_word_embeddings", "yes"}})
    EXPECT_THAT(error("llama", {{key, value}, {"head_dim", nullptr}}),
                HasSubstr("m/config.json: '" + key + "': "));
  EXPECT_THAT(error("llama", {{"num_key_value_heads", 3}}),
              HasSubstr("4 heads are not a multiple of 3"));
  EXPECT_THAT(error("llama", {{"intermediate_size", 2000000000}}),
              HasSubstr("a size of 2000000000"));
  EXPECT_THAT(error("llama", {{"rms_norm_eps", -1}}), HasSubstr("epsilon -1"));
}

/// Reads the GGUF metadata of a model of `architecture`, to which `more` adds
/// `extra` entries.
template <typename More>
Expected<ModelConfig> readGGUF(const std::string &architecture, uint64_t extra,
                               const More &more) {
  std::string p = architecture + ".";
  GGUFBytes bytes(0, 7 + extra);
  bytes.text("general.architecture", architecture)
      .u32(p + "block_count", 2)
      .u32(p + "context_length", 128)
      .u32(p + "embedding_length", 64)
      .u32(p + "feed_forward_length", 160)
      .u32(p + "attention.head_count", 4)
      .f32(p + (architecture == "llama" || architecture == "qwen2"
                    ? "attention.layer_norm_rms_epsilon"
                    : "attention.layer_norm_epsilon"),
           0.5f);
  more(bytes, p);
  Expected<gguf::GGUFFile> file = bytes.parse();
  if (!file)
    return file.status();
  return readGGUFConfig(*file);
}

Expected<ModelConfig> readGGUF(const std::string &architecture) {
  return readGGUF(architecture, 0, [](GGUFBytes &, const std::string &) {});
}

TEST(GGUFConfig, ReadsEveryArchitecture) {
  for (std::string_view name :
       {"llama", "qwen2", "gpt2", "gptj", "gptneox", "falcon"}) {
    Expected<ModelConfig> config = readGGUF(std::string(name));
    ASSERT_TRUE(config) << config.status().message();
    EXPECT_EQ(config->architecture, name);
    EXPECT_EQ(config->layers, 2);
    EXPECT_EQ(config->keyValueHeads, 4);
    EXPECT_EQ(config->epsilon, 0.5);
    EXPECT_EQ(config->name, "m.gguf");
    EXPECT_EQ(config->rope.interleaved, name == "llama" || name == "gptj");
  }
  EXPECT_THAT(readGGUF("mamba").status().message(),
              HasSubstr("general.architecture 'mamba' is not supported (llama, "
                        "qwen2, gpt2, gptj, gptneox, falcon are)"));
}

TEST(GGUFConfig, ReadsRope) {
  auto config = readGGUF("llama", 6, [](GGUFBytes &b, const std::string &p) {
    b.text("general.name", "A name")
        .u32(p + "rope.dimension_count", 8)
        .f32(p + "rope.freq_base", 5e5f)
        .text(p + "rope.scaling.type", "yarn")
        .f32(p + "rope.scaling.factor", 4)
        .u32(p + "rope.scaling.original_context_length", 32);
  });
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->name, "A name");
  EXPECT_EQ(config->rope.dimensions, 8);
  EXPECT_EQ(config->rope.base, 5e5);
  EXPECT_EQ(config->rope.scaling.kind, RopeScaling::Kind::Yarn);
  EXPECT_EQ(config->rope.scaling.originalContext, 32);
  EXPECT_DOUBLE_EQ(config->rope.scaling.attentionFactor,
                   0.1 * std::log(4.0) + 1);

  config = readGGUF("llama", 1, [](GGUFBytes &b, const std::string &p) {
    b.f32(p + "rope.scale_linear", 2);
  });
  ASSERT_TRUE(config);
  EXPECT_EQ(config->rope.scaling.kind, RopeScaling::Kind::Linear);
  EXPECT_EQ(config->rope.scaling.factor, 2);

  config = readGGUF("llama", 1, [](GGUFBytes &b, const std::string &p) {
    b.text(p + "rope.scaling.type", "longrope");
  });
  EXPECT_THAT(config.status().message(),
              HasSubstr("'rope.scaling.type': 'longrope' is not supported"));
}

TEST(GGUFConfig, RefusesOptionsByName) {
  auto error = [](std::string_view key, float value) {
    return readGGUF("llama", 1,
                    [&](GGUFBytes &b, const std::string &p) {
                      b.f32(p + std::string(key), value);
                    })
        .status()
        .message();
  };
  EXPECT_THAT(error("logit_scale", 2), HasSubstr("'logit_scale': unknown"));
  EXPECT_THAT(error("attention.clamp_kqv", 8), HasSubstr("'attention.clamp"));
  EXPECT_THAT(error("rope.scaling.attn_factor", 2), HasSubstr("attn_factor"));
  EXPECT_THAT(error("block_size", 2), HasSubstr("llama.*: 'block_size'"));

  auto count = [](std::string_view key, uint32_t value) {
    return readGGUF("llama", 1,
                    [&](GGUFBytes &b, const std::string &p) {
                      b.u32(p + std::string(key), value);
                    })
        .status()
        .message();
  };
  EXPECT_EQ(count("expert_count", 0), "");
  EXPECT_THAT(count("expert_count", 8), HasSubstr("mixtures of experts"));
  EXPECT_THAT(count("attention.value_length", 8), HasSubstr("than keys"));
  EXPECT_THAT(count("attention.key_length", 0), HasSubstr("found 0"));
}

TEST(GGUFConfig, RefusesPartsOfModels) {
  GGUFBytes split(0, 1);
  split.entry("split.count", gguf::ValueType::UInt16, uint16_t(3));
  Expected<gguf::GGUFFile> file = split.parse();
  EXPECT_THAT(readGGUFConfig(*file).status().message(),
              HasSubstr("split.count: a model split over 3 files"));
  GGUFBytes adapter(0, 1);
  adapter.text("general.type", "adapter");
  file = adapter.parse();
  EXPECT_THAT(readGGUFConfig(*file).status().message(),
              HasSubstr("general.type: 'adapter' is not a model"));
  file = GGUFBytes(0, 0).parse();
  EXPECT_THAT(readGGUFConfig(*file).status().message(),
              HasSubstr("general.architecture: missing"));
}

} // namespace
