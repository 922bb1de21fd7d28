//===- WorkPoolTest.cpp - the threads that work on requests ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/WorkPool.h"

#include "runtime/http/test/TestServer.h"
#include "runtime/pipeline/Clock.h"

#include <functional>
#include <gtest/gtest.h>

using namespace sluice::serve;
using sluice::http::test::eventually;
using sluice::http::test::Signal;

namespace {

class Job final : public WorkItem {
public:
  explicit Job(
      std::function<void()> onBegin, std::function<void()> onProceed = [] {},
      bool isLong = false)
      : onBegin(std::move(onBegin)), onProceed(std::move(onProceed)),
        isLong(isLong) {}
  bool begin(Pace pace) override {
    if (isLong && pace == Pace::Quick)
      return false;
    onBegin();
    return true;
  }
  void expire() override { expired.raise(); }
  void refuse() override { refused.raise(); }
  void proceed() override { onProceed(); }

  Signal expired, refused;

private:
  std::function<void()> onBegin, onProceed;
  bool isLong;
};

constexpr TenantId someone = 1, other = 2;

// In each test, what jobs refer to is declared before the pool, and outlives
// it.
std::shared_ptr<Job> job(std::function<void()> begin) {
  return std::make_shared<Job>(std::move(begin));
}

std::shared_ptr<Job> longJob(std::function<void()> begin) {
  return std::make_shared<Job>(std::move(begin), [] {}, /*isLong=*/true);
}

/// Adds a job that has begun and lasts until `go`.
void beginOne(WorkPool &pool, Signal &begun, Signal &go) {
  EXPECT_TRUE(pool.begin(job([&] {
                           begun.raise();
                           go.wait();
                         }),
                         someone));
  ASSERT_TRUE(begun.wait());
}

/// Adds three long jobs that last until `go`; the first one has begun.
void beginThreeLong(WorkPool &pool, Signal &begun, Signal &go) {
  for (int i = 0; i < 3; ++i)
    pool.begin(longJob([&] {
                 begun.raise();
                 go.wait();
               }),
               someone);
  ASSERT_TRUE(begun.wait());
}

} // namespace

TEST(WorkPool, BeginsInOrderAndRefusesWhatIsTooMuch) {
  Signal started, go, done;
  std::string order;
  WorkPool pool(2);
  ASSERT_TRUE(pool.start({1, 1}).ok());
  beginOne(pool, started, go);
  for (char name : {'a', 'b'})
    EXPECT_TRUE(pool.begin(job([&, name] {
                             order += name;
                             done.raise();
                           }),
                           someone));
  EXPECT_EQ(pool.waiting(), 2);
  EXPECT_FALSE(pool.begin(job([&] { order += 'c'; }), someone));
  go.raise();
  ASSERT_TRUE(done.wait(2));
  EXPECT_EQ(order, "ab");
}

/// However long begins take, a thread is free to proceed with requests.
TEST(WorkPool, OneThreadIsKeptForWhatProceeds) {
  Signal begun, go, proceeded;
  WorkPool pool(10);
  ASSERT_TRUE(pool.start({2, 1}).ok());
  for (int i = 0; i < 3; ++i)
    pool.begin(job([&] {
                 begun.raise();
                 go.wait();
               }),
               someone);
  ASSERT_TRUE(begun.wait());
  pool.proceed(std::make_shared<Job>([] {}, [&] { proceeded.raise(); }));
  EXPECT_TRUE(proceeded.wait());
  EXPECT_EQ(begun.count(), 1);
  go.raise();
  EXPECT_TRUE(begun.wait(3));
}

TEST(WorkPool, TellsWhetherLongBeginsMove) {
  Signal begun, go;
  WorkPool pool(10);
  ASSERT_TRUE(pool.start({2, 1}).ok());
  EXPECT_FALSE(pool.longMovement().hasWork);
  pool.begin(longJob([&] {
               begun.raise();
               go.wait();
             }),
             someone);
  ASSERT_TRUE(begun.wait());
  const Movement stuck = pool.longMovement();
  EXPECT_TRUE(stuck.hasWork);
  EXPECT_EQ(stuck.count, 0);
  EXPECT_TRUE(eventually([&] { return !pool.beginMovement().hasWork; }));
  go.raise();
  EXPECT_TRUE(eventually([&] { return !pool.longMovement().hasWork; }));
  EXPECT_EQ(pool.longMovement().count, 1);
}

