//===- WeightStoreTest.cpp - where weights come from ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The weights that a store hands out are the same bytes whether they were just
// packed, mapped from a cache, kept in memory or embedded in the executable. A
// cache that does not fit is made again and the user told why; one that can not
// be written costs time only. Model files that are missing, other ones or not
// finite are refused by name. Wherever a weight is damaged, it is noticed and
// named; a cache that others can write is not used.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/WeightStore.h"
#include "runtime/program/WeightDigests.h"
#include "runtime/program/test/TestModel.h"

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Origin = WeightStore::Origin;
namespace fs = std::filesystem;

namespace {

class WeightStoreTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "weightsXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    bytes = modelBytes();
    modelPath = folder + "/model.bin";
    writeFile(modelPath, bytes.data(), bytes.size());
    executable = testDescriptor(modelPath, bytes);
    recordDigests(executable);
    options.search.executable = folder + "/program";
    options.packing.threads = 3;
    options.note = [this](std::string_view line) { notes.emplace_back(line); };
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string cachePath() const { return folder + "/program.weights"; }

  std::vector<WeightDescriptor> &weights() {
    return executable.programs[0].weights;
  }

  Expected<WeightStore> load() {
    notes.clear();
    Expected<WeightStore> store = WeightStore::load(executable, 0, options);
    if (store)
      store->waitUntilKept();
    return store;
  }

  std::string error() {
    Expected<WeightStore> store = load();
    return store ? "loaded" : store.status().message();
  }

  /// Replaces the model's file and describes the new one.
  void replaceModel() {
    writeFile(modelPath, bytes.data(), bytes.size());
    executable.files[0].identity = fileIdentity(bytes);
    recordDigests(executable);
  }

  /// Changes the model's file in a way that its identity does not tell: of a
  /// large file it is made of samples.
  void damageModel(uint64_t offset) {
    bytes[offset] ^= 1;
    writeFile(modelPath, bytes.data(), bytes.size());
    executable.files[0].identity = fileIdentity(bytes);
  }

  /// Changes bytes of a file in place.
  void damage(const std::string &path, uint64_t offset,
              const std::string &with) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::streamoff(offset));
    file << with;
  }

  void embed() {
    executable.embedded = true;
    Expected<AtomicFile> out = AtomicFile::create(options.search.executable);
    ASSERT_TRUE(out);
    ASSERT_TRUE(out->write("\177ELF: an executable of any length").ok());
    Status s = appendEmbeddedWeights(executable, options.search,
                                     options.packing, *out);
    ASSERT_TRUE(s.ok()) << s.message();
    ASSERT_TRUE(out->commit().ok());
  }

  /// No file but the model's and perhaps the cache is left behind.
  void expectNothingElse() {
    for (const auto &entry : fs::directory_iterator(folder)) {
      std::string name = entry.path().filename();
      EXPECT_TRUE(name == "model.bin" || name == "program.weights" ||
                  name == "program")
          << name;
    }
  }

  std::string folder, modelPath;
  std::vector<uint8_t> bytes;
  ExecutableDescriptor executable;
  WeightLoadOptions options;
  std::vector<std::string> notes;
};

template <typename T> std::string bytesOf(const T *data, size_t count) {
  return {reinterpret_cast<const char *>(data), count * sizeof(T)};
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All that a store hands out, as one comparable value.
std::vector<std::string> contents(const WeightStore &store) {
  std::vector<std::string> all;
  for (const cpu::Weight &weight : store.weights()) {
    if (const auto *packed = std::get_if<cpu::PackedWeight>(&weight))
      all.push_back(bytesOf(packed->data,
                            packed->panelBytes *
                                size_t(cpu::panelCount(packed->outFeatures))));
    else if (const auto *table = std::get_if<cpu::RowTable>(&weight))
      all.push_back(
          bytesOf(table->data,
                  size_t(table->rows) * *rowBytes(table->format, table->cols)));
    else if (const auto *vector = std::get_if<std::span<const float>>(&weight))
      all.push_back(bytesOf(vector->data(), vector->size()));
  }
  return all;
}

TEST_F(WeightStoreTest, PacksOnceThenMaps) {
  Expected<WeightStore> first = load();
  ASSERT_TRUE(first) << first.status().message();
  EXPECT_EQ(first->origin(), Origin::Packed);
  EXPECT_THAT(notes, IsEmpty());
  Expected<WeightStore> second = load();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->origin(), Origin::Cached);
  EXPECT_EQ(contents(*first), contents(*second));
  expectNothingElse();

  const auto &table = std::get<cpu::RowTable>(first->weights()[Embedding]);
  EXPECT_EQ(bytesOf(table.data, vocab * hidden * 2),
            bytesOf(bytes.data() + 64, vocab * hidden * 2));
  auto norm = std::get<std::span<const float>>(first->weights()[Norm]);
  ASSERT_EQ(norm.size(), size_t(hidden));
  EXPECT_NEAR(norm[3], 1 + 0.1f * noise(2000003), 0.01);
  EXPECT_EQ(uintptr_t(norm.data()) % 64, 0u);
}

