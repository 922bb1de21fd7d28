//===- PackedWeightStoreTest.cpp - tests of stores of packed weights ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A store's weights are the same bytes whether they were just packed, mapped
// from a cache, kept in memory or embedded in the executable. A cache that does
// not fit is packed again and the user is told why; a cache that cannot be
// written only costs time. Model files that are missing, have changed or are
// not finite are refused by name.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/test/PackedWeightStoreBed.h"

#include <csignal>
#include <limits>
#include <sys/resource.h>

using namespace sluice;
using namespace sluice::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Origin = PackedWeightStore::Origin;
namespace fs = std::filesystem;

namespace {

using WeightStoreTest = WeightStoreBed;

TEST_F(WeightStoreTest, PacksOnceThenMaps) {
  Expected<PackedWeightStore> first = load();
  ASSERT_TRUE(first) << first.status().message();
  EXPECT_EQ(first->origin(), Origin::Packed);
  EXPECT_THAT(notes, IsEmpty());
  Expected<PackedWeightStore> second = load();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->origin(), Origin::Cached);
  EXPECT_EQ(contents(*first), contents(*second));
  expectNothingElse();

  const auto &table =
      std::get<cpu::EmbeddingTable>(first->weights()[Embedding]);
  EXPECT_EQ(bytesOf(table.data, vocab * hidden * 2),
            bytesOf(bytes.data() + 64, vocab * hidden * 2));
  auto norm = std::get<std::span<const float>>(first->weights()[Norm]);
  ASSERT_EQ(norm.size(), size_t(hidden));
  EXPECT_NEAR(norm[3], 1 + 0.1f * noise(2000003), 0.01);
  EXPECT_EQ(uintptr_t(norm.data()) % 64, 0u);
}

TEST_F(WeightStoreTest, FileHoldsOnlyWhatModelFilesDoNot) {
  ASSERT_TRUE(load());
  // The output's q8_0 panels (1.0625 bytes for each element, 304 columns) and
  // one vector.
  EXPECT_EQ(fs::file_size(cachePath()), 4096u + 304 * 64 * 17 / 16 + 256);
}

TEST_F(WeightStoreTest, ConvertedTablesArePackedInTheirFormat) {
  weights()[Embedding].format = Format::Q8_0;
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store);
  const auto &table =
      std::get<cpu::EmbeddingTable>(store->weights()[Embedding]);
  EXPECT_EQ(table.format, Format::Q8_0);
  std::vector<float> stored(hidden), packed(hidden);
  dequantizeRow(Format::F16, bytes.data() + 64 + 7 * hidden * 2, stored.data(),
                hidden);
  dequantizeRow(table.format, table.data + 7 * *rowBytes(table.format, hidden),
                packed.data(), hidden);
  for (int64_t i = 0; i < hidden; ++i)
    EXPECT_NEAR(stored[i], packed[i], 0.01);
}

TEST_F(WeightStoreTest, StaleCachesAreMadeAgain) {
  Expected<PackedWeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  std::vector<std::string> expected = contents(*fresh);
  auto remade = [&](const char *reason) {
    Expected<PackedWeightStore> store = load();
    ASSERT_TRUE(store) << store.status().message();
    EXPECT_EQ(store->origin(), Origin::Packed);
    EXPECT_THAT(notes, ElementsAre(HasSubstr(reason)));
    EXPECT_EQ(contents(*store), expected);
    expectNothingElse();
  };
  fs::resize_file(cachePath(), fs::file_size(cachePath()) - 1);
  remade("bytes, not");
  fs::resize_file(cachePath(), 10);
  remade("cut short");
  {
    std::fstream file(cachePath(),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(70);
    file.put('x');
  }
  remade("is damaged");
  bytes.back() ^= 1;
  replaceModel();
  Expected<PackedWeightStore> other = load();
  ASSERT_TRUE(other);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("packed for another program")));
}

