//===- PackedWeightStoreBed.h - fixture for tests of packed weights -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_TEST_PACKEDWEIGHTSTOREBED_H
#define SLUICE_RUNTIME_PROGRAM_TEST_PACKEDWEIGHTSTOREBED_H

#include "runtime/program/PackedWeightStore.h"
#include "runtime/program/WeightDigests.h"
#include "runtime/program/test/TestModel.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::test {

/// The model of TestModel.h in a folder of its own, and the weights of a
/// program that is compiled from it.
class WeightStoreBed : public testing::Test {
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
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string cachePath() const { return folder + "/program.weights"; }

  std::vector<WeightDescriptor> &weights() {
    return executable.programs[0].weights;
  }

  Expected<PackedWeightStore> load() {
    notes.clear();
    Expected<PackedWeightStore> store =
        PackedWeightStore::load(executable, 0, options);
    if (store)
      store->waitUntilKept();
    return store;
  }

  std::string error() {
    Expected<PackedWeightStore> store = load();
    return store ? "loaded" : store.status().message();
  }

  /// Replaces the model's file and describes the new one.
  void replaceModel() {
    writeFile(modelPath, bytes.data(), bytes.size());
    executable.files[0].identity = fileIdentity(bytes);
    recordDigests(executable);
  }

  /// Changes the model's file such that it still has the recorded identity. In
  /// a large file this can happen, because an identity covers only samples.
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

  /// Expects that no file but the model's and perhaps the cache is left behind.
  void expectNothingElse() {
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
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

inline std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the content of all of a store's weights in a comparable form.
inline std::vector<std::string> contents(const PackedWeightStore &store) {
  std::vector<std::string> all;
  for (const cpu::CpuWeight &weight : store.weights()) {
    if (const auto *packed = std::get_if<cpu::PackedWeight>(&weight))
      all.push_back(bytesOf(packed->data,
                            packed->panelBytes *
                                size_t(cpu::panelCount(packed->outFeatures))));
    else if (const auto *table = std::get_if<cpu::EmbeddingTable>(&weight))
      all.push_back(
          bytesOf(table->data,
                  size_t(table->rows) * *rowBytes(table->format, table->cols)));
    else if (const auto *vector = std::get_if<std::span<const float>>(&weight))
      all.push_back(bytesOf(vector->data(), vector->size()));
  }
  return all;
}

} // namespace sluice::test

#endif // SLUICE_RUNTIME_PROGRAM_TEST_PACKEDWEIGHTSTOREBED_H
