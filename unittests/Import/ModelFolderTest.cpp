//===- ModelFolderTest.cpp - tests of Hugging Face folders ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TemporaryFolder.h"

#include "sluice/Import/HuggingFace/ModelFolder.h"

#include "gmock/gmock.h"

using namespace sluice;
using testing::HasSubstr;

namespace {

constexpr std::string_view tensorA =
    R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
constexpr std::string_view tensorB =
    R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";

std::string error(const TemporaryFolder &folder) {
  Expected<hf::ModelFolder> model = hf::ModelFolder::open(folder.path());
  return model ? model->openShards().message() : model.status().message();
}

TEST(ModelFolder, OpensOneFile) {
  TemporaryFolder folder;
  folder.write("config.json", R"({"x":1})");
  folder.write("generation_config.json", R"({"y":2})");
  folder.write("tokenizer.json", "{}");
  folder.writeSafetensors("model.safetensors", tensorA, 4);
  Expected<hf::ModelFolder> model = hf::ModelFolder::open(folder.path() + "//");
  ASSERT_TRUE(model) << model.status().message();
  ASSERT_TRUE(model->openShards().ok());
  EXPECT_EQ(model->path(), folder.path());
  EXPECT_EQ(model->shards().size(), 1u);
  EXPECT_EQ(model->generationConfig()["y"], 2);
  EXPECT_TRUE(model->tokenizer().has_value());
}

TEST(ModelFolder, OpensShards) {
  TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  folder.writeSafetensors("1.safetensors", tensorA, 4);
  folder.writeSafetensors("2.safetensors", tensorB, 4);
  EXPECT_EQ(error(folder), "");
}

TEST(ModelFolder, RefusesMissingAndMalformedFiles) {
  TemporaryFolder folder;
  EXPECT_THAT(error(folder), HasSubstr("/config.json: cannot open"));
  folder.write("config.json", "[1]");
  EXPECT_THAT(error(folder), HasSubstr("/config.json: not a JSON object"));
  folder.write("config.json", "{\"a\":1,}");
  EXPECT_THAT(error(folder), HasSubstr("/config.json: parse error at line 1"));
  folder.write("config.json", "{}");
  EXPECT_THAT(error(folder), HasSubstr("/model.safetensors: cannot open"));
  folder.write("pytorch_model.bin", "");
  EXPECT_THAT(error(folder), HasSubstr("PyTorch files are not supported"));
}

TEST(ModelFolder, RefusesABadIndex) {
  TemporaryFolder folder;
  folder.write("config.json", "{}");
  auto withIndex = [&](std::string_view index) {
    folder.write("model.safetensors.index.json", index);
    return error(folder);
  };
  EXPECT_THAT(withIndex("{}"), HasSubstr("weight_map: missing"));
  EXPECT_THAT(withIndex(R"({"weight_map":{}})"), HasSubstr("names no tensor"));
  EXPECT_THAT(withIndex(R"({"weight_map":{"a":1}})"),
              HasSubstr("'a' is not mapped"));
  EXPECT_THAT(withIndex(R"({"weight_map":{"a":"gone.safetensors"}})"),
              HasSubstr("/gone.safetensors: cannot open"));
  for (std::string_view shard : {"../x", "/etc/passwd", "..", "sub/x", ""}) {
    std::string index = R"({"weight_map":{"a":")" + std::string(shard) + "\"}}";
    EXPECT_THAT(withIndex(index),
                HasSubstr("is not the name of a file in the folder"));
  }
  folder.writeSafetensors("1.safetensors", tensorA, 4);
  EXPECT_THAT(
      withIndex(R"({"weight_map":{"a":"1.safetensors","b":"1.safetensors"}})"),
      HasSubstr("tensor 'b': missing"));
  EXPECT_THAT(withIndex(R"({"weight_map":{"c":"1.safetensors"}})"),
              HasSubstr("tensor 'a': the index does not say"));
}

} // namespace
