//===- CollectivesTest.cpp - tests of collectives -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Collectives.h"

#include "runtime/comm/inproc/InprocCommunicator.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <span>
#include <thread>

using namespace sluice;
using namespace sluice::comm;
using testing::HasSubstr;

namespace {

/// Runs body(collectives) on a thread for each member. The members are the last
/// ranks, in falling order.
template <typename Body>
std::vector<Status> runGroup(int64_t members, Body body) {
  auto job = makeInprocJob(members + 1);
  std::vector<int64_t> ranks;
  for (int64_t member = 0; member < members; ++member)
    ranks.push_back(members - member);
  std::vector<Status> results(ranks.size());
  std::vector<std::thread> threads;
  for (int64_t member = 0; member < members; ++member)
    threads.emplace_back([&, member] {
      std::unique_ptr<Communicator> &comm = job[size_t(ranks[size_t(member)])];
      RankGroup group(*comm, ranks);
      Collectives collectives(group);
      EXPECT_EQ(collectives.member(), member);
      results[size_t(member)] = body(collectives, *comm);
      if (!results[size_t(member)].ok())
        comm.reset(); // the rank leaves
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

/// Values whose sum depends on the order: large values cancel each other, and
/// small values are lost beside large ones.
float valueOf(int64_t member, size_t i) {
  float large = std::ldexp(1.0f, 20 + int(i % 7));
  return (member % 2 == 0 ? large : -large) +
         1.0f / float(1 + (size_t(member) * 31 + i) % 97);
}

using SizeCase = std::tuple<int64_t, size_t>; // members, elements

class AllReduce : public testing::TestWithParam<SizeCase> {};

TEST_P(AllReduce, AddsUpFromTheLeft) {
  auto [members, count] = GetParam();
  std::vector<float> expected(count);
  for (size_t i = 0; i < count; ++i) {
    expected[i] = valueOf(0, i);
    for (int64_t member = 1; member < members; ++member)
      expected[i] += valueOf(member, i);
  }
  auto results = runGroup(members, [&](Collectives &group, Communicator &) {
    std::vector<float> part(count), sum(count),
        scratch(count * size_t(members));
    for (size_t i = 0; i < count; ++i)
      part[i] = valueOf(group.member(), i);
    // Repeated, since no member may get a message of another round.
    for (int round = 0; round < 5; ++round) {
      std::fill(sum.begin(), sum.end(), NAN);
      SLUICE_RETURN_IF_ERROR(group.allReduce(part, sum, scratch));
      if (!std::ranges::equal(std::as_bytes(std::span(sum)),
                              std::as_bytes(std::span(expected))))
        return failure("round ", round, ": another sum");
    }
    return Status();
  });
  for (const Status &status : results)
    EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(
    , AllReduce,
    testing::Combine(testing::Values(1, 2, 3, 4, 8),
                     // Sizes around the limit of shares, and sizes smaller than
                     // the group.
                     testing::Values(size_t(0), size_t(1), size_t(3),
                                     size_t(4096), size_t(4097),
                                     size_t(30011))));

TEST(AllReduceTest, OrderMattersForTheseValues) {
  int64_t differ = 0;
  for (size_t i = 0; i < 4096; ++i) {
    float left = valueOf(0, i), right = valueOf(3, i);
    for (int64_t member = 1; member < 4; ++member) {
      left += valueOf(member, i);
      right += valueOf(3 - member, i);
    }
    differ += left != right;
  }
  EXPECT_GT(differ, 100);
}

using GatherCase = std::tuple<int64_t, int64_t, int64_t>; // members, cols, rows

class AllGather : public testing::TestWithParam<GatherCase> {};

TEST_P(AllGather, PutsColumnsSideBySide) {
  auto [members, cols, rows] = GetParam();
  int64_t width = (cols + members - 1) / members;
  auto results = runGroup(members, [&](Collectives &group, Communicator &) {
    int64_t begin = std::min(group.member() * width, cols - width);
    std::vector<float> part(size_t(rows * width)), all(size_t(rows * cols), -1);
    std::vector<float> scratch(part.size() * size_t(members));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < width; ++i)
        part[size_t(row * width + i)] = float(row * cols + begin + i);
    SLUICE_RETURN_IF_ERROR(group.allGather(part, width, all, cols, scratch));
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] != float(i))
        return failure("element ", i, " is ", all[i]);
    return Status();
  });
  for (const Status &status : results)
    EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(, AllGather,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(8, 10, 4099),
                                          testing::Values(0, 1, 5)));

TEST(FromFirst, AllGetTheFirstOnesMessage) {
  auto results = runGroup(3, [&](Collectives &group, Communicator &) {
    for (size_t length : {0, 1, 247, 248, 249, 5000}) {
      Bytes expected(length);
      std::iota(expected.begin(), expected.end(), uint8_t(length));
      Bytes message = group.member() == 0 ? expected : Bytes(17);
      SLUICE_RETURN_IF_ERROR(group.fromFirst(message));
      if (message != expected)
        return failure("of ", length, " bytes");
    }
    return Status();
  });
  for (const Status &status : results)
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Meet, NobodyGoesOnBeforeAllAreHere) {
  std::atomic<int> came{0};
  auto results = runGroup(3, [&](Collectives &group, Communicator &) {
    for (int round = 1; round <= 20; ++round) {
      ++came;
      SLUICE_RETURN_IF_ERROR(group.barrier());
      if (came < 3 * round)
        return failure("only ", came.load(), " are here");
    }
    return Status();
  });
  for (const Status &status : results)
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(GroupFaults, AMemberThatLeavesEndsTheOthers) {
  auto results = runGroup(3, [&](Collectives &group, Communicator &) {
    std::vector<float> part(10), sum(10), scratch(30);
    for (int round = 0;; ++round) {
      if (group.member() == 1 && round == 3)
        return failure("leaves");
      SLUICE_RETURN_IF_ERROR(group.allReduce(part, sum, scratch));
    }
  });
  EXPECT_THAT(results[0].message(), HasSubstr("has left before the end"));
  EXPECT_THAT(results[2].message(), HasSubstr("has left before the end"));
}

TEST(GroupFaults, WhoReceivesNoMoreDoesNotWait) {
  auto results = runGroup(2, [&](Collectives &group, Communicator &comm) {
    if (group.member() == 1)
      return Status(); // no message comes
    std::vector<float> part(10), sum(10), scratch(20);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      comm.stopReceiving();
    });
    Status status = group.allReduce(part, sum, scratch);
    stopper.join();
    return status;
  });
  EXPECT_THAT(results[0].message(), HasSubstr("receives no more"));
}

TEST(GroupFaults, MembersThatLoseStepAreFoundOut) {
  auto results = runGroup(2, [&](Collectives &group, Communicator &) {
    size_t count = group.member() == 0 ? 10 : 11;
    std::vector<float> part(count), sum(count), scratch(2 * count);
    return group.allReduce(part, sum, scratch);
  });
  EXPECT_THAT(
      results[0].message(),
      testing::AnyOf(HasSubstr("44 bytes, not 40"), HasSubstr("has left")));
  EXPECT_THAT(
      results[1].message(),
      testing::AnyOf(HasSubstr("40 bytes, not 44"), HasSubstr("has left")));
}

} // namespace
