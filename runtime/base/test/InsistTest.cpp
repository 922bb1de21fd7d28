//===- InsistTest.cpp - tests of retrying when memory runs out ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Insist.h"

#include "gtest/gtest.h"

#include <atomic>
#include <vector>

using namespace sluice;

TEST(InsistTest, TriesUntilThereIsMemory) {
  int tries = 0;
  insist([&] {
    if (++tries < 4)
      throw std::bad_alloc();
  });
  EXPECT_EQ(tries, 4);
}

TEST(InsistTest, OthersTakeTheMutexBetweenTwoTries) {
  std::mutex mutex;
  std::atomic<bool> wasTaken = false;
  std::unique_lock lock(mutex);
  std::thread other([&] {
    std::lock_guard its(mutex);
    wasTaken = true;
  });
  insist(lock, [&] {
    EXPECT_TRUE(lock.owns_lock());
    if (!wasTaken)
      throw std::bad_alloc();
  });
  EXPECT_TRUE(lock.owns_lock());
  lock.unlock();
  other.join();
}

TEST(InsistTest, KeepsTheMutexWhileThereIsMemory) {
  std::mutex mutex;
  std::vector<int> seen;
  std::unique_lock lock(mutex);
  std::thread other([&] {
    std::lock_guard its(mutex);
    seen.push_back(2);
  });
  insist(lock, [&] { seen.push_back(1); });
  lock.unlock();
  other.join();
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
}

TEST(InsistDeathTest, EndsTheProcessThatIsStuck) {
  EXPECT_EXIT(insist([] { throw std::bad_alloc(); }),
              testing::ExitedWithCode(1), "no memory for two seconds");
}
