//===- EmulatedLinksTest.cpp - tests of emulated links --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/EmulatedLinks.h"
#include "runtime/comm/inproc/InprocCommunicator.h"
#include "runtime/comm/test/CollectingReceiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

/// Two ranks between which all links are `link`.
struct EmulatedPair {
  explicit EmulatedPair(EmulatedLink link) {
    job = makeInprocJob(2);
    for (auto &each : job)
      each = emulateLinks(std::move(each), std::vector<EmulatedLink>(4, link));
    sender.emplace(*job[0]);
    receiver.emplace(*job[1], [this](const Message &message) {
      std::lock_guard lock(mutex);
      arrivals.push_back({numberOf(message.bytes), Clock::now()});
    });
  }
  ~EmulatedPair() { job.clear(); }

  struct Arrival {
    uint64_t number;
    Clock::time_point at;
  };

  std::vector<std::unique_ptr<Communicator>> job;
  std::mutex mutex;
  std::vector<Arrival> arrivals;
  std::optional<CollectingReceiver> sender, receiver;
};

TEST(EmulatedLinks, NothingComesBeforeItsTime) {
  EmulatedPair pair({50ms, 1e6});
  auto sent = Clock::now();
  // Each message takes 20 ms on the link, after the one before it; then comes
  // the latency.
  for (uint64_t i = 0; i < 3; ++i)
    ASSERT_TRUE(
        pair.job[0]->send(1, Lane::Data, makeMessage(i, 20000 - 48)).ok());
  ASSERT_TRUE(pair.receiver->waitForCount(3));
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pair.arrivals[i].number, i);
    EXPECT_GE(pair.arrivals[i].at - sent, 50ms + (i + 1) * 20ms);
  }
}

TEST(EmulatedLinks, MessagesCountAsLongAsTheSenderSays) {
  EmulatedPair pair({0ms, 1e6});
  auto sent = Clock::now();
  ASSERT_TRUE(pair.job[0]->send(1, Lane::Data, makeMessage(0), 100000).ok());
  ASSERT_TRUE(pair.receiver->waitForCount(1));
  EXPECT_GE(pair.arrivals[0].at - sent, 100ms);
}

TEST(EmulatedLinks, ControlDoesNotQueueBehindData) {
  EmulatedPair pair({10ms, 1e6});
  auto sent = Clock::now();
  ASSERT_TRUE(pair.job[0]->send(1, Lane::Data, makeMessage(0), 500000).ok());
  ASSERT_TRUE(pair.job[0]->send(1, Lane::Control, makeMessage(1)).ok());
  ASSERT_TRUE(pair.receiver->waitForCount(2));
  EXPECT_EQ(pair.arrivals[0].number, 1u);
  EXPECT_GE(pair.arrivals[0].at - sent, 10ms);
  EXPECT_EQ(pair.arrivals[1].number, 0u);
  EXPECT_GE(pair.arrivals[1].at - sent, 510ms);
}

TEST(EmulatedLinks, FinishWaitsForTheLastMessage) {
  EmulatedPair pair({200ms, 1e9});
  ASSERT_TRUE(pair.job[0]->send(1, Lane::Data, makeMessage(7)).ok());
  Status other;
  std::thread thread([&] { other = pair.job[0]->finish(10s); });
  Status status = pair.job[1]->finish(10s);
  thread.join();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(other.ok()) << other.message();
  ASSERT_EQ(pair.arrivals.size(), 1u);
}

TEST(EmulatedLinks, RefusesWhatIsNoFrame) {
  EmulatedPair pair({0ms, 1e9});
  EXPECT_THAT(pair.job[0]->send(1, Lane::Data, Bytes(39)).message(),
              testing::HasSubstr("no frame (39 bytes)"));
  EXPECT_FALSE(pair.job[0]->send(2, Lane::Data, makeMessage(0)).ok());
}

} // namespace
