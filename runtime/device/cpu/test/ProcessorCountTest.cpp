//===- ProcessorCountTest.cpp - default thread counts ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/ProcessorCount.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

using namespace sluice::cpu;
namespace fs = std::filesystem;

namespace {

class ProcessorCountTest : public testing::Test {
protected:
  void SetUp() override {
    root = fs::path(testing::TempDir()) /
           ("sys." + std::to_string(::getpid()) + "." +
            testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root / "fs/cgroup");
    ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    allowed = CPU_COUNT(&mask);
  }
  void TearDown() override { fs::remove_all(root); }

  void writeTopology(int cpu, int package, int core) {
    fs::path dir =
        root / ("devices/system/cpu/cpu" + std::to_string(cpu) + "/topology");
    fs::create_directories(dir);
    std::ofstream(dir / "physical_package_id") << package << "\n";
    std::ofstream(dir / "core_id") << core << "\n";
  }

  fs::path root;
  cpu_set_t mask;
  int64_t allowed = 0;
};

TEST_F(ProcessorCountTest, WithoutTopologyEveryProcessorCounts) {
  EXPECT_EQ(defaultThreadCount(root), allowed);
}

TEST_F(ProcessorCountTest, HyperthreadsOfOneCoreCountOnce) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask))
      writeTopology(cpu, 0, 7);
  EXPECT_EQ(defaultThreadCount(root), 1);
}

TEST_F(ProcessorCountTest, TheQuotaIsALimit) {
  std::ofstream(root / "fs/cgroup/cpu.max") << "150000 100000\n";
  EXPECT_EQ(defaultThreadCount(root), std::min<int64_t>(allowed, 2));
  std::ofstream(root / "fs/cgroup/cpu.max") << "5000 100000\n";
  EXPECT_EQ(defaultThreadCount(root), 1);
  std::ofstream(root / "fs/cgroup/cpu.max") << "max 100000\n";
  EXPECT_EQ(defaultThreadCount(root), allowed);
}

TEST_F(ProcessorCountTest, ProcessesShareWhatTheyAreNotBoundTo) {
  int64_t online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (allowed == online) {
    EXPECT_EQ(threadCountOfSharer(1, root), online);
    EXPECT_EQ(threadCountOfSharer(2, root), std::max<int64_t>(online / 2, 1));
    EXPECT_EQ(threadCountOfSharer(online + 1, root), 1);
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &mask))
      CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(threadCountOfSharer(3, root), 1);
  EXPECT_EQ(::sched_setaffinity(0, sizeof mask, &mask), 0);
}

} // namespace
