//===- HeapMemoryTest.cpp - a memory reserve, and trimming the heap -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/HeapMemory.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sluice;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLUICE_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_HAS_SANITIZER 1
#endif
#endif

namespace {

/// Skips the tests if a sanitizer's allocator is used, which works differently.
class HeapMemory : public testing::Test {
protected:
  void SetUp() override {
#ifdef SLUICE_HAS_SANITIZER
    GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  }
};

int64_t residentBytes() {
  int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

} // namespace

TEST_F(HeapMemory, WhatNobodyUsesIsGivenBack) {
  constexpr size_t pieces = 100'000, pieceBytes = 1000;
  std::vector<std::unique_ptr<char[]>> kept;
  {
    std::vector<std::unique_ptr<char[]>> burst;
    for (size_t i = 0; i < pieces; ++i)
      burst.push_back(std::make_unique<char[]>(pieceBytes));
    // The allocator itself returns memory behind the last allocation.
    for (size_t i = 999; i < pieces; i += 1000)
      kept.push_back(std::move(burst[i]));
  }
  const int64_t before = residentBytes();
  EXPECT_FALSE(trimHeap(int64_t{1} << 40));
  EXPECT_GT(residentBytes(), before - int64_t{10} * 1000 * 1000);
  EXPECT_TRUE(trimHeap(int64_t{16} << 20));
  EXPECT_LT(residentBytes(), before - int64_t{70} * 1000 * 1000);
}

/// Runs in a process of its own, whose allocator it changes. Ends with status 0
/// if a thread that has freed all its memory has given it back.
[[noreturn]] static void endBehindABurst() {
  // Without a bound, such a block lets arenas keep as much.
  {
    std::vector<char> large(24 << 20, 1);
  }
  boundFreeHeap();
  bool gaveBack = false;
  std::thread([&] {
    const int64_t before = residentBytes();
    {
      std::vector<std::vector<char>> burst;
      for (int i = 0; i < 500; ++i)
        burst.emplace_back(100'000, 1);
    }
    gaveBack = residentBytes() < before + (int64_t{16} << 20);
  }).join();
  std::_Exit(gaveBack ? 0 : 1);
}

TEST_F(HeapMemory, ArenasKeepLittle) {
  EXPECT_EXIT(endBehindABurst(), testing::ExitedWithCode(0), "");
}

/// Runs in a process of its own, which runs out of memory.
[[noreturn]] static void endWithoutMemory() {
  keepMemoryReserve();
  rlimit limit = {size_t{1} << 30, size_t{1} << 30};
  setrlimit(RLIMIT_AS, &limit);
  std::vector<std::unique_ptr<char[]>> all;
  all.reserve(1 << 20);
  // All memory is allocated; then a failing allocation frees a piece.
  const std::new_handler handler = std::set_new_handler(nullptr);
  for (size_t bytes = size_t{1} << 28; bytes >= 1024;)
    if (auto *more = new (std::nothrow) char[bytes])
      all.emplace_back(more);
    else
      bytes /= 2;
  std::set_new_handler(handler);
  auto *first = new (std::nothrow) char[1 << 19];
  auto *tooLarge = new (std::nothrow) char[size_t{1} << 28];
  all.clear();
  keepMemoryReserve(); // the reserve is complete again
  _exit(first && !tooLarge ? 0 : 1);
}

TEST_F(HeapMemory, AReserveIsGivenUpWhereThereIsNoOther) {
  EXPECT_EXIT(endWithoutMemory(), testing::ExitedWithCode(0), "");
}
