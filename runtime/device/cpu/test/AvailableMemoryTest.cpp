//===- AvailableMemoryTest.cpp - the amount of available memory -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/AvailableMemory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace sluice::cpu;

namespace fs = std::filesystem;

namespace {

class AvailableMemoryTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/sluice-memory-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name + "/";
    fs::create_directories(root + "proc");
    fs::create_directories(root + "sys/fs/cgroup");
  }
  void TearDown() override { fs::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    std::ofstream(root + path) << text;
  }
  void writeGroup(const std::string &max, const std::string &used) {
    write("sys/fs/cgroup/memory.max", max);
    write("sys/fs/cgroup/memory.current", used);
  }

  std::string root;
};

TEST_F(AvailableMemoryTest, IsWhatTheKernelSays) {
  EXPECT_FALSE(availableMemory(root));
  write("proc/meminfo", "MemTotal:  900 kB\nMemFree:  5 kB\n");
  EXPECT_FALSE(availableMemory(root));
  write("proc/meminfo", "MemTotal:  900 kB\nMemAvailable:  300 kB\n");
  EXPECT_EQ(availableMemory(root), 300u * 1024);
}

TEST_F(AvailableMemoryTest, NoMoreThanItsGroupHasLeft) {
  write("proc/meminfo", "MemAvailable:  300 kB\n");
  writeGroup("100000\n", "40000\n");
  EXPECT_EQ(availableMemory(root), 60000u);
  write("sys/fs/cgroup/memory.stat", "anon 10000\nfile 30000\n");
  EXPECT_EQ(availableMemory(root), 90000u);
  write("sys/fs/cgroup/memory.stat", "anon 10000\nfile 30000\nshmem 20000\n");
  EXPECT_EQ(availableMemory(root), 70000u);
  writeGroup("100000\n", "400000\n");
  EXPECT_EQ(availableMemory(root), 0u);
  writeGroup("max\n", "40000\n");
  EXPECT_EQ(availableMemory(root), 300u * 1024);
  writeGroup("100000000\n", "40000\n");
  EXPECT_EQ(availableMemory(root), 300u * 1024);
}

TEST_F(AvailableMemoryTest, ThisMachineHasSome) {
  EXPECT_GT(availableMemory().value_or(0), 1u << 20);
}

} // namespace
