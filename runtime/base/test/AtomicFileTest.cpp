//===- AtomicFileTest.cpp - files appear whole or not at all --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AtomicFile.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sluice;
namespace fs = std::filesystem;

namespace {

class AtomicFileTest : public testing::Test {
protected:
  void SetUp() override {
    dir = fs::path(testing::TempDir()) /
          ("atomic." + std::to_string(::getpid()) + "." +
           testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(dir);
  }
  void TearDown() override { fs::remove_all(dir); }

  static std::string read(const fs::path &path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t entries() const {
    return std::distance(fs::directory_iterator(dir), {});
  }

  fs::path dir;
};

TEST_F(AtomicFileTest, CommitPutsTheWholeFileInPlace) {
  Expected<AtomicFile> file = AtomicFile::create(dir / "out");
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_FALSE(fs::exists(dir / "out"));
  ASSERT_TRUE(file->write("hello ").ok());
  ASSERT_TRUE(file->write("there").ok());
  EXPECT_EQ(file->position(), 11u);
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read(dir / "out"), "hello there");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(AtomicFileTest, WhatWasWrittenCanBeWrittenOver) {
  Expected<AtomicFile> file = AtomicFile::create(dir / "out");
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_TRUE(file->write("hello there").ok());
  ASSERT_TRUE(file->rewrite(6, "world", 5).ok());
  EXPECT_EQ(file->position(), 11u);
  ASSERT_TRUE(file->write("!").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read(dir / "out"), "hello world!");
}

TEST_F(AtomicFileTest, WithoutCommitTheOldFileStaysAndNothingIsLeft) {
  std::ofstream(dir / "out") << "old";
  {
    Expected<AtomicFile> file = AtomicFile::create(dir / "out");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new").ok());
  }
  EXPECT_EQ(read(dir / "out"), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(AtomicFileTest, AnOlderFileIsReplacedAndPermissionsAreAsAsked) {
  std::ofstream(dir / "out") << "a longer old file";
  Expected<AtomicFile> file = AtomicFile::create(dir / "out", 0750);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("new").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read(dir / "out"), "new");
  EXPECT_EQ(entries(), 1u);
  mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat info = {};
  ASSERT_EQ(::stat((dir / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0750 & ~mask);
}

TEST_F(AtomicFileTest, AKilledWriterLeavesNothing) {
  if (::close(::open(dir.c_str(), O_TMPFILE | O_WRONLY, 0600)) != 0)
    GTEST_SKIP() << "the file system has no files without a name";
  auto writeAndDie = [this] {
    Expected<AtomicFile> file = AtomicFile::create(dir / "out");
    if (file && file->write("half").ok())
      ::raise(SIGKILL);
  };
  EXPECT_EXIT(writeAndDie(), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(entries(), 0u);
}

TEST_F(AtomicFileTest, MissingFolderIsAnErrorThatNamesThePath) {
  std::string path = dir / "none" / "out";
  Expected<AtomicFile> file = AtomicFile::create(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.status().message(),
            path + ": cannot write: No such file or directory");
}

TEST_F(AtomicFileTest, AFolderIsNotOverwritten) {
  EXPECT_FALSE(AtomicFile::create(dir));
}

TEST_F(AtomicFileTest, SpaceIsReservedForWhatIsNotWrittenYet) {
  Expected<AtomicFile> file = AtomicFile::create(dir / "out");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->reserve(8).ok());
  AtomicFile moved = file.take();
  ASSERT_TRUE(moved.write("1").ok());
  bool canReserve = moved.hasSpace();
  ASSERT_TRUE(moved.write("2345678").ok());
  EXPECT_EQ(moved.hasSpace(), canReserve);
  ASSERT_TRUE(moved.write("9").ok());
  EXPECT_FALSE(moved.hasSpace());
  ASSERT_TRUE(moved.commit().ok());
  EXPECT_EQ(read(dir / "out"), "123456789");
}

TEST_F(AtomicFileTest, ReservedSpaceIsNotPartOfTheFile) {
  Expected<AtomicFile> file = AtomicFile::create(dir / "out");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->reserve(1 << 16).ok());
  ASSERT_TRUE(file->write("x").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(fs::file_size(dir / "out"), 1u);
}

TEST_F(AtomicFileTest, AFullDiskIsAnError) {
  // With a file size limit of zero, every write fails as on a full disk.
  Expected<AtomicFile> file = AtomicFile::create(dir / "out");
  ASSERT_TRUE(file);
  struct rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit none = {0, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &none);
  Status status = file->write("x");
  Status reserved = file->reserve(1);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(reserved.ok());
}

TEST_F(AtomicFileTest, DevicesAreWrittenAsTheyAre) {
  EXPECT_TRUE(writeFile("/dev/null", "gone").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(writeFile("/dev/full", "x").message(),
            "/dev/full: cannot write: No space left on device");
  Expected<AtomicFile> file = AtomicFile::create("/dev/null");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->reserve(1 << 20).ok());
  EXPECT_TRUE(file->write("x").ok());
  EXPECT_TRUE(file->sync().ok());
  EXPECT_TRUE(file->commit().ok());
}

} // namespace