TEST_F(WeightStoreTest, FileHoldsOnlyWhatModelFilesDoNot) {
  ASSERT_TRUE(load());
  // Q8_0 output panels (1.0625 bytes a weight, 304 columns) and one vector.
  EXPECT_EQ(fs::file_size(cachePath()), 4096u + 304 * 64 * 17 / 16 + 256);
}

TEST_F(WeightStoreTest, ConvertedTablesArePackedInTheirFormat) {
  weights()[Embedding].format = Format::Q8_0;
  Expected<WeightStore> store = load();
  ASSERT_TRUE(store);
  const auto &table = std::get<cpu::RowTable>(store->weights()[Embedding]);
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
  Expected<WeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  std::vector<std::string> expected = contents(*fresh);
  auto remade = [&](const char *reason) {
    Expected<WeightStore> store = load();
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
  Expected<WeightStore> other = load();
  ASSERT_TRUE(other);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("packed for another program")));
}

/// A file that has the cache's name and is none may be all that somebody has of
/// a model.
TEST_F(WeightStoreTest, OthersFilesAreNotReplaced) {
  Expected<WeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  const std::vector<std::string> expected = contents(*fresh);
  for (size_t size : {bytes.size(), size_t{3}, size_t{0}}) {
    fs::remove(cachePath());
    writeFile(cachePath(), bytes.data(), size);
    Expected<WeightStore> store = load();
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
  Expected<WeightStore> written = load();
  ASSERT_TRUE(written);
  std::vector<std::string> expected = contents(*written);
  fs::remove(cachePath());
  // A folder in the file's place cannot be written by anyone, root included.
  fs::create_directory(cachePath());
  Expected<WeightStore> store = load();
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ(store->origin(), Origin::InMemory);
  EXPECT_EQ(contents(*store), expected);
  EXPECT_THAT(notes.back(), HasSubstr("stay in memory"));
  options.search.executable = folder + "/missing/program";
  Expected<WeightStore> elsewhere = load();
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->origin(), Origin::InMemory);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("missing/program.weights: cannot "
                                           "write")));
}

TEST_F(WeightStoreTest, WhatCannotBeKeptIsUsedNevertheless) {
  // Once packing has begun, a folder takes the file's place.
  options.packing.cancelled = [this] {
    fs::create_directory(cachePath());
    return false;
  };
  Expected<WeightStore> store = load();
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ(store->origin(), Origin::Packed);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("the next start packs")));
  expectNothingElse();
  fs::remove(cachePath());
  options.packing.cancelled = nullptr;
  Expected<WeightStore> again = load();
  ASSERT_TRUE(again);
  EXPECT_EQ(contents(*store), contents(*again));
}

TEST_F(WeightStoreTest, FullDiskCostsTimeOnly) {
  // A limit on file sizes makes writes fail as a full disk does.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small = {10000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Expected<WeightStore> store = load();
  setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_TRUE(store) << store.status().message();
  EXPECT_EQ(store->origin(), Origin::InMemory);
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_FALSE(fs::exists(cachePath()));
  expectNothingElse();
}

