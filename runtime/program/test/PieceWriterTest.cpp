//===- PieceWriterTest.cpp - tests of writing a file in pieces ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PieceWriter.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/resource.h>
#include <unistd.h>

using namespace sluice;
namespace fs = std::filesystem;

namespace {

class PieceWriterTest : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "pieces." + std::to_string(::getpid()) + "." +
           testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void TearDown() override { fs::remove(path); }

  /// Adds a piece of `bytes` letters at `position`.
  static Status add(PieceWriter &writer, char letter, uint64_t bytes,
                    uint64_t position) {
    Expected<uint8_t *> piece = writer.next(bytes);
    if (!piece)
      return piece.status();
    std::memset(*piece, letter, bytes);
    writer.write(position);
    return {};
  }

  std::string path;
};

TEST_F(PieceWriterTest, PiecesLieWhereTheyAreToWithZerosBetween) {
  Expected<AtomicFile> out = AtomicFile::create(path);
  ASSERT_TRUE(out);
  std::string expected;
  {
    PieceWriter writer(*out);
    for (int i = 0; i < 100; ++i) {
      auto bytes = uint64_t(1 + i * 37 % 500);
      expected.append(size_t(i % 3) * 1000, '\0');
      ASSERT_TRUE(add(writer, char('a' + i % 26), bytes, expected.size()).ok());
      expected.append(bytes, char('a' + i % 26));
    }
    expected.append(10000, '\0');
    ASSERT_TRUE(writer.finish(expected.size()).ok());
  }
  EXPECT_EQ(out->position(), expected.size());
  ASSERT_TRUE(out->commit().ok());
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), expected);
}

TEST_F(PieceWriterTest, AFailedWriteEndsItWithItsError) {
  Expected<AtomicFile> out = AtomicFile::create(path);
  ASSERT_TRUE(out);
  struct rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit little = {4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &little);
  PieceWriter writer(*out);
  Status status;
  int pieces = 0;
  for (; status.ok() && pieces < 100; ++pieces)
    status = add(writer, 'x', 2048, uint64_t(pieces) * 2048);
  EXPECT_NE(status.message().find(path + ": cannot write"), std::string::npos)
      << status.message();
  // Two pieces are written, and at most two wait for the third.
  EXPECT_LE(pieces, 6);
  EXPECT_FALSE(writer.finish(1 << 20).ok());
  ::setrlimit(RLIMIT_FSIZE, &before);
}

TEST_F(PieceWriterTest, WhatIsNotFinishedMayBeLeft) {
  Expected<AtomicFile> out = AtomicFile::create(path);
  ASSERT_TRUE(out);
  PieceWriter writer(*out);
  ASSERT_TRUE(add(writer, 'x', 1 << 20, 0).ok());
  ASSERT_TRUE(add(writer, 'y', 1 << 20, 1 << 20).ok());
}

} // namespace
