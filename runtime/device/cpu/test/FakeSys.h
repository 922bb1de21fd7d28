//===- FakeSys.h - a made-up /sys for tests -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_TEST_FAKESYS_H
#define SLUICE_RUNTIME_DEVICE_CPU_TEST_FAKESYS_H

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace sluice::cpu {

/// A folder that stands for /sys during a test.
class FakeSys {
public:
  FakeSys()
      : folder(
            std::filesystem::path(testing::TempDir()) /
            ("sys." + std::to_string(::getpid()) + "." +
             testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder / "fs/cgroup");
  }
  ~FakeSys() { std::filesystem::remove_all(folder); }

  std::string root() const { return folder; }

  void addProcessor(int processor, int package, int core, int node = 0) const {
    std::filesystem::path at =
        folder / ("devices/system/cpu/cpu" + std::to_string(processor));
    std::filesystem::create_directories(at / "topology");
    std::filesystem::create_directories(at / ("node" + std::to_string(node)));
    std::ofstream(at / "topology/physical_package_id") << package << "\n";
    std::ofstream(at / "topology/core_id") << core << "\n";
  }

  void setQuota(const std::string &text) const {
    std::ofstream(folder / "fs/cgroup/cpu.max") << text << "\n";
  }

private:
  std::filesystem::path folder;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_TEST_FAKESYS_H