TEST_F(WeightStoreTest, EmbeddedWeightsNeedNoFiles) {
  Expected<WeightStore> unembedded = load();
  ASSERT_TRUE(unembedded);
  executable.embedded = true;
  EXPECT_THAT(error(), HasSubstr("program: cannot open"));
  embed();
  fs::remove(modelPath);
  fs::remove(cachePath());
  Expected<WeightStore> store = load();
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
  Expected<WeightStore> whole = load();
  ASSERT_TRUE(whole);
  // Two stages: the tables and the norm, then the output layer.
  ProgramDescriptor first = executable.programs[0], second = first;
  first.name = "main.s0";
  first.hasOutput = false;
  first.weights.pop_back();
  second.name = "main.s1";
  second.hasEmbedding = false;
  second.firstLayer = 1;
  second.layers = 0;
  second.weights.erase(second.weights.begin(), second.weights.begin() + 3);
  executable.programs = {first, second};
  executable.plan = makeLocalPlan({"main.s0", "main.s1"});
  ASSERT_TRUE(executable.validate().ok()) << executable.validate().message();

  std::vector<std::string> expected = contents(*whole);
  auto expectParts = [&](Origin origin) {
    std::vector<std::string> parts;
    for (int64_t program : {0, 1}) {
      Expected<WeightStore> store =
          WeightStore::load(executable, program, options);
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
  // Finite as stored but not in the format that it is to be converted to.
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

TEST_F(WeightStoreTest, ADamagedCacheIsPackedAgain) {
  options.verifyFirst = true;
  Expected<WeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  const std::vector<std::string> expected = contents(*fresh);
  const uint64_t size = fs::file_size(cachePath());
  auto expectPackedAgain = [&](const std::string &reason) {
    Expected<WeightStore> store = load();
    ASSERT_TRUE(store) << store.status().message();
    EXPECT_EQ(store->origin(), Origin::Packed);
    EXPECT_THAT(notes, ElementsAre(cachePath() + ": " + reason +
                                   "; packing the weights again"));
    EXPECT_EQ(contents(*store), expected);
    Expected<WeightStore> next = load();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->origin(), Origin::Cached);
    EXPECT_THAT(notes, IsEmpty());
  };
  // The first and the last bytes of the two sections, some, and a page.
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
  // A digest of another value.
  damage(cachePath(), 64 + 24 * 3 + 16, "!");
  expectPackedAgain("is damaged");
  fs::resize_file(cachePath(), 8192);
  expectPackedAgain("has 8192 bytes, not " + std::to_string(size));
}

TEST_F(WeightStoreTest, WithoutBeingVerifiedFirstACacheIsUsedAsItIs) {
  Expected<WeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  damage(cachePath(), 8192, std::string(64, '!'));
  Expected<WeightStore> store = load();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->origin(), Origin::Cached);
  EXPECT_THAT(notes, IsEmpty());
  Expected<const KnownBytes *> damaged =
      findDamage(store->knownBytes(), options.packing);
  ASSERT_TRUE(damaged);
  ASSERT_NE(*damaged, nullptr);
  EXPECT_EQ((*damaged)->weight, "output");
}

TEST_F(WeightStoreTest, AChangedModelIsNotPacked) {
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

TEST_F(WeightStoreTest, AChangedTableThatIsUsedInPlaceIsRefused) {
  EXPECT_EQ(error(), "loaded");
  Expected<WeightStore> store = load();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->origin(), Origin::Cached);
  // Under the running program.
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

TEST_F(WeightStoreTest, EverythingThatIsUsedIsKnown) {
  auto names = [](const WeightStore &store) {
    std::vector<std::string> all;
    for (const KnownBytes &each : store.knownBytes())
      all.push_back(each.weight);
    return all;
  };
  auto isIntact = [this](const WeightStore &store) {
    Expected<const KnownBytes *> damaged =
        findDamage(store.knownBytes(), options.packing);
    return damaged && *damaged == nullptr;
  };
  const auto all = ElementsAre("embedding", "place", "norm", "output");
  Expected<WeightStore> packed = load();
  ASSERT_TRUE(packed);
  EXPECT_THAT(names(*packed), all);
  EXPECT_TRUE(isIntact(*packed));
  Expected<WeightStore> cached = load();
  ASSERT_TRUE(cached);
  EXPECT_THAT(names(*cached), all);
  EXPECT_TRUE(isIntact(*cached));
  fs::remove(cachePath());
  fs::create_directory(cachePath());
  Expected<WeightStore> inMemory = load();
  ASSERT_TRUE(inMemory);
  ASSERT_EQ(inMemory->origin(), Origin::InMemory);
  EXPECT_THAT(names(*inMemory), all);
  EXPECT_TRUE(isIntact(*inMemory));
  // A bit of this process's memory.
  const KnownBytes &output = inMemory->knownBytes().back();
  const_cast<uint8_t &>(output.bytes[1000]) ^= 1;
  EXPECT_FALSE(isIntact(*inMemory));
  EXPECT_EQ(reportDamage(output).message(),
            "weight 'output' has changed in this process's memory, which may "
            "be faulty");

  // Of random weights the tables are nowhere else.
  options.randomSeed = 3;
  Expected<WeightStore> random = load();
  ASSERT_TRUE(random) << random.status().message();
  EXPECT_THAT(names(*random), ElementsAre("norm", "output"));
  EXPECT_TRUE(isIntact(*random));
  options.randomSeed.reset();

  embed();
  Expected<WeightStore> embedded = load();
  ASSERT_TRUE(embedded);
  EXPECT_THAT(names(*embedded), all);
  EXPECT_TRUE(isIntact(*embedded));
}

/// What a compiler knows nothing of, such as a model's shape, is packed and
/// used; its tables, which nothing is known of, are not verified.
TEST_F(WeightStoreTest, WithoutDigestsThePackedFormIsKnown) {
  for (WeightDescriptor &weight : weights())
    weight.digest.reset();
  damageModel(weights()[Embedding].offset);
  options.verifyFirst = true;
  EXPECT_EQ(error(), "loaded");
  Expected<WeightStore> store = load();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->origin(), Origin::Cached);
  ASSERT_EQ(store->knownBytes().size(), 2u);
  EXPECT_EQ(store->knownBytes()[0].weight, "norm");
}

TEST_F(WeightStoreTest, DamagedEmbeddedWeightsAreRefused) {
  embed();
  options.verifyFirst = true;
  EXPECT_EQ(error(), "loaded");
  const std::string &program = options.search.executable;
  // Behind the executable's page, the header's, the tables and the norm.
  uint64_t place = 8192 + vocab * hidden * 2 + context * hidden * 4 + 256;
  damage(program, place + 700, "!");
  EXPECT_EQ(error(), program + ": weight 'output' is damaged; copy or compile "
                               "the program again");
  options.verifyFirst = false;
  EXPECT_EQ(error(), "loaded");
  damage(program, 4096 + 70, "!");
  EXPECT_THAT(error(), HasSubstr("program: embedded weights: is damaged"));
}

TEST_F(WeightStoreTest, WhatIsDamagedInUseIsRemoved) {
  EXPECT_EQ(error(), "loaded");
  Expected<WeightStore> store = load();
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
  // Another one's, that came into its place, is not.
  Expected<WeightStore> again = load();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin(), Origin::Packed);
  EXPECT_THAT(reportDamage(**damaged).message(),
              HasSubstr("'norm' is damaged; another file is in its place"));
  EXPECT_TRUE(fs::exists(cachePath()));
}

