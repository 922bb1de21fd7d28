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
};

/// Runs `body(member)` for each member in a thread of its own.
template <typename Body>
std::vector<Status> runGroup(int members, const FakeNccl::Faults &faults,
                             Body body) {
  FakeNccl::reset(faults);
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  NcclUniqueId id = *makeNcclId(nccl);
  std::vector<Status> results(static_cast<size_t>(members));
  std::vector<std::thread> threads;
  for (int number = 0; number < members; ++number)
    threads.emplace_back([&, number] {
      NcclGroupOptions options;
      if (faults.missingRank >= 0)
        options.setup = milliseconds(500);
      auto group = NcclGroup::join(nccl, id, number, members, options);
      Status &result = results[static_cast<size_t>(number)];
      result = group.status();
      if (!group)
        return;
      Member member;
      member.group = group.take();
      member.stream = *member.device.makeStream(false);
      result = body(member);
      member.group->breakOff();
      member.device.destroy(member.stream);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(FakeNccl::open(), 0);
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
  Status done = member.device.synchronize(member.stream);
  if (!status.ok())
    return status;
  if (!done.ok())
    return done;
  return x;
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
    return {};
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
    (void)member.device.synchronize(member.stream);
    for (int other = 0; other < 3; ++other)
      EXPECT_EQ(Values(all.begin() + 50 * other, all.begin() + 50 * other + 50),
                numbersOf(other, 50));
    return {};
  });
  for (const Status &each : results)
    EXPECT_TRUE(each.ok()) << each.message();
}

/// Whoever waits for the stream asks check() meanwhile, and is let go.
TEST(NcclGroup, ALostMemberEndsWhatIsInStreams) {
  FakeNccl::Faults faults;
  faults.lostTransfer = 1;
  auto results = runGroup(2, faults, [](Member &member) -> Status {
    Values x(100), scratch(member.group->scratchFloats(100));
    cuda::Event event = *member.device.makeEvent();
    Status status;
    while (status.ok()) {
      status = member.group->allReduce(
          reinterpret_cast<cuda::DeviceAddress>(x.data()), x.size(),
          reinterpret_cast<cuda::DeviceAddress>(scratch.data()), sumInStream,
          member.stream);
      (void)member.device.record(event, member.stream);
      while (status.ok() && !*member.device.isDone(event))
        status = member.group->check();
    }
    (void)member.device.synchronize(member.stream); // it ends
    member.device.destroy(event);
    return status;
  });
  for (const Status &each : results)
    EXPECT_THAT(each.message(), HasSubstr("a lost rank"));
}

TEST(NcclGroup, AMemberThatDoesNotCome) {
  FakeNccl::Faults faults;
  faults.missingRank = 1;
  for (const Status &each :
       runGroup(2, faults, [](Member &) { return Status(); }))
    EXPECT_EQ(each.message(), "NCCL: the meeting of a group takes too long");
}

TEST(NcclGroup, ACallFails) {
  for (const char *call :
       {"ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd"}) {
    FakeNccl::Faults faults;
    faults.failingCall = call;
    auto results = runGroup(2, faults, [](Member &member) {
      return reduced(member, 100).status();
    });
    for (const Status &each : results)
      EXPECT_THAT(each.message(), HasSubstr(std::string("NCCL: ") + call));
  }
}

} // namespace
