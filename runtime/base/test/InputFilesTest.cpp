//===- InputFilesTest.cpp - inputs are not overwritten --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/InputFiles.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/MappedFile.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <thread>
#include <unistd.h>

using namespace sluice;
namespace fs = std::filesystem;

namespace {

class InputFilesTest : public testing::Test {
protected:
  InputFilesTest()
      : folder(fs::path(testing::TempDir()) /
               ("input-files-" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
  }
  ~InputFilesTest() override { fs::remove_all(folder); }

  std::string make(const char *name) {
    std::string path = folder / name;
    std::ofstream(path) << "precious";
    return path;
  }
  static std::string contents(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string refusal(const std::string &path) {
    return path + ": cannot write: it is one of the files that are read";
  }

  fs::path folder;
};

} // namespace

TEST_F(InputFilesTest, WhatIsReadIsNotReplaced) {
  std::string path = make("model");
  ASSERT_TRUE(MappedFile::open(path));
  EXPECT_EQ(writeFile(path, "other").message(), refusal(path));
  EXPECT_EQ(contents(path), "precious");
}

TEST_F(InputFilesTest, NorByAnotherName) {
  std::string path = make("model"), hard = folder / "hard",
              soft = folder / "soft";
  fs::create_hard_link(path, hard);
  fs::create_symlink(path, soft);
  noteInput(path);
  EXPECT_EQ(writeFile(hard, "other").message(), refusal(hard));
  EXPECT_EQ(writeFile(soft, "other").message(), refusal(soft));
  EXPECT_EQ(contents(path), "precious");
}

TEST_F(InputFilesTest, NorWhatIsReadWhileTheOtherIsMade) {
  std::string path = make("model");
  Expected<AtomicFile> file = AtomicFile::create(path);
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_TRUE(MappedFile::open(path));
  ASSERT_TRUE(file->write("other").ok());
  EXPECT_EQ(file->commit().message(), refusal(path));
  EXPECT_EQ(contents(path), "precious");
}

TEST_F(InputFilesTest, CachesAndOthersFilesAreReplaced) {
  std::string path = make("cache"), other = make("other");
  ASSERT_TRUE(MappedFile::open(path, FileUse::Replaceable));
  noteInput(folder / "missing");
  for (const std::string &each : {path, other, std::string(folder / "new")}) {
    EXPECT_TRUE(writeFile(each, "replaced").ok());
    EXPECT_EQ(contents(each), "replaced");
  }
}

TEST_F(InputFilesTest, NoPathIsNoFile) {
  noteInput("");
  EXPECT_TRUE(checkIsNoInput("").ok());
  EXPECT_TRUE(checkIsNoInput(".").ok());
}

TEST_F(InputFilesTest, AFileThatHasGoneIsForgotten) {
  std::string path = make("model");
  noteInput(path);
  fs::remove(path);
  // The next file may get the inode of the deleted one, but another time of
  // creation, which file systems store with a resolution of some milliseconds.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  make("model");
  EXPECT_TRUE(writeFile(path, "replaced").ok());
}