TEST(WorkPool, TellsWhetherItMoves) {
  Signal begun, go;
  WorkPool pool(10);
  ASSERT_TRUE(pool.start({2, 1}).ok());
  EXPECT_FALSE(pool.beginMovement().hasWork);
  beginOne(pool, begun, go);
  const Movement stuck = pool.beginMovement();
  EXPECT_TRUE(stuck.hasWork);
  // proceed() does not count as progress of begins.
  Signal proceeded;
  pool.proceed(std::make_shared<Job>([] {}, [&] { proceeded.raise(); }));
  ASSERT_TRUE(proceeded.wait());
  EXPECT_TRUE(eventually([&] { return pool.proceedMovement().count == 1; }));
  EXPECT_FALSE(pool.proceedMovement().hasWork);
  EXPECT_EQ(pool.beginMovement().count, stuck.count);
  go.raise();
  EXPECT_TRUE(eventually([&] { return !pool.beginMovement().hasWork; }));
  EXPECT_GT(pool.beginMovement().count, stuck.count);
}

/// The thread that is kept free expires the item while the other is at work.
TEST(WorkPool, WhatHasWaitedTooLongDoesNotBegin) {
  Signal begun, go, last;
  auto late = job([] { FAIL() << "expired"; });
  WorkPool pool(10);
  ASSERT_TRUE(pool.start({2, 1}).ok());
  beginOne(pool, begun, go);
  auto after = [](int milliseconds) {
    return sluice::pipeline::now() + std::chrono::milliseconds(milliseconds);
  };
  pool.begin(late, someone, after(10));
  pool.begin(job([&] { last.raise(); }), someone, after(60000));
  EXPECT_TRUE(late->expired.wait());
  EXPECT_EQ(pool.waiting(), 1);
  go.raise();
  EXPECT_TRUE(last.wait());
}

TEST(WorkPool, WhatIsWithdrawnIsDroppedAndLeavesItsPlace) {
  Signal started, go, done;
  WorkPool pool(1);
  ASSERT_TRUE(pool.start({1, 1}).ok());
  beginOne(pool, started, go);
  auto dropped = job([&] { FAIL() << "withdrawn"; });
  EXPECT_TRUE(pool.begin(dropped, someone));
  pool.withdraw(*dropped);
  EXPECT_EQ(dropped.use_count(), 1);
  pool.withdraw(*dropped);
  EXPECT_TRUE(pool.begin(job([&] { done.raise(); }), someone));
  go.raise();
  EXPECT_TRUE(done.wait());
}

TEST(WorkPool, StopWaitsForWhatRunsAndDropsWhatWaits) {
  Signal started;
  bool isDone = false;
  WorkPool pool(4);
  ASSERT_TRUE(pool.start({1, 1}).ok());
  pool.begin(job([&] {
               started.raise();
               std::this_thread::sleep_for(std::chrono::milliseconds(20));
               isDone = true;
             }),
             someone);
  ASSERT_TRUE(started.wait());
  auto waiting = job([] { FAIL(); });
  pool.begin(waiting, someone);
  pool.stop();
  EXPECT_TRUE(isDone);
  EXPECT_EQ(waiting.use_count(), 1);
  EXPECT_FALSE(pool.begin(waiting, someone));
  pool.proceed(waiting);
  EXPECT_EQ(waiting.use_count(), 1);
}

/// A begin that takes long is done by the slow threads; later ones do not wait
/// for it.
TEST(WorkPool, WhatTakesLongHoldsUpNobody) {
  Signal begun, go, quick;
  WorkPool pool(10);
  ASSERT_TRUE(pool.start({1, 1}).ok());
  beginThreeLong(pool, begun, go);
  pool.begin(job([&] { quick.raise(); }), someone);
  EXPECT_TRUE(quick.wait());
  EXPECT_EQ(begun.count(), 1);
  EXPECT_EQ(pool.waiting(), 2);
  go.raise();
  EXPECT_TRUE(begun.wait(3));
}

/// One tenant gets only one of two slow threads.
TEST(WorkPool, WhatTakesLongLeavesAThreadToOthers) {
  Signal begun, go, others;
  WorkPool pool(10);
  ASSERT_TRUE(pool.start({1, 2}).ok());
  beginThreeLong(pool, begun, go);
  pool.begin(longJob([&] { others.raise(); }), other);
  EXPECT_TRUE(others.wait());
  EXPECT_EQ(begun.count(), 1);
  go.raise();
  EXPECT_TRUE(begun.wait(3));
}

/// The tenant that fills the queue gives up a place in it.
TEST(WorkPool, AFullQueueHasRoomForOtherTenants) {
  Signal started, go, done;
  WorkPool pool(3);
  ASSERT_TRUE(pool.start({1, 1}).ok());
  beginOne(pool, started, go);
  std::vector<std::shared_ptr<Job>> many;
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(
        pool.begin(many.emplace_back(job([&] { done.raise(); })), someone));
  EXPECT_FALSE(pool.begin(job([] { FAIL(); }), someone));
  EXPECT_TRUE(pool.begin(job([&] { done.raise(); }), other));
  EXPECT_EQ(many[2]->refused.count(), 1);
  EXPECT_FALSE(pool.begin(job([] { FAIL(); }), other));
  go.raise();
  EXPECT_TRUE(done.wait(3));
  EXPECT_EQ(many[0]->refused.count() + many[1]->refused.count(), 0);
}
