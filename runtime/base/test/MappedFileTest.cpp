//===- MappedFileTest.cpp - mapping files ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/MappedFile.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace sluice;

TEST(MappedFile, RangesInsideTheFileOnly) {
  std::string path = testing::TempDir() + "/mapped-file-test";
  std::ofstream(path) << "0123456789";
  Expected<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->bytes().size(), 10u);
  EXPECT_EQ(*file->range(3, 7), '3');
  EXPECT_NE(file->range(10, 0), nullptr);
  EXPECT_EQ(file->range(3, 8), nullptr);
  EXPECT_EQ(file->range(11, 0), nullptr);
  EXPECT_EQ(file->range(~uint64_t(0), 2), nullptr);
  EXPECT_EQ(file->range(2, ~uint64_t(0)), nullptr);
  std::remove(path.c_str());
}

TEST(MappedFile, ErrorsNameThePath) {
  Expected<MappedFile> missing = MappedFile::open("/no/such/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().message(),
            "/no/such/file: cannot open: No such file or directory");
  Expected<MappedFile> folder = MappedFile::open("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.status().message(), "/: not a regular file");
}

TEST(MappedFile, APipeIsRefusedWithoutWaitingForItsWriter) {
  std::string path = testing::TempDir() + "/mapped-file-pipe";
  std::remove(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  Expected<MappedFile> pipe = MappedFile::open(path);
  ASSERT_FALSE(pipe);
  EXPECT_EQ(pipe.status().message(), path + ": not a regular file");
  std::remove(path.c_str());
}

TEST(MappedFile, AnEmptyFileIsAnEmptySpan) {
  std::string path = testing::TempDir() + "/mapped-file-empty";
  std::ofstream(path).flush();
  Expected<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->bytes().empty());
  std::remove(path.c_str());
}

TEST(MappedFile, KnowsWhetherItHasItsPathStill) {
  std::string path = testing::TempDir() + "/mapped-file-place";
  std::ofstream(path) << "0123456789";
  Expected<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->isInPlace());
  EXPECT_EQ(file->info().st_size, 10);
  std::string other = path + "2";
  std::ofstream(other) << "0123456789";
  Expected<MappedFile> named = MappedFile::open(other, FileUse::Input, path);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->path(), path);
  EXPECT_FALSE(named->isInPlace());
  ASSERT_EQ(std::rename(other.c_str(), path.c_str()), 0);
  EXPECT_FALSE(file->isInPlace());
  EXPECT_TRUE(named->isInPlace());
  MappedFile moved = named.take();
  EXPECT_TRUE(moved.isInPlace());
  std::remove(path.c_str());
  EXPECT_FALSE(moved.isInPlace());
}
