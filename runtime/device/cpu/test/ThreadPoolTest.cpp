//===- ThreadPoolTest.cpp - threads that run together ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace sluice::cpu;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

namespace {

class ThreadPoolTest : public testing::TestWithParam<int64_t> {};

TEST_P(ThreadPoolTest, EveryThreadRunsOnce) {
  ThreadPool pool(GetParam());
  std::vector<int> calls(GetParam());
  auto body = [&](int64_t thread) { ++calls[thread]; };
  for (int run = 0; run < 1000; ++run)
    pool.run(body);
  for (int count : calls)
    EXPECT_EQ(count, 1000);
}

/// Each thread reads what its neighbour wrote before the barrier. It is plain
/// memory, so a sanitizer sees a missing order as a data race.
TEST_P(ThreadPoolTest, BarriersOrderMemory) {
  int64_t threads = GetParam();
  ThreadPool pool(threads);
  std::vector<int64_t> value(threads), sum(threads);
  constexpr int64_t rounds = 300;
  auto body = [&](int64_t thread) {
    for (int64_t round = 0; round < rounds; ++round) {
      value[thread] = round + thread;
      pool.barrier();
      sum[thread] += value[(thread + 1) % threads];
      pool.barrier();
    }
  };
  pool.run(body);
  pool.run(body);
  for (int64_t thread = 0; thread < threads; ++thread)
    EXPECT_EQ(sum[thread], 2 * (rounds * (rounds - 1) / 2 +
                                rounds * ((thread + 1) % threads)));
}

TEST_P(ThreadPoolTest, ThreadsWakeFromSleep) {
  ThreadPool pool(GetParam());
  std::vector<int> calls(GetParam());
  auto body = [&](int64_t thread) { ++calls[thread]; };
  for (int run = 0; run < 20; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(run % 4));
    pool.run(body);
  }
  for (int count : calls)
    EXPECT_EQ(count, 20);
}

TEST_P(ThreadPoolTest, ThreadsArePinnedAndTheCallerIsFreeAgain) {
  int64_t threads = GetParam();
  const ProcessorSet all = AffinityMask::ofThisThread().processors();
  std::vector<ProcessorSet> places, seen(static_cast<size_t>(threads));
  for (int64_t thread = 0; thread < threads; ++thread)
    places.push_back({all[static_cast<size_t>(thread) % all.size()]});
  ThreadPool pool(threads, places);
  EXPECT_TRUE(pool.isPinned());
  auto body = [&](int64_t thread) {
    seen[thread] = AffinityMask::ofThisThread().processors();
  };
  for (int run = 0; run < 3; ++run) {
    pool.run(body);
    EXPECT_EQ(seen, places);
    EXPECT_EQ(AffinityMask::ofThisThread().processors(), all);
  }
}

TEST_P(ThreadPoolTest, WithoutPlacesThreadsRunAnywhere) {
  const ProcessorSet all = AffinityMask::ofThisThread().processors();
  ThreadPool pool(GetParam());
  EXPECT_FALSE(pool.isPinned());
  std::vector<ProcessorSet> seen(static_cast<size_t>(GetParam()));
  auto body = [&](int64_t thread) {
    seen[thread] = AffinityMask::ofThisThread().processors();
  };
  pool.run(body);
  for (const ProcessorSet &set : seen)
    EXPECT_EQ(set, all);
}

INSTANTIATE_TEST_SUITE_P(Counts, ThreadPoolTest, testing::Values(1, 2, 3, 8));

/// Runs in a process of its own. With hardly any address space left, the system
/// refuses stacks for that many threads.
TEST(ThreadPoolLimitTest, MakesDoWithTheThreadsThatTheSystemGives) {
#if SANITIZED
  GTEST_SKIP() << "a sanitizer reserves the address space for itself";
#endif
  auto runAll = [] {
    struct rlimit limit = {size_t{1} << 28, size_t{1} << 28};
    ::setrlimit(RLIMIT_AS, &limit);
    ThreadPool pool(1000);
    std::vector<char> ran(static_cast<size_t>(pool.threads()));
    auto body = [&](int64_t thread) {
      pool.barrier();
      ran[thread] = 1;
    };
    pool.run(body);
    bool all = std::find(ran.begin(), ran.end(), 0) == ran.end();
    std::_Exit(all && pool.threads() < 1000 ? 0 : 1);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runAll(), testing::ExitedWithCode(0), "");
}

TEST(ThreadPoolIdleTest, AnIdlePoolUsesNoProcessor) {
  ThreadPool pool(4);
  auto body = [](int64_t) {};
  pool.run(body);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.03);
}

} // namespace
