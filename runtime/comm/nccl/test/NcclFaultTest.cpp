//===- NcclFaultTest.cpp - faults of NCCL and of devices ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks send rows from 0 to 1. After any fault both end soon, with an error
// that names the fault.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/test/FakeNccl.h"
#include "runtime/comm/nccl/test/NcclJob.h"
#include "runtime/comm/nccl/test/ThreadDevice.h"
#include "runtime/comm/test/CollectingReceiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::Property;

namespace {

using std::chrono::milliseconds;

/// The longest time until the end in total.
constexpr milliseconds soon{10000};

NcclOptions oneWay() {
  NcclOptions options;
  options.ways = {{0, 1}};
  options.ringBytes = 4096;
  return options;
}

/// Options for tests of waits that must end.
NcclOptions impatient() {
  NcclOptions options = oneWay();
  options.setup = options.patience = milliseconds(500);
  return options;
}

/// A rank with its device and the messages that it has got.
struct Rank {
  int64_t number = 0;
  ThreadDevice device;
  std::unique_ptr<NcclCommunicator> comm;
  cuda::DeviceAddress rows = 0;
  cuda::Stream stream = nullptr;

  Status send(int64_t bytes) {
    return comm->sendRows(1, makeMessage(0), rows, bytes, stream);
  }
};

/// Connects a rank, runs `body` in it, and leaves. It is an error if handles of
/// its device are left then.
template <typename Body>
Status runRank(int64_t number, std::unique_ptr<Communicator> base,
               const NcclLibrary &nccl, const NcclOptions &options, Body body) {
  Rank rank;
  rank.number = number;
  SLUICE_RETURN_IF_ERROR(rank.device.enter());
  auto comm = connected(std::move(base), nccl, &rank.device, options);
  if (!comm) {
    EXPECT_EQ(rank.device.held(), 0u);
    return comm.status();
  }
  rank.comm = comm.take();
  rank.rows = *rank.device.allocate(4096);
  rank.stream = *rank.device.makeStream(false);
  Status status = body(rank);
  rank.comm.reset();
  rank.device.destroy(rank.stream);
  rank.device.release(rank.rows);
  EXPECT_EQ(rank.device.held(), 0u);
  return status;
}

/// Runs `body` in both ranks. It is an error if handles of NCCL are left at the
/// end.
template <typename Body>
std::vector<Status> runPair(const FakeNccl::Faults &faults, Body body,
                            const NcclOptions &options = oneWay()) {
  auto start = std::chrono::steady_clock::now();
  FakeNccl::reset(faults);
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  std::vector<Status> results =
      runJob(2, [&](int64_t number, std::unique_ptr<Communicator> base) {
        return runRank(number, std::move(base), nccl, options, body);
      });
  EXPECT_EQ(FakeNccl::open(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, soon);
  return results;
}

/// Sends rows until that fails, or waits for the failure.
Status untilItFails(Rank &rank) {
  CollectingReceiver receiver(*rank.comm);
  if (rank.number == 0)
    for (int i = 0; i < 8; ++i)
      if (Status s = rank.send(100); !s.ok())
        break;
  Status reason = receiver.waitForFailure(soon);
  return reason.ok() ? failure("nothing has failed") : reason;
}

auto says(const char *text) {
  return Property(&Status::message, HasSubstr(text));
}

TEST(NcclFault, ACallFails) {
  for (const char *call : {"ncclSend", "ncclRecv", "ncclCommGetAsyncError"}) {
    FakeNccl::Faults faults;
    faults.failingCall = call;
    faults.failAfter = std::string(call) == "ncclCommGetAsyncError" ? 50 : 2;
    std::vector<Status> results = runPair(faults, untilItFails);
    EXPECT_THAT(results, Each(says(call)));
    EXPECT_EQ(FakeNccl::calls("ncclCommAbort"), 2);
    EXPECT_EQ(FakeNccl::calls("ncclCommRevoke"), 2);
  }
}

/// Rank 0 has no NCCL, so it learns of the failure only over the base.
TEST(NcclFault, WhoLeavesAfterAFailureEndsTheJobByIt) {
  FakeNccl::Faults faults;
  faults.failingCall = "ncclSend";
  faults.failAfter = 1;
  FakeNccl::reset(faults);
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  NcclOptions options = oneWay();
  options.ways = {{1, 1}};
  auto results =
      runJob(2, [&](int64_t number, std::unique_ptr<Communicator> base) {
        if (number == 0)
          return CollectingReceiver(*base).waitForFailure(soon);
        return runRank(number, std::move(base), nccl, options, [](Rank &rank) {
          CollectingReceiver receiver(*rank.comm);
          EXPECT_TRUE(rank.send(100).ok());
          return receiver.waitForFailure(soon);
        });
      });
  EXPECT_THAT(results, Each(says("ncclSend")));
}

TEST(NcclFault, OlderLibrariesAbortWithoutRevoking) {
  FakeNccl::Faults faults;
  faults.hasRevoke = false;
  faults.failingCall = "ncclSend";
  faults.failAfter = 1;
  EXPECT_THAT(runPair(faults, untilItFails), Each(says("a planned fault")));
  EXPECT_EQ(FakeNccl::calls("ncclCommAbort"), 2);
  EXPECT_EQ(FakeNccl::calls("ncclCommRevoke"), 0);
}

TEST(NcclFault, ARankIsLostWhileATransferIsUnderWay) {
  FakeNccl::Faults faults;
  faults.lostTransfer = 2;
  EXPECT_THAT(runPair(faults, untilItFails),
              Each(says("remote process exited or there was a network error: "
                        "a lost rank")));
}

TEST(NcclFault, ATransferThatNeverEnds) {
  FakeNccl::Faults faults;
  faults.stuckTransfer = 2;
  EXPECT_THAT(
      runPair(faults, untilItFails, impatient()),
      Each(says("a transfer of 100 bytes has not ended within 500 ms")));
}

/// The first bytes belong to the way, so no step waits for its set-up.
TEST(NcclFault, AGreetingThatDoesNotCome) {
  FakeNccl::Faults faults;
  faults.stuckTransfer = 0;
  EXPECT_THAT(
      runPair(
          faults, [](Rank &) { return Status(); }, impatient()),
      Each(AnyOf(says("a transfer of 256 bytes has not ended within 500 ms"),
                 says("has left before the end"))));
  EXPECT_THAT(runPair({},
                      [](Rank &rank) {
                        EXPECT_EQ(FakeNccl::calls("ncclSend"), 1);
                        EXPECT_EQ(FakeNccl::calls("ncclRecv"), 1);
                        return rank.comm->finish(soon);
                      }),
              Each(Property(&Status::ok, true)));
}

TEST(NcclFault, ARankThatNeverJoins) {
  for (int missing : {0, 1}) {
    FakeNccl::Faults faults;
    faults.missingRank = missing;
    std::vector<Status> results =
        runPair(faults, [](Rank &) { return Status(); }, impatient());
    // A rank that has joined may first see that the other has ended.
    EXPECT_THAT(results, Each(AnyOf(says("has not joined within 500 ms"),
                                    says("has left before the end"))));
  }
}

TEST(NcclFault, JoiningFails) {
  for (const char *call : {"ncclGetUniqueId", "ncclCommInitRankConfig"}) {
    FakeNccl::Faults faults;
    faults.failingCall = call;
    std::vector<Status> results =
        runPair(faults, [](Rank &) { return Status(); });
    EXPECT_THAT(results, Each(says(call)));
  }
}

TEST(NcclFault, TooLittleMemory) {
  NcclOptions options = oneWay();
  options.ringBytes = int64_t{1} << 40;
  EXPECT_THAT(runPair(
                  {}, [](Rank &) { return Status(); }, options),
              Each(says("1099511627776 bytes for rows between stages: "
                        "cuMemAlloc: out of memory")));
}

TEST(NcclFault, OptionsAreThoseOfAll) {
  FakeNccl::reset({});
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  auto results =
      runJob(2, [&](int64_t rank, std::unique_ptr<Communicator> base) {
        ThreadDevice device;
        NcclOptions options = oneWay();
        options.ringBytes *= rank + 1;
        return connected(std::move(base), nccl, &device, options).status();
      });
  EXPECT_THAT(results, Each(says("its ring has 4096 bytes, and that of rank 1 "
                                 "8192")));
}

TEST(NcclFault, ADeviceFails) {
  std::vector<Status> results = runPair({}, [](Rank &rank) {
    rank.device.breakCopies(failure("cuMemcpyDtoDAsync: misaligned address"));
    return untilItFails(rank);
  });
  EXPECT_THAT(results, Each(says("rank 0: cuMemcpyDtoDAsync: misaligned")));
}

/// NCCL waits for the device when it aborts a communicator, and this device
/// never ends. The communicator of the other rank is aborted.
TEST(NcclFault, ADeviceThatIsGivenUpIsNotWaitedFor) {
  FakeNccl::reset({});
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  runJob(2, [&](int64_t rank, std::unique_ptr<Communicator> base) {
    ThreadDevice device;
    auto comm = connected(std::move(base), nccl, &device, oneWay());
    if (!comm)
      return comm.status();
    CollectingReceiver receiver(**comm);
    if (rank == 0) {
      device.giveUp(failure("a step has not ended"));
      (*comm)->abort(device.givenUp());
      return device.givenUp();
    }
    Status reason = receiver.waitForFailure(soon);
    EXPECT_THAT(reason, says("rank 0: a step has not ended"));
    return reason;
  });
  EXPECT_EQ(FakeNccl::calls("ncclCommAbort"), 1);
  EXPECT_EQ(FakeNccl::open(), 1);
}

/// A control message does not wait behind rows that do not come.
TEST(NcclFault, ControlOvertakesAStuckTransfer) {
  FakeNccl::Faults faults;
  faults.stuckTransfer = 1;
  NcclOptions options = oneWay();
  options.patience = milliseconds(3000);
  runPair(
      faults,
      [](Rank &rank) {
        CollectingReceiver receiver(*rank.comm);
        if (rank.number == 0) {
          EXPECT_TRUE(rank.send(100).ok());
          EXPECT_TRUE(rank.comm->send(1, Lane::Control, makeMessage(5)).ok());
        } else {
          EXPECT_TRUE(
              receiver.waitFor([](const auto &all) { return all.size() == 1; },
                               milliseconds(2000)));
        }
        return receiver.waitForFailure(soon);
      },
      options);
}

/// A receiver that keeps payloads holds up their sender, and no other rank.
/// Room is freed in whatever order payloads are given back.
TEST(NcclCommunicator, WaitsForRoom) {
  std::vector<Status> results = runPair({}, [](Rank &rank) -> Status {
    CollectingReceiver receiver(*rank.comm);
    if (rank.number == 0) {
      for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(rank.send(1024).ok());
      std::atomic<bool> isSent{false};
      std::thread fifth([&] {
        EXPECT_TRUE(rank.device.enter().ok());
        EXPECT_TRUE(rank.send(1024).ok());
        isSent = true;
      });
      std::this_thread::sleep_for(milliseconds(100));
      EXPECT_FALSE(isSent);
      EXPECT_TRUE(rank.comm->send(1, Lane::Control, makeMessage(0)).ok());
      fifth.join();
    } else {
      EXPECT_TRUE(receiver.waitForCount(5));
      std::vector<Message> all = receiver.all();
      for (size_t i : {1, 0})
        rank.comm->giveBack(all[i].payload);
      EXPECT_TRUE(receiver.waitForCount(6));
    }
    return rank.comm->finish(soon);
  });
  EXPECT_THAT(results, Each(Property(&Status::ok, true)));
}

/// The work that precedes the rows in the sender's stream takes longer than a
/// transfer may. No kernel waits for it.
TEST(NcclCommunicator, RowsAreAnnouncedWhenTheyAreThere) {
  std::vector<Status> results = runPair(
      {},
      [](Rank &rank) -> Status {
        CollectingReceiver receiver(*rank.comm);
        if (rank.number == 0) {
          EXPECT_TRUE(rank.send(100).ok());
          ThreadDevice::enqueue(rank.stream, [] {
            std::this_thread::sleep_for(milliseconds(1500));
          });
          EXPECT_TRUE(rank.send(200).ok());
        } else {
          // The first message does not wait for the second.
          EXPECT_TRUE(
              receiver.waitFor([](const auto &all) { return all.size() == 1; },
                               milliseconds(1000)));
          EXPECT_TRUE(receiver.waitForCount(2));
        }
        return rank.comm->finish(soon);
      },
      impatient());
  EXPECT_THAT(results, Each(Property(&Status::ok, true)));
}

TEST(NcclCommunicator, RefusesWhatItCannotSend) {
  std::vector<Status> results = runPair({}, [](Rank &rank) -> Status {
    CollectingReceiver receiver(*rank.comm);
    if (rank.number == 0) {
      EXPECT_THAT(rank.send(4097),
                  says("4097 bytes of rows, the limit is 4096"));
      EXPECT_THAT(rank.send(0), says("0 bytes of rows"));
      EXPECT_THAT(
          rank.comm->sendRows(0, makeMessage(0), rank.rows, 1, rank.stream),
          says("no way for rows to rank 0"));
    }
    Status ended = rank.comm->finish(soon);
    if (rank.number == 0)
      EXPECT_THAT(rank.send(1), says("sends after its end"));
    return ended;
  });
  EXPECT_THAT(results, Each(Property(&Status::ok, true)));
}

} // namespace