/// A file with the cache's name that is not a cache may be a user's only copy
/// of a model.
TEST_F(WeightStoreTest, OthersFilesAreNotReplaced) {
  Expected<PackedWeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  const std::vector<std::string> expected = contents(*fresh);
  for (size_t size : {bytes.size(), size_t{3}, size_t{0}}) {
    fs::remove(cachePath());
    writeFile(cachePath(), bytes.data(), size);
    Expected<PackedWeightStore> store = load();
    ASSERT_TRUE(store) << store.status().message();
    EXPECT_EQ(store->origin(), Origin::InMemory);
    EXPECT_EQ(contents(*store), expected);
    EXPECT_THAT(notes, ElementsAre(HasSubstr(
                           ".weights: is no cache of packed weights and stays "
                           "as it is")));
    EXPECT_EQ(fs::file_size(cachePath()), size);
    expectNothingElse();
  }
}

TEST_F(WeightStoreTest, UnwritableFolderCostsTimeOnly) {
  Expected<PackedWeightStore> written = load();
  ASSERT_TRUE(written);
  std::vector<std::string> expected = contents(*written);
  fs::remove(cachePath());
  // A folder in the file's place prevents writing, also for root.
  fs::create_directory(cachePath());
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ(store->origin(), Origin::InMemory);
  EXPECT_EQ(contents(*store), expected);
  EXPECT_THAT(notes.back(), HasSubstr("stay in memory"));
  options.search.executable = folder + "/missing/program";
  Expected<PackedWeightStore> elsewhere = load();
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->origin(), Origin::InMemory);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("missing/program.weights: cannot "
                                           "write")));
}

TEST_F(WeightStoreTest, WhatCannotBeKeptIsUsedNevertheless) {
  // A folder takes the file's place after packing has begun.
  options.packing.cancelled = [this] {
    fs::create_directory(cachePath());
    return false;
  };
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ(store->origin(), Origin::Packed);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("the next start packs")));
  expectNothingElse();
  fs::remove(cachePath());
  options.packing.cancelled = nullptr;
  Expected<PackedWeightStore> again = load();
  ASSERT_TRUE(again);
  EXPECT_EQ(contents(*store), contents(*again));
}

TEST_F(WeightStoreTest, FullDiskCostsTimeOnly) {
  // A limit on file sizes makes writes fail as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small = {10000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Expected<PackedWeightStore> store = load();
  setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ(store->origin(), Origin::InMemory);
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_FALSE(fs::exists(cachePath()));
  expectNothingElse();
}

TEST_F(WeightStoreTest, EmbeddedWeightsNeedNoFiles) {
  Expected<PackedWeightStore> unembedded = load();
  ASSERT_TRUE(unembedded);
  executable.embedded = true;
  EXPECT_THAT(error(), HasSubstr("program: cannot open"));
  embed();
  fs::remove(modelPath);
  fs::remove(cachePath());
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ(store->origin(), Origin::Embedded);
  EXPECT_EQ(contents(*store), contents(*unembedded));
  EXPECT_FALSE(fs::exists(cachePath()));

  executable.programs[0].cpu = "avx512";
  EXPECT_THAT(error(), HasSubstr("was packed for avx2, not avx512"));
  executable.programs[0].cpu = "avx2";
  fs::resize_file(options.search.executable,
                  fs::file_size(options.search.executable) - 1);
  EXPECT_THAT(error(), HasSubstr("embedded weights are missing"));
}

TEST_F(WeightStoreTest, ProgramsHaveFilesOfTheirOwn) {
  Expected<PackedWeightStore> whole = load();
  ASSERT_TRUE(whole);
  // Two stages: one has the tables and the norm, the other the output layer.
  ProgramDescriptor first = executable.programs[0], second = first;
  first.name = "main.s0";
  first.hasOutput = false;
  first.weights.pop_back();
  second.name = "main.s1";
  second.hasEmbedding = false;
  second.firstLayer = 1;
  second.layers = 0;
  second.weights.erase(second.weights.begin(), second.weights.begin() + 3);
  // What they compute is not asked for.
  for (ProgramDescriptor *program : {&first, &second})
    program->step.tasks = {device::BarrierTask()};
  executable.programs = {first, second};
  executable.plan = makeLocalPlan({"main.s0", "main.s1"});
  ASSERT_TRUE(executable.validate().ok()) << executable.validate().message();

  std::vector<std::string> expected = contents(*whole);
  auto expectParts = [&](Origin origin) {
    std::vector<std::string> parts;
    for (int64_t program : {0, 1}) {
      Expected<PackedWeightStore> store =
          PackedWeightStore::load(executable, program, options);
      ASSERT_TRUE(store) << store.status().message();
      EXPECT_EQ(store->origin(), origin);
      for (const std::string &part : contents(*store))
        parts.push_back(part);
    }
    EXPECT_EQ(parts, expected);
  };
  expectParts(Origin::Packed);
  EXPECT_TRUE(fs::exists(folder + "/program.main.s0.weights"));
  EXPECT_TRUE(fs::exists(folder + "/program.main.s1.weights"));
  expectParts(Origin::Cached);

  embed();
  fs::remove(modelPath);
  expectParts(Origin::Embedded);
}

