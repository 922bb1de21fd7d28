//===- ModelFilesTest.cpp - tests of opening models -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TemporaryFolder.h"

#include "sluice/Import/Model/ModelFiles.h"

#include "gmock/gmock.h"

using namespace sluice;
using namespace sluice::importer;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(ModelFiles, OpensEveryBundledModel) {
  for (std::string_view name : {"llama", "mistral-swa", "qwen2", "gpt2", "gptj",
                                "gpt-neox", "falcon-mqa", "falcon-gqa"}) {
    std::string path = SLUICE_TEST_MODELS "/archs/" + std::string(name);
    Expected<ModelFiles> model = ModelFiles::open(path);
    ASSERT_TRUE(model) << model.status().message();
    EXPECT_EQ(model->config().name, name);
    EXPECT_FALSE(model->tokenizer().has_value());
    std::string table = std::string(model->names().prefix) +
                        std::string(model->names().tokens) + ".weight";
    const StoredTensor *tensor = model->find(table);
    ASSERT_NE(tensor, nullptr) << table;
    EXPECT_THAT(tensor->shape, ElementsAre(512, 64));
    EXPECT_EQ(model->bytesOf(*tensor).size(), 512u * 64 * 4);
  }
}

TEST(ModelFiles, KnowsWhichTensorsMayBeLeftOver) {
  Expected<ModelFiles> model =
      ModelFiles::open(SLUICE_TEST_MODELS "/archs/gpt2");
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_TRUE(model->mayBeUnused("transformer.h.0.attn.bias"));
  EXPECT_TRUE(model->mayBeUnused("transformer.h.11.attn.masked_bias"));
  EXPECT_FALSE(model->mayBeUnused("transformer.h.0.attn.c_attn.bias"));
  EXPECT_FALSE(model->mayBeUnused("transformer.h..attn.bias"));
  EXPECT_FALSE(model->mayBeUnused("h.0.attn.bias"));
  EXPECT_FALSE(model->mayBeUnused("transformer.h.0"));
}

TEST(ModelFiles, RefusesATensorInTwoShards) {
  TemporaryFolder folder;
  std::filesystem::copy(SLUICE_TEST_MODELS "/archs/llama/config.json",
                        folder.path());
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"a":"1","b":"2"}})");
  constexpr std::string_view both =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  folder.writeSafetensors("1", both, 8);
  folder.writeSafetensors("2", both, 8);
  EXPECT_THAT(ModelFiles::open(folder.path()).status().message(),
              HasSubstr("/1: tensor 'b': the index does not say"));
}

// An architecture that is not supported is refused by its configuration alone.
TEST(ModelFiles, RefusesBeforeLookingAtTensors) {
  EXPECT_THAT(ModelFiles::open(SLUICE_TEST_MODELS "/refused/mixtral")
                  .status()
                  .message(),
              HasSubstr("model_type 'mixtral' is not supported"));
  EXPECT_THAT(ModelFiles::open("/nonexistent").status().message(),
              HasSubstr("/nonexistent: cannot open"));
}

} // namespace
