//===- InprocTest.cpp - the conformance suite with threads ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/EmulatedLinks.h"
#include "runtime/comm/inproc/InprocCommunicator.h"
#include "runtime/comm/test/CollectingReceiver.h"
#include "runtime/comm/test/Conformance.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using testing::HasSubstr;

namespace {

std::vector<std::unique_ptr<Communicator>> makeJob(int64_t size,
                                                   bool emulated) {
  auto job = makeInprocJob(size);
  EmulatedLink link{std::chrono::microseconds(200), 1e9};
  if (emulated)
    for (auto &each : job)
      each = emulateLinks(
          std::move(each),
          std::vector<EmulatedLink>(static_cast<size_t>(size * size), link));
  return job;
}

/// Runs one thread for each rank. Each rank's end is destroyed when its part is
/// done.
std::vector<Status> runAll(std::vector<std::unique_ptr<Communicator>> job,
                           Status (*run)(Communicator &)) {
  std::vector<Status> results(job.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < job.size(); ++rank)
    threads.emplace_back([&, rank] {
      results[rank] = run(*job[rank]);
      job[rank].reset();
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

class InprocConformance
    : public testing::TestWithParam<std::tuple<ConformanceCase, bool>> {};

TEST_P(InprocConformance, Holds) {
  auto [which, emulated] = GetParam();
  std::vector<Status> results =
      runAll(makeJob(which.ranks, emulated), which.run);
  for (size_t rank = 0; rank < results.size(); ++rank)
    EXPECT_TRUE(results[rank].ok())
        << "rank " << rank << ": " << results[rank].message();
}

std::string caseName(std::string name, bool emulated) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name + (emulated ? "_emulated" : "");
}

INSTANTIATE_TEST_SUITE_P(
    , InprocConformance,
    testing::Combine(testing::ValuesIn(conformanceCases().begin(),
                                       conformanceCases().end()),
                     testing::Bool()),
    [](const auto &info) {
      return caseName(std::get<0>(info.param).name, std::get<1>(info.param));
    });

class InprocFailure
    : public testing::TestWithParam<std::tuple<FailureCase, bool>> {};

TEST_P(InprocFailure, EndsAll) {
  auto [which, emulated] = GetParam();
  std::vector<Status> results =
      runAll(makeJob(which.ranks, emulated), which.run);
  for (size_t rank = 0; rank < results.size(); ++rank)
    if (rank != 1)
      EXPECT_THAT(results[rank].message(), HasSubstr(which.reason))
          << "rank " << rank;
}

/// The cases in which rank 1 is neither stopped nor killed, which a thread
/// cannot be.
std::vector<FailureCase> casesForThreads() {
  std::vector<FailureCase> cases(failureCases().begin(), failureCases().end());
  std::erase_if(cases, [](const FailureCase &each) { return !each.inproc; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, InprocFailure,
                         testing::Combine(testing::ValuesIn(casesForThreads()),
                                          testing::Bool()),
                         [](const auto &info) {
                           return caseName(std::get<0>(info.param).name,
                                           std::get<1>(info.param));
                         });

TEST(InprocCommunicator, RefusesWhatIsOverTheLimits) {
  CommunicatorOptions options;
  options.messageBytes = 100;
  options.controlLimit = 2;
  auto job = makeInprocJob(2, options);
  // Rank 1 has not started, so no message is taken.
  EXPECT_TRUE(job[0]->send(1, Lane::Data, Bytes(100)).ok());
  EXPECT_THAT(job[0]->send(1, Lane::Data, Bytes(101)).message(),
              HasSubstr("a message of 101 bytes, the limit is 100"));
  EXPECT_TRUE(job[0]->send(1, Lane::Control, Bytes(1)).ok());
  EXPECT_TRUE(job[0]->send(1, Lane::Control, Bytes(1)).ok());
  EXPECT_THAT(job[0]->send(1, Lane::Control, Bytes(1)).message(),
              HasSubstr("rank 1 does not take control messages: 2"));
}

TEST(InprocCommunicator, MessagesAreNotCopied) {
  auto job = makeInprocJob(2);
  const uint8_t *data = nullptr;
  std::atomic<const uint8_t *> received{nullptr};
  job[1]->start({[](int64_t) { return true; },
                 [&](Message message) { received = message.bytes.data(); },
                 [](const Status &) {}});
  Bytes bytes(1000);
  data = bytes.data();
  ASSERT_TRUE(job[0]->send(1, Lane::Data, std::move(bytes)).ok());
  while (!received)
    std::this_thread::yield();
  EXPECT_EQ(received, data);
}

TEST(BufferPool, GivesRoomBack) {
  BufferPool pool;
  Bytes buffer(1000, 1);
  const uint8_t *data = buffer.data();
  pool.give(std::move(buffer));
  Bytes again = pool.take();
  EXPECT_TRUE(again.empty());
  EXPECT_EQ(again.data(), data);
  EXPECT_GE(again.capacity(), 1000u);
  EXPECT_EQ(pool.take().capacity(), 0u);
  pool.give(Bytes(BufferPool::bufferBytesLimit + 1));
  EXPECT_EQ(pool.take().capacity(), 0u);
}

} // namespace
