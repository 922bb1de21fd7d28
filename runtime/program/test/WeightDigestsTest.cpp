//===- WeightDigestsTest.cpp - tests of digests of weights ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several threads find the same digest as one. The recorded digests are those
// of the file; a file that is missing, has changed or is a hole has none.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/WeightDigests.h"
#include "runtime/base/ByteDigest.h"
#include "runtime/program/test/TestModel.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

uint64_t digestByOne(std::span<const uint8_t> bytes) {
  ByteDigest digest;
  digest.add(bytes);
  return digest.finish();
}

TEST(WeightDigests, DoNotDependOnTheThreads) {
  for (size_t size :
       {size_t(0), size_t(100), size_t(1) << 20, (size_t(7) << 20) + 3}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i)
      bytes[i] = uint8_t(i * 31 + i / 255);
    for (int64_t threads : {1, 2, 5}) {
      cpu::ThreadPool pool(threads);
      EXPECT_EQ(digestOf(bytes, pool), digestByOne(bytes)) << size;
    }
  }
}

class RecordDigestsTest : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "digests." + std::to_string(::getpid());
    bytes = modelBytes();
    writeFile(path, bytes.data(), bytes.size());
    executable = testDescriptor(path, bytes);
  }
  void TearDown() override { fs::remove(path); }

  const WeightDescriptor &weight(size_t number) const {
    return executable.programs[0].weights[number];
  }

  std::string path;
  std::vector<uint8_t> bytes;
  ExecutableDescriptor executable;
};

TEST_F(RecordDigestsTest, AreThoseOfTheFile) {
  // Scales that are apart, in the place of the norm.
  WeightDescriptor &output = executable.programs[0].weights[Output];
  output.scales = {0, weight(Norm).offset, Format::BF16, 1, 1};
  recordDigests(executable);
  for (const WeightDescriptor &each : executable.programs[0].weights) {
    ASSERT_TRUE(each.digest) << each.name;
    EXPECT_EQ(*each.digest,
              digestByOne(std::span(bytes).subspan(each.offset, each.bytes)))
        << each.name;
  }
  EXPECT_EQ(output.scales->digest,
            digestByOne(std::span(bytes).subspan(weight(Norm).offset, 2)));
}

TEST_F(RecordDigestsTest, WithoutTheFileThereAreNone) {
  auto expectNone = [&] {
    recordDigests(executable);
    for (const WeightDescriptor &each : executable.programs[0].weights)
      EXPECT_FALSE(each.digest) << each.name;
  };
  bytes[100] ^= 1;
  writeFile(path, bytes.data(), bytes.size());
  expectNone();
  fs::remove(path);
  expectNone();
}

TEST_F(RecordDigestsTest, HolesHaveNone) {
  // The first table has data; the other weights are in pages that were never
  // written.
  uint64_t hole = (weight(Place).offset + 65535) / 65536 * 65536;
  WeightDescriptor &place = executable.programs[0].weights[Place];
  place.offset = hole;
  bytes.resize(hole);
  writeFile(path, bytes.data(), weight(Embedding).bytes);
  fs::resize_file(path, hole + place.bytes);
  bytes.assign(hole + place.bytes, 0);
  {
    Expected<MappedFile> file = MappedFile::open(path);
    ASSERT_TRUE(file);
    executable.files[0].size = file->bytes().size();
    executable.files[0].identity = fileIdentity(file->bytes());
  }
  executable.programs[0].weights.resize(2);
  recordDigests(executable);
  EXPECT_TRUE(weight(Embedding).digest);
  EXPECT_FALSE(weight(Place).digest);
}

} // namespace
