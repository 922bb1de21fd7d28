//===- NcclGroupTest.cpp - collectives of a group of GPUs -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclGroup.h"

#include "runtime/comm/nccl/test/FakeNccl.h"
#include "runtime/comm/nccl/test/ThreadDevice.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;

using testing::HasSubstr;

namespace {

using std::chrono::milliseconds;
using Values = std::vector<float>;

/// The sum as a kernel would make it, behind what is in the stream.
Status sumInStream(cuda::DeviceAddress to,
                   std::span<const cuda::DeviceAddress> parts, uint64_t floats,
                   cuda::Stream stream) {
  std::vector<const float *> from;
  for (cuda::DeviceAddress part : parts)
    from.push_back(reinterpret_cast<const float *>(part));
  ThreadDevice::enqueue(stream, [=] {
    auto *out = reinterpret_cast<float *>(to);
    for (uint64_t i = 0; i < floats; ++i) {
      float total = from[0][i];
      for (size_t part = 1; part < from.size(); ++part)
        total += from[part][i];
      out[i] = total;
    }
  });
  return {};
}

/// Numbers whose sum depends on the order.
Values numbersOf(int member, size_t count) {
  std::mt19937 random(static_cast<unsigned>(member));
  std::normal_distribution<float> normal;
  Values values(count);
  for (float &each : values)
    each = normal(random) * std::pow(10.0F, normal(random));
  return values;
}

/// From the left, in the members' order.
Values expectedSum(int members, size_t count) {
  Values total = numbersOf(0, count);
  for (int member = 1; member < members; ++member) {
    Values more = numbersOf(member, count);
    for (size_t i = 0; i < count; ++i)
      total[i] += more[i];
  }
  return total;
}

struct Member {
  ThreadDevice device;
  std::unique_ptr<NcclGroup> group;
  cuda::Stream stream = nullptr;

