//===- ReadFileTest.cpp - files and pipes, to their end -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ReadFile.h"

#include "runtime/base/InputFiles.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace sluice;

namespace {

std::string makeFile(const std::string &name, const std::string &text) {
  std::string path = testing::TempDir() + "/" + name;
  ::unlink(path.c_str());
  std::ofstream(path) << text;
  return path;
}

TEST(ReadFileTest, ReadsAFileAndItsMode) {
  const std::string path = makeFile("read-file", "two\nlines\n");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  mode_t mode = 0;
  Expected<std::string> text = readFile(path, 100, &mode);
  ASSERT_TRUE(text) << text.status().message();
  EXPECT_EQ(*text, "two\nlines\n");
  EXPECT_TRUE(S_ISREG(mode));
  EXPECT_EQ(mode & 0777, 0600u);
  EXPECT_FALSE(checkIsNoInput(path).ok()) << "nobody may replace it now";
}

TEST(ReadFileTest, ReadsAPipeThatComesInParts) {
  const std::string path = testing::TempDir() + "/read-pipe";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string half(100'000, 'x');
  std::thread writer([&] {
    std::ofstream pipe(path);
    pipe << half << std::flush << half;
  });
  Expected<std::string> text = readFile(path, 1'000'000);
  writer.join();
  ASSERT_TRUE(text) << text.status().message();
  EXPECT_EQ(*text, half + half);
}

TEST(ReadFileTest, SaysWhyItCannot) {
  EXPECT_EQ(readFile("/no/such/file", 100).status().message(),
            "cannot open: No such file or directory");
  EXPECT_EQ(readFile(testing::TempDir(), 100).status().message(),
            "cannot read: Is a directory");
}

TEST(ReadFileTest, TakesNoMoreThanTheLimit) {
  const std::string path = makeFile("read-limit", std::string(100, 'x'));
  EXPECT_TRUE(readFile(path, 100));
  EXPECT_EQ(readFile(path, 99).status().message(), "has more than 99 bytes");
  // A file that never ends.
  EXPECT_EQ(readFile("/dev/zero", 1 << 20).status().message(),
            "has more than 1048576 bytes");
}

} // namespace