TEST_F(WeightStoreTest, FindsMovedFiles) {
  fs::create_directory(folder + "/elsewhere");
  std::string moved = folder + "/elsewhere/model.bin";
  fs::rename(modelPath, moved);
  EXPECT_THAT(error(), HasSubstr("model.bin: the model's file is missing"));
  options.search.modelDir = folder + "/elsewhere";
  EXPECT_EQ(error(), "loaded");
  options.search.modelDir = folder;
  EXPECT_THAT(error(), HasSubstr("cannot open"));
  options.search.modelDir = "";
  options.search.executable = folder + "/elsewhere/program";
  EXPECT_EQ(error(), "loaded");
}

TEST_F(WeightStoreTest, OnlyFilesOfWeightsAreNeeded) {
  executable.files.push_back(
      {"/missing/tokenizer.json", 5, "0123456789abcdef"});
  EXPECT_EQ(error(), "loaded");
}

TEST_F(WeightStoreTest, RefusesAnotherFile) {
  std::vector<uint8_t> other = bytes;
  other[100] ^= 1;
  writeFile(modelPath, other.data(), other.size());
  EXPECT_THAT(error(), HasSubstr("model.bin: has changed since"));
  writeFile(modelPath, other.data(), other.size() - 1);
  EXPECT_THAT(error(), HasSubstr("model.bin: has 101567 bytes; the program was "
                                 "compiled from a file of 101568"));
  fs::remove(modelPath);
  fs::create_directory(modelPath);
  EXPECT_THAT(error(), HasSubstr("not a regular file"));
}

TEST_F(WeightStoreTest, RefusesWhatIsNotFinite) {
  std::vector<uint8_t> good = bytes;
  auto plant = [&](uint64_t offset, Format format, float value) {
    bytes = good;
    quantizeRow(format, &value, bytes.data() + offset, 1);
    replaceModel();
  };
  float nan = std::numeric_limits<float>::quiet_NaN();

  plant(weights()[Embedding].offset + 17 * hidden * 2, Format::F16, nan);
  EXPECT_THAT(error(), HasSubstr("model.bin: weight 'embedding': row 17 is "
                                 "not finite"));
  plant(weights()[Place].offset, Format::F32, HUGE_VALF);
  EXPECT_THAT(error(), HasSubstr("'place': row 0"));
  plant(weights()[Norm].offset, Format::BF16, -HUGE_VALF);
  EXPECT_THAT(error(), HasSubstr("'norm': row 0"));
  // Finite as stored, but not in the format to which it is converted.
  weights()[Place].format = Format::F16;
  plant(weights()[Place].offset + hidden * 4, Format::F32, 1e6f);
  EXPECT_THAT(error(), HasSubstr("'place': row 1 is not finite as f16"));
  EXPECT_FALSE(fs::exists(cachePath()));
  expectNothingElse();
}

TEST_F(WeightStoreTest, RefusesFormatsThatCannotBePacked) {
  weights()[Output].format = Format::Q4_K;
  EXPECT_THAT(error(), HasSubstr("'output': 300 x 64 of f16 cannot be used "
                                 "as q4_k"));
}

TEST_F(WeightStoreTest, CancellationLeavesNothing) {
  options.packing.cancelled = [] { return true; };
  EXPECT_EQ(error(), "interrupted");
  EXPECT_FALSE(fs::exists(cachePath()));
  expectNothingElse();
}

} // namespace
