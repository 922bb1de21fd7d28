//===- NcclGroupTest.cpp - tests of a group of GPUs -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclGroup.h"

#include "runtime/comm/nccl/test/FakeNccl.h"
#include "runtime/comm/nccl/test/ThreadDevice.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;

using testing::HasSubstr;

namespace {

using std::chrono::milliseconds;
using Values = std::vector<float>;

/// Returns what member `from` gives to member `to`: each pair has another
/// length.
Values numbersOf(int from, int to) {
  Values values(static_cast<size_t>(50 + 10 * from + to));
  std::iota(values.begin(), values.end(), static_cast<float>(1000 * from + to));
  return values;
}

struct Member {
  ThreadDevice device;
  std::unique_ptr<NcclGroup> group;
  cuda::Stream stream = nullptr;

  /// Waits until the stream is done or the group has failed, after which the
  /// stream is done as well.
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

/// Connects the members outside NCCL: a member that fails tells the others.
class Base {
public:
  void join(NcclGroup &group) {
    std::lock_guard lock(mutex);
    groups.push_back(&group);
    if (!reported.ok())
      group.giveUp(reported);
  }
  void leave(NcclGroup &group) {
    std::lock_guard lock(mutex);
    std::erase(groups, &group);
  }
  void tell(const Status &reason) {
    std::lock_guard lock(mutex);
    reported = reason;
    for (NcclGroup *each : groups)
      each->giveUp(reason);
  }

private:
  std::mutex mutex;
  std::vector<NcclGroup *> groups;
  Status reported;
};

/// Options for tests of members that do not come.
NcclGroupOptions impatient() {
  NcclGroupOptions options;
  options.setup = std::chrono::seconds(3);
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

/// Exchanges numbers between all members.
Status exchange(Member &member) {
  const int self = member.group->member();
  std::vector<Values> gives, gets;
  std::vector<cuda::DeviceGroup::Piece> out, in;
  auto pieceOf = [](const Values &values) {
    return cuda::DeviceGroup::Piece{
        reinterpret_cast<cuda::DeviceAddress>(values.data()),
        values.size() * sizeof(float)};
  };
  for (int other = 0; other < member.group->members(); ++other) {
    gives.push_back(numbersOf(self, other));
    gets.emplace_back(numbersOf(other, self).size());
    out.push_back(pieceOf(gives.back()));
    in.push_back(pieceOf(gets.back()));
  }
  Status status = member.group->exchange(out, in, member.stream);
  Status done = member.await();
  for (int other = 0; status.ok() && done.ok() && other < std::ssize(gets);
       ++other)
    if (other != self)
      EXPECT_EQ(gets[static_cast<size_t>(other)], numbersOf(other, self));
  return status.ok() ? done : status;
}

Status exchangeUntilItFails(Member &member) {
  Status status;
  for (int i = 0; i < 8 && status.ok(); ++i)
    status = exchange(member);
  return status;
}

TEST(NcclGroup, AllGetWhatAllGive) {
  for (int members : {1, 2, 3, 4})
    for (const Status &each : runGroup(members, {}, exchangeUntilItFails))
      EXPECT_TRUE(each.ok()) << each.message();
}

/// A member may have nothing for the others, as all but the first have at a
/// checkpoint.
TEST(NcclGroup, OnlyTheFirstGives) {
  auto results = runGroup(3, {}, [](Member &member) -> Status {
    uint64_t reported = member.group->member() == 0 ? 42 : 0;
    const cuda::DeviceGroup::Piece all = {
        reinterpret_cast<cuda::DeviceAddress>(&reported), sizeof(reported)};
    std::vector<cuda::DeviceGroup::Piece> out(3), in(3);
    if (member.group->member() == 0)
      std::ranges::fill(out, all);
    else
      in.front() = all;
    SLUICE_RETURN_IF_ERROR(member.group->exchange(out, in, member.stream));
    Status done = member.await();
    EXPECT_EQ(reported, 42u);
    return done;
  });
  for (const Status &each : results)
    EXPECT_TRUE(each.ok()) << each.message();
}

/// NCCL tells one member of a lost rank, and what connects the members outside
/// NCCL tells the other.
TEST(NcclGroup, ALostMemberEndsWhatIsInStreams) {
  for (int faulty : {0, 1}) {
    FakeNccl::Faults faults;
    faults.lostTransfer = 3;
    faults.faultyRank = faulty;
    Base base;
    for (const Status &each :
         runGroup(2, faults, exchangeUntilItFails, {}, &base))
      EXPECT_THAT(each.message(), HasSubstr("a lost rank"));
  }
}

TEST(NcclGroup, OnlyTheBaseTells) {
  Base base;
  auto results = runGroup(
      3, {},
      [](Member &member) {
        if (member.group->member() != 1)
          return exchangeUntilItFails(member);
        std::this_thread::sleep_for(milliseconds(100));
        return failure("rank 1: its machine is on fire");
      },
      {}, &base);
  for (const Status &each : results)
    EXPECT_EQ(each.message(), "rank 1: its machine is on fire");
}

/// Launches graphs as an executor does: a step is a graph, and the graph is
/// destroyed when the group has failed. Aborting waits for that, so this must
/// not wait for the abort.
Status launchUntilItFails(Member &member, int max) {
  std::vector<uint64_t> mine(size_t(member.group->members()), 1), theirs = mine;
  std::vector<cuda::DeviceGroup::Piece> out, in;
  for (size_t other = 0; other < mine.size(); ++other) {
    out.push_back({reinterpret_cast<cuda::DeviceAddress>(&mine[other]), 8});
    in.push_back({reinterpret_cast<cuda::DeviceAddress>(&theirs[other]), 8});
  }
  // There are several exchanges: those after the aborted one must end as well.
  const std::vector<cuda::GraphNode> nodes(
      3, cuda::CapturedNode{[&](cuda::Stream stream) {
        return member.group->exchange(out, in, stream);
      }});
  Expected<cuda::Graph> graph = member.device.makeGraph(nodes);
  Status status = graph.status();
  for (int i = 0; i < max && status.ok(); ++i) {
    status = member.device.launch(*graph, member.stream);
    if (Status done = member.await(); status.ok())
      status = done;
  }
  // Launch once more, after the group has failed.
  if (graph && !status.ok()) {
    EXPECT_TRUE(member.device.launch(*graph, member.stream).ok());
    EXPECT_TRUE(member.device.synchronize(member.stream).ok());
  }
  if (graph)
    member.device.destroy(*graph);
  return status;
}

TEST(NcclGroup, GraphsOfTheGroupGoAfterItHasFailed) {
  Base base;
  auto results = runGroup(
      3, {},
      [](Member &member) {
        const bool dies = member.group->member() == 1;
        Status status = launchUntilItFails(member, dies ? 3 : 1000000);
        return dies && status.ok() ? failure("rank 1 is lost") : status;
      },
      {}, &base);
  for (const Status &each : results)
    EXPECT_EQ(each.message(), "rank 1 is lost");
  EXPECT_EQ(FakeNccl::calls("ncclCommAbort"), 3);
  EXPECT_EQ(FakeNccl::calls("ncclCommRevoke"), 0);
}

/// The same holds if NCCL itself reports the failure.
TEST(NcclGroup, GraphsOfTheGroupGoAfterNcclHasFailed) {
  FakeNccl::Faults faults;
  faults.lostTransfer = 5;
  Base base;
  for (const Status &each : runGroup(
           2, faults,
           [](Member &member) { return launchUntilItFails(member, 1000000); },
           {}, &base))
    EXPECT_THAT(each.message(), HasSubstr("a lost rank"));
}

TEST(NcclGroup, AMemberThatDoesNotCome) {
  FakeNccl::Faults faults;
  faults.missingRank = 1;
  for (const Status &each :
       runGroup(2, faults, [](Member &) { return Status(); }, impatient()))
    EXPECT_EQ(each.message(), "NCCL: the set-up of a group takes too long");
}

/// A member is late for the first bytes, which connect it.
TEST(NcclGroup, AMemberThatDoesNotGreet) {
  FakeNccl::Faults faults;
  faults.stuckTransfer = 0;
  for (const Status &each :
       runGroup(2, faults, [](Member &) { return Status(); }, impatient()))
    EXPECT_EQ(each.message(),
              "NCCL: the first bytes between members take too long");
}

/// A device may not answer even after the exchange was aborted; a member that
/// waits for it gives the device up.
TEST(NcclGroup, ADeviceThatDoesNotAnswerIsNotWaitedFor) {
  FakeNccl::reset({});
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  ThreadDevice device;
  ASSERT_TRUE(device.enter().ok());
  device.stick(milliseconds(200));
  NcclGroupOptions options;
  options.setup = milliseconds(300);
  auto group = NcclGroup::join(nccl, device, *makeNcclId(nccl), 0, 1, options);
  EXPECT_EQ(group.status().message(),
            "NCCL: the first bytes between members take too long");
  EXPECT_EQ(device.givenUp().message(),
            "the set-up of a group has not ended within 0.2 s");
  EXPECT_EQ(FakeNccl::open(), 0);
}

TEST(NcclGroup, ACallFails) {
  for (const char *call :
       {"ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd"}) {
    FakeNccl::Faults faults;
    faults.failingCall = call;
    faults.failAfter = 2; // the greetings come first
    Base base;
    for (const Status &each :
         runGroup(2, faults, exchangeUntilItFails, {}, &base))
      EXPECT_THAT(each.message(), HasSubstr(std::string("NCCL: ") + call));
  }
}

} // namespace