TEST_F(WeightStoreTest, ACacheThatOthersCanWriteIsNotUsed) {
  Expected<WeightStore> fresh = load();
  ASSERT_TRUE(fresh);
  const std::vector<std::string> expected = contents(*fresh);
  auto expectUnused = [&](const std::string &reason) {
    std::string before = readFile(cachePath());
    Expected<WeightStore> store = load();
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
  Expected<WeightStore> store = load();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->origin(), Origin::Cached);
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(cachePath().c_str(), 12345, gid_t(-1)), 0);
  expectUnused("belongs to another user, number 12345");
}

/// The usual mask of a user with a group of his own lets the group write.
TEST_F(WeightStoreTest, OthersCannotWriteWhatIsPacked) {
  const std::pair<mode_t, mode_t> cases[] = {
      {0, 0644}, {0002, 0644}, {0022, 0644}, {0077, 0600}};
  for (auto [mask, mode] : cases) {
    mode_t old = ::umask(mask);
    Expected<WeightStore> packed = load();
    ::umask(old);
    ASSERT_TRUE(packed);
    struct stat info = {};
    ASSERT_EQ(::stat(cachePath().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, mode);
    Expected<WeightStore> cached = load();
    ASSERT_TRUE(cached);
    EXPECT_EQ(cached->origin(), Origin::Cached);
    fs::remove(cachePath());
  }
}

TEST_F(WeightStoreTest, VerifyingCanBeCancelled) {
  EXPECT_EQ(error(), "loaded");
  options.verifyFirst = true;
  options.packing.cancelled = [] { return true; };
  EXPECT_EQ(error(), "interrupted");
  EXPECT_TRUE(fs::exists(cachePath()));
}

} // namespace