  /// Until the stream is done or the group has failed; it is done then as well.
  Status await() {
    cuda::Event event = *device.makeEvent();
    Status status = device.record(event, stream);
    while (status.ok() && !*device.isDone(event)) {
      status = group->check();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    device.destroy(event);
    Status done = device.synchronize(stream);
    return status.ok() ? done : status;
  }
};

/// What connects the members besides NCCL: who fails tells the others.
class Base {
public:
  void join(NcclGroup &group) {
    std::lock_guard lock(mutex);
    groups.push_back(&group);
    if (!told.ok())
      group.giveUp(told);
  }
  void leave(NcclGroup &group) {
    std::lock_guard lock(mutex);
    std::erase(groups, &group);
  }
  void tell(const Status &reason) {
    std::lock_guard lock(mutex);
    told = reason;
    for (NcclGroup *each : groups)
      each->giveUp(reason);
  }

private:
  std::mutex mutex;
  std::vector<NcclGroup *> groups;
  Status told;
};

/// For tests of what takes too long.
NcclGroupOptions impatient() {
  NcclGroupOptions options;
  options.setup = std::chrono::seconds(3);
  options.patience = milliseconds(500);
  return options;
}
/// For those where nobody but the base may end it.
NcclGroupOptions patient() {
  NcclGroupOptions options;
  options.patience = std::chrono::hours(1);
  return options;
}

/// Runs `body(member)` for each member in a thread of its own.
template <typename Body>
std::vector<Status> runGroup(int members, const FakeNccl::Faults &faults,
                             Body body, const NcclGroupOptions &options = {},
                             Base *base = nullptr) {
  auto start = std::chrono::steady_clock::now();
  FakeNccl::reset(faults);
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  NcclUniqueId id = *makeNcclId(nccl);
  std::vector<Status> results(static_cast<size_t>(members));
  std::vector<std::thread> threads;
  for (int number = 0; number < members; ++number)
    threads.emplace_back([&, number] {
      Member member;
      ASSERT_TRUE(member.device.enter().ok());
      auto group =
          NcclGroup::join(nccl, member.device, id, number, members, options);
      Status &result = results[static_cast<size_t>(number)];
      result = group.status();
      if (group) {
        member.group = group.take();
        if (base)
          base->join(*member.group);
        member.stream = *member.device.makeStream(false);
        result = body(member);
        if (base) {
          base->leave(*member.group);
          if (!result.ok())
            base->tell(result);
        }
        member.group.reset();
        member.device.destroy(member.stream);
      }
      EXPECT_EQ(member.device.held(), 0u);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(FakeNccl::open(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(10000));
  return results;
}

/// The group's own sum of numbersOf() at this member.
Expected<Values> reduced(Member &member, size_t count) {
  Values x = numbersOf(member.group->member(), count);
  Values scratch(member.group->scratchFloats(count));
  Status status = member.group->allReduce(
      reinterpret_cast<cuda::DeviceAddress>(x.data()), count,
      reinterpret_cast<cuda::DeviceAddress>(scratch.data()), sumInStream,
      member.stream);
  Status done = member.await();
  if (!status.ok())
    return status;
  if (!done.ok())
    return done;
  return x;
}

Status sumsUntilItFails(Member &member) {
  Status status;
  for (int i = 0; i < 8 && status.ok(); ++i)
    status = reduced(member, 100).status();
  return status;
}

class NcclGroupSums : public testing::TestWithParam<std::tuple<int, size_t>> {};

/// Bit for bit, at every member; also where there are fewer numbers than
/// members, and some have no share.
TEST_P(NcclGroupSums, AreInTheMembersOrder) {
  auto [members, count] = GetParam();
  Values expected = expectedSum(members, count);
  auto results = runGroup(members, {}, [&](Member &member) -> Status {
    for (int again = 0; again < 3; ++again) {
      Expected<Values> sum = reduced(member, count);
      if (!sum)
        return sum.status();
      EXPECT_EQ(
          std::memcmp(sum->data(), expected.data(), count * sizeof(float)), 0)
          << "at member " << member.group->member();
    }
    return member.group->end();
  });
  for (const Status &each : results)
    EXPECT_TRUE(each.ok()) << each.message();
}

INSTANTIATE_TEST_SUITE_P(, NcclGroupSums,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(1, 100, 1000)));

TEST(NcclGroup, Gathers) {
  auto results = runGroup(3, {}, [](Member &member) -> Status {
    Values mine = numbersOf(member.group->member(), 50), all(150);
    Status status = member.group->allGather(
        reinterpret_cast<cuda::DeviceAddress>(mine.data()),
        reinterpret_cast<cuda::DeviceAddress>(all.data()), 200, member.stream);
    if (!status.ok())
      return status;
    EXPECT_TRUE(member.await().ok());
    for (int other = 0; other < 3; ++other)
      EXPECT_EQ(Values(all.begin() + 50 * other, all.begin() + 50 * other + 50),
                numbersOf(other, 50));
    return member.group->end();
  });
  for (const Status &each : results)
    EXPECT_TRUE(each.ok()) << each.message();
  EXPECT_EQ(FakeNccl::calls("ncclCommAbort"), 0) << "a good end aborts nothing";
}

/// One of them is told of a lost rank by NCCL, the other by nobody.
TEST(NcclGroup, ALostMemberEndsWhatIsInStreams) {
  for (int faulty : {0, 1}) {
    FakeNccl::Faults faults;
    faults.lostTransfer = 3;
    faults.faultyRank = faulty;
    auto results = runGroup(2, faults, sumsUntilItFails, impatient());
    auto at = static_cast<size_t>(faulty);
    EXPECT_THAT(results[at].message(), HasSubstr("a lost rank"));
    EXPECT_EQ(results[1 - at].message(),
              "NCCL: a call of member " + std::to_string(1 - faulty) +
                  " of a group has not ended within 500 ms");
  }
}

TEST(NcclGroup, ATransferThatNeverEnds) {
  FakeNccl::Faults faults;
  faults.stuckTransfer = 3;
  for (const Status &each : runGroup(2, faults, sumsUntilItFails, impatient()))
    EXPECT_THAT(each.message(), HasSubstr("has not ended within 500 ms"));
}

/// NCCL does not notice that a member has gone.
TEST(NcclGroup, AMemberLeaves) {
  auto results = runGroup(
      3, {},
      [](Member &member) {
        return member.group->member() == 1 ? Status()
                                           : sumsUntilItFails(member);
      },
      impatient());
  EXPECT_TRUE(results[1].ok()) << results[1].message();
  for (size_t other : {0, 2})
    EXPECT_THAT(results[other].message(),
                HasSubstr("has not ended within 500 ms"));
}

TEST(NcclGroup, OnlyTheBaseTells) {
  Base base;
  auto results = runGroup(
      3, {},
      [](Member &member) {
        if (member.group->member() != 1)
          return sumsUntilItFails(member);
        std::this_thread::sleep_for(milliseconds(100));
        return failure("rank 1: its machine is on fire");
      },
      patient(), &base);
  for (const Status &each : results)
    EXPECT_EQ(each.message(), "rank 1: its machine is on fire");
}

/// Those that are slow are not lost: each call has its own time.
TEST(NcclGroup, WaitsForThoseThatCompute) {
  NcclGroupOptions options;
  options.patience = milliseconds(1000);
  auto results = runGroup(
      2, {},
      [](Member &member) -> Status {
        Values x(100), scratch(member.group->scratchFloats(100));
        for (int i = 0; i < 4; ++i) {
          ThreadDevice::enqueue(member.stream, [] {
            std::this_thread::sleep_for(milliseconds(400));
          });
          Status status = member.group->allReduce(
              reinterpret_cast<cuda::DeviceAddress>(x.data()), x.size(),
              reinterpret_cast<cuda::DeviceAddress>(scratch.data()),
              sumInStream, member.stream);
          if (!status.ok())
            return status;
        }
        Status done = member.await();
        return done.ok() ? member.group->end() : done;
      },
      options);
  for (const Status &each : results)
    EXPECT_TRUE(each.ok()) << each.message();
}

TEST(NcclGroup, AMemberThatDoesNotCome) {
  FakeNccl::Faults faults;
  faults.missingRank = 1;
  for (const Status &each :
       runGroup(2, faults, [](Member &) { return Status(); }, impatient()))
    EXPECT_EQ(each.message(), "NCCL: the meeting of a group takes too long");
}

/// Where it is late for the first bytes, which connect the two.
TEST(NcclGroup, AMemberThatDoesNotGreet) {
  FakeNccl::Faults faults;
  faults.stuckTransfer = 0;
  for (const Status &each :
       runGroup(2, faults, [](Member &) { return Status(); }, impatient()))
    EXPECT_EQ(each.message(),
              "NCCL: the first bytes between members take too long");
}

TEST(NcclGroup, ACallFails) {
  for (const char *call :
       {"ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd"}) {
    FakeNccl::Faults faults;
    faults.failingCall = call;
    faults.failAfter = 2; // the greetings are before
    Base base;
    for (const Status &each :
         runGroup(2, faults, sumsUntilItFails, patient(), &base))
      EXPECT_THAT(each.message(), HasSubstr(std::string("NCCL: ") + call));
  }
}

} // namespace
