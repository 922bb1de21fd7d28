//===- MappingFaultsTest.cpp - error messages for failing mappings --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests that a process that touches a missing part of a mapped file ends with
// status 1 and a line that names the file, on every thread. Other bus errors go
// to the previous handler.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/MappingFaults.h"
#include "runtime/base/MappedFile.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sluice;
namespace fs = std::filesystem;

namespace {

class MappingFaultsTest : public testing::Test {
protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    folder =
        fs::path(testing::TempDir()) /
        ("faults." +
         std::string(
             testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string makeFile(const std::string &name) const {
    std::string path = folder / name;
    std::ofstream(path) << std::string(5 * 4096, 'x');
    return path;
  }

  fs::path folder;
};

/// Reads the last byte of a file that has been truncated meanwhile.
void readWhatIsGone(const MappedFile &file) {
  fs::resize_file(file.path(), 4096);
  const volatile uint8_t *last = &file.bytes().back();
  (void)*last;
}

void openAndRead(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  readWhatIsGone(*file);
}

using MappingFaultsDeathTest = MappingFaultsTest;

TEST_F(MappingFaultsDeathTest, AFileThatIsCutShortIsNamed) {
  std::string path = makeFile("model");
  EXPECT_EXIT(openAndRead(path), testing::ExitedWithCode(1),
              "error: .*/model: has been cut short while it was in use\n$");
}

TEST_F(MappingFaultsDeathTest, AFileThatIsGoneTooIsNamed) {
  std::string path = makeFile("model");
  auto loseAndRead = [&] {
    Expected<MappedFile> file = MappedFile::open(path);
    fs::resize_file(path, 0);
    fs::remove(path);
    const volatile uint8_t *last = &file->bytes().back();
    (void)*last;
  };
  EXPECT_EXIT(loseAndRead(), testing::ExitedWithCode(1),
              "error: .*/model: can no longer be read");
}

TEST_F(MappingFaultsDeathTest, OneOfManyInAnyThread) {
  std::vector<std::string> paths;
  for (int i = 0; i < 40; ++i)
    paths.push_back(makeFile("shard" + std::to_string(i)));
  auto read = [&] {
    std::vector<MappedFile> files;
    for (const std::string &path : paths)
      files.push_back(MappedFile::open(path).take());
    std::thread([&] { readWhatIsGone(files[17]); }).join();
  };
  EXPECT_EXIT(read(), testing::ExitedWithCode(1), "/shard17: has been cut");
}

TEST_F(MappingFaultsDeathTest, ControlCharactersStayOnTheirLine) {
  std::string path = makeFile("two\nlines");
  EXPECT_EXIT(openAndRead(path), testing::ExitedWithCode(1),
              "/two.lines: has been cut short while it was in use\n$");
  EXPECT_EXIT(openAndRead(makeFile("a\x1b[1m")), testing::ExitedWithCode(1),
              "/a\\?\\[1m: has been cut short");
}

TEST_F(MappingFaultsDeathTest, AnotherFilesFaultEndsAsItDidBefore) {
  std::string path = makeFile("ours"), other = makeFile("other");
  auto read = [&] {
    std::signal(SIGBUS, SIG_DFL); // instead of a sanitizer's handler
    Expected<MappedFile> file = MappedFile::open(path);
    Expected<MappedFile> forgotten = MappedFile::open(other);
    forgetMapping(forgotten->bytes().data());
    readWhatIsGone(*forgotten);
  };
  EXPECT_EXIT(read(), testing::KilledBySignal(SIGBUS), "^$");
}

void onBusError(int) {
  (void)!::write(STDERR_FILENO, "theirs\n", 7);
  ::_exit(7);
}

TEST_F(MappingFaultsDeathTest, AnotherHandlerGetsWhatIsNotOurs) {
  std::string path = makeFile("ours"), other = makeFile("other");
  auto read = [&](bool ours) {
    std::signal(SIGBUS, onBusError);
    Expected<MappedFile> file = MappedFile::open(path);
    Expected<MappedFile> forgotten = MappedFile::open(other);
    forgetMapping(forgotten->bytes().data());
    readWhatIsGone(ours ? *file : *forgotten);
  };
  EXPECT_EXIT(read(false), testing::ExitedWithCode(7), "^theirs\n$");
  EXPECT_EXIT(read(true), testing::ExitedWithCode(1), "/ours: has been cut");
}

TEST_F(MappingFaultsDeathTest, ASignalThatIsSentIsNoFault) {
  std::string path = makeFile("ours");
  auto send = [&] {
    std::signal(SIGBUS, SIG_DFL); // instead of a sanitizer's handler
    Expected<MappedFile> file = MappedFile::open(path);
    ::raise(SIGBUS);
  };
  EXPECT_EXIT(send(), testing::KilledBySignal(SIGBUS), "^$");
}

/// Moving a mapping keeps its note, and destroying it removes the note.
TEST_F(MappingFaultsDeathTest, NotesFollowTheMapping) {
  std::string path = makeFile("moved");
  auto read = [&] {
    Expected<MappedFile> file = MappedFile::open(path);
    MappedFile moved = file.take();
    {
      Expected<MappedFile> gone = MappedFile::open(path);
    }
    MappedFile again = std::move(moved);
    readWhatIsGone(again);
  };
  EXPECT_EXIT(read(), testing::ExitedWithCode(1), "/moved: has been cut short");
}

} // namespace
