//===- WeightDamageTest.cpp - tests of damaged weights --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Damage of a weight in the cache, the executable, the model's file or memory
// is detected, and the weight is named. A damaged cache is packed again. A
// cache that another user can write is not used.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/test/PackedWeightStoreBed.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Origin = PackedWeightStore::Origin;
namespace fs = std::filesystem;

namespace {

using WeightDamageTest = WeightStoreBed;

TEST_F(WeightDamageTest, ADamagedCacheIsPackedAgain) {
  options.verifyFirst = true;
  Expected<PackedWeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  const std::vector<std::string> expected = contents(*fresh);
  const uint64_t size = fs::file_size(cachePath());
  auto expectPackedAgain = [&](const std::string &reason) {
    Expected<PackedWeightStore> store = load();
    ASSERT_TRUE(store) << store.status().message();
    EXPECT_EQ(store->origin(), Origin::Packed);
    EXPECT_THAT(notes, ElementsAre(cachePath() + ": " + reason +
                                   "; packing the weights again"));
    EXPECT_EQ(contents(*store), expected);
    Expected<PackedWeightStore> next = load();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->origin(), Origin::Cached);
    EXPECT_THAT(notes, IsEmpty());
  };
  // The first and last bytes of the two sections, some bytes between, and a
  // page.
  const uint64_t norm = 4096, output = norm + 256;
  for (uint64_t offset : {norm, norm + 255}) {
    damage(cachePath(), offset, "!");
    expectPackedAgain("weight 'norm' is damaged");
  }
  for (uint64_t offset : {output, size - 1, output + 5000}) {
    damage(cachePath(), offset, "!");
    expectPackedAgain("weight 'output' is damaged");
  }
  damage(cachePath(), 8192, std::string(4096, '\0'));
  expectPackedAgain("weight 'output' is damaged");
  // A changed digest.
  damage(cachePath(), 64 + 24 * 3 + 16, "!");
  expectPackedAgain("is damaged");
  fs::resize_file(cachePath(), 8192);
  expectPackedAgain("has 8192 bytes, not " + std::to_string(size));
}

TEST_F(WeightDamageTest, WithoutBeingVerifiedFirstACacheIsUsedAsItIs) {
  Expected<PackedWeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  damage(cachePath(), 8192, std::string(64, '!'));
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->origin(), Origin::Cached);
  EXPECT_THAT(notes, IsEmpty());
  Expected<const KnownBytes *> damaged =
      findDamage(store->knownBytes(), options.packing);
  ASSERT_TRUE(damaged);
  ASSERT_NE(*damaged, nullptr);
  EXPECT_EQ((*damaged)->weight, "output");
}

TEST_F(WeightDamageTest, AChangedModelIsNotPacked) {
  for (auto [weight, name] :
       {std::pair(Embedding, "'embedding'"), std::pair(Place, "'place'"),
        std::pair(Norm, "'norm'"), std::pair(Output, "'output'")}) {
    uint64_t last = weights()[weight].offset + weights()[weight].bytes - 1;
    damageModel(last);
    EXPECT_THAT(error(), HasSubstr(std::string("model.bin: weight ") + name +
                                   " has changed since the program was "
                                   "compiled from it; restore the file"));
    EXPECT_FALSE(fs::exists(cachePath()));
    damageModel(last);
    EXPECT_EQ(error(), "loaded");
    fs::remove(cachePath());
  }
  expectNothingElse();
}

TEST_F(WeightDamageTest, AChangedTableThatIsUsedInPlaceIsRefused) {
  EXPECT_EQ(error(), "loaded");
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->origin(), Origin::Cached);
  // Damages the file under the running program.
  damage(modelPath, weights()[Embedding].offset + 100, "!!");
  Expected<const KnownBytes *> damaged =
      findDamage(store->knownBytes(), options.packing);
  ASSERT_TRUE(damaged);
  ASSERT_NE(*damaged, nullptr);
  EXPECT_EQ(reportDamage(**damaged).message(),
            modelPath + ": weight 'embedding' has changed since the program "
                        "was compiled from it; restore the file, or compile "
                        "it again");
  EXPECT_TRUE(fs::exists(cachePath()));
}

TEST_F(WeightDamageTest, EverythingThatIsUsedIsKnown) {
  auto names = [](const PackedWeightStore &store) {
    std::vector<std::string> all;
    for (const KnownBytes &each : store.knownBytes())
      all.push_back(each.weight);
    return all;
  };
  auto isIntact = [this](const PackedWeightStore &store) {
    Expected<const KnownBytes *> damaged =
        findDamage(store.knownBytes(), options.packing);
    return damaged && *damaged == nullptr;
  };
  const auto all = ElementsAre("embedding", "place", "norm", "output");
  Expected<PackedWeightStore> packed = load();
  ASSERT_TRUE(packed);
  EXPECT_THAT(names(*packed), all);
  EXPECT_TRUE(isIntact(*packed));
  Expected<PackedWeightStore> cached = load();
  ASSERT_TRUE(cached);
  EXPECT_THAT(names(*cached), all);
  EXPECT_TRUE(isIntact(*cached));
  fs::remove(cachePath());
  fs::create_directory(cachePath());
  Expected<PackedWeightStore> inMemory = load();
  ASSERT_TRUE(inMemory);
  ASSERT_EQ(inMemory->origin(), Origin::InMemory);
  EXPECT_THAT(names(*inMemory), all);
  EXPECT_TRUE(isIntact(*inMemory));
  // A changed bit in this process's memory.
  const KnownBytes &output = inMemory->knownBytes().back();
  const_cast<uint8_t &>(output.bytes[1000]) ^= 1;
  EXPECT_FALSE(isIntact(*inMemory));
  EXPECT_EQ(reportDamage(output).message(),
            "weight 'output' has changed in this process's memory, which may "
            "be faulty");

  // Tables of random weights are only in memory and have no known digest.
  options.randomSeed = 3;
  Expected<PackedWeightStore> random = load();
  ASSERT_TRUE(random) << random.status().message();
  EXPECT_THAT(names(*random), ElementsAre("norm", "output"));
  EXPECT_TRUE(isIntact(*random));
  options.randomSeed.reset();

  embed();
  Expected<PackedWeightStore> embedded = load();
  ASSERT_TRUE(embedded);
  EXPECT_THAT(names(*embedded), all);
  EXPECT_TRUE(isIntact(*embedded));
}

/// Weights that the compiler could not read, as of a model's shape, are packed
/// and used. Their packed form is verified; their tables, whose digests are not
/// known, are not.
TEST_F(WeightDamageTest, WithoutDigestsThePackedFormIsKnown) {
  for (WeightDescriptor &weight : weights())
    weight.digest.reset();
  damageModel(weights()[Embedding].offset);
  options.verifyFirst = true;
  EXPECT_EQ(error(), "loaded");
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->origin(), Origin::Cached);
  ASSERT_EQ(store->knownBytes().size(), 2u);
  EXPECT_EQ(store->knownBytes()[0].weight, "norm");
}

TEST_F(WeightDamageTest, DamagedEmbeddedWeightsAreRefused) {
  embed();
  options.verifyFirst = true;
  EXPECT_EQ(error(), "loaded");
  const std::string &program = options.search.executable;
  // Comes after the executable's page, the header's page, the tables and the
  // norm.
  uint64_t place = 8192 + vocab * hidden * 2 + context * hidden * 4 + 256;
  damage(program, place + 700, "!");
  EXPECT_EQ(error(), program + ": weight 'output' is damaged; copy or compile "
                               "the program again");
  options.verifyFirst = false;
  EXPECT_EQ(error(), "loaded");
  damage(program, 4096 + 70, "!");
  EXPECT_THAT(error(), HasSubstr("program: embedded weights: is damaged"));
}

TEST_F(WeightDamageTest, WhatIsDamagedInUseIsRemoved) {
  EXPECT_EQ(error(), "loaded");
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store);
  damage(cachePath(), 4096, "!");
  Expected<const KnownBytes *> damaged =
      findDamage(store->knownBytes(), options.packing);
  ASSERT_TRUE(damaged);
  ASSERT_NE(*damaged, nullptr);
  EXPECT_EQ(reportDamage(**damaged).message(),
            cachePath() + ": weight 'norm' is damaged; the file has been "
                          "removed, and the next start packs the weights "
                          "again");
  EXPECT_FALSE(fs::exists(cachePath()));
  // A new cache in its place is not removed.
  Expected<PackedWeightStore> again = load();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin(), Origin::Packed);
  EXPECT_THAT(reportDamage(**damaged).message(),
              HasSubstr("'norm' is damaged; another file is in its place"));
  EXPECT_TRUE(fs::exists(cachePath()));
}

TEST_F(WeightDamageTest, ACacheThatOthersCanWriteIsNotUsed) {
  Expected<PackedWeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  const std::vector<std::string> expected = contents(*fresh);
  auto expectUnused = [&](const std::string &reason) {
    std::string before = readFile(cachePath());
    Expected<PackedWeightStore> store = load();
    ASSERT_TRUE(store) << store.status().message();
    EXPECT_EQ(store->origin(), Origin::InMemory);
    EXPECT_EQ(contents(*store), expected);
    EXPECT_THAT(notes,
                ElementsAre(HasSubstr(".weights: " + reason +
                                      ", so it is not used; the packed weights "
                                      "stay in memory")));
    EXPECT_EQ(readFile(cachePath()), before);
  };
  for (mode_t mode : {0664, 0646, 0622}) {
    ASSERT_EQ(::chmod(cachePath().c_str(), mode), 0);
    expectUnused("may be written by other users (chmod go-w helps)");
  }
  ASSERT_EQ(::chmod(cachePath().c_str(), 0644), 0);
  Expected<PackedWeightStore> store = load();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->origin(), Origin::Cached);
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(cachePath().c_str(), 12345, gid_t(-1)), 0);
  expectUnused("belongs to another user, number 12345");
}

/// Users with a group of their own usually have a umask that lets the group
/// write.
TEST_F(WeightDamageTest, OthersCannotWriteWhatIsPacked) {
  const std::pair<mode_t, mode_t> cases[] = {
      {0, 0644}, {0002, 0644}, {0022, 0644}, {0077, 0600}};
  for (auto [mask, mode] : cases) {
    mode_t old = ::umask(mask);
    Expected<PackedWeightStore> packed = load();
    ::umask(old);
    ASSERT_TRUE(packed);
    struct stat info = {};
    ASSERT_EQ(::stat(cachePath().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, mode);
    Expected<PackedWeightStore> cached = load();
    ASSERT_TRUE(cached);
    EXPECT_EQ(cached->origin(), Origin::Cached);
    fs::remove(cachePath());
  }
}

TEST_F(WeightDamageTest, VerifyingCanBeCancelled) {
  EXPECT_EQ(error(), "loaded");
  options.verifyFirst = true;
  options.packing.cancelled = [] { return true; };
  EXPECT_EQ(error(), "interrupted");
  EXPECT_TRUE(fs::exists(cachePath()));
}

} // namespace
