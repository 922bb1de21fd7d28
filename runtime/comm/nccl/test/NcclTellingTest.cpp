//===- NcclTellingTest.cpp - reports of a failure of NCCL -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under MPI, all processes end when the job ends. So every rank learns of a
// failure before that and gets a moment to tell its users, but no longer.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/test/FakeNccl.h"
#include "runtime/comm/nccl/test/NcclJob.h"
#include "runtime/comm/nccl/test/ThreadDevice.h"
#include "runtime/comm/test/CollectingReceiver.h"

#include <array>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using testing::Each;
using testing::HasSubstr;
using testing::Property;

namespace {

using std::chrono::milliseconds;
constexpr milliseconds soon{10000};

/// How often each rank has ended the job.
using Aborts = std::array<std::atomic<int>, 2>;

int total(const Aborts &aborts) { return aborts[0] + aborts[1]; }

/// Counts the calls of abort(), and otherwise is the communicator under it.
class WatchedBase final : public Communicator {
public:
  WatchedBase(std::unique_ptr<Communicator> inner, Aborts &aborts)
      : inner(std::move(inner)), aborts(aborts) {}

  int64_t rank() const override { return inner->rank(); }
  int64_t size() const override { return inner->size(); }
  void start(Receiver receiver) override { inner->start(std::move(receiver)); }
  void detach() override { inner->detach(); }
  void roomChanged() override { inner->roomChanged(); }
  Status send(int64_t to, Lane lane, Bytes bytes,
              int64_t emulatedBytes) override {
    return inner->send(to, lane, std::move(bytes), emulatedBytes);
  }
  Status receive(int64_t source, Bytes &bytes, Deadline end) override {
    return inner->receive(source, bytes, end);
  }
  void stopReceiving() override { inner->stopReceiving(); }
  Status finish(milliseconds patience) override {
    return inner->finish(patience);
  }
  void abort(const Status &reason) override {
    ++aborts[static_cast<size_t>(rank())];
    inner->abort(reason);
  }
  std::vector<Traffic> traffic() const override { return inner->traffic(); }
  BufferPool &buffers() override { return inner->buffers(); }

private:
  std::unique_ptr<Communicator> inner;
  Aborts &aborts;
};

/// Rank 0's third transfer fails. `body(rank, comm)` runs in both ranks after
/// they have been told of it.
template <typename Body>
std::vector<Status> runUntilReported(Aborts &aborts, Body body) {
  FakeNccl::Faults faults;
  faults.failingCall = "ncclSend";
  faults.failAfter = 2;
  FakeNccl::reset(faults);
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  NcclOptions options;
  options.ways = {{0, 1}};
  options.ringBytes = 4096;
  return runJob(2, [&](int64_t rank, std::unique_ptr<Communicator> base) {
    ThreadDevice device;
    SLUICE_RETURN_IF_ERROR(device.enter());
    auto made =
        connected(std::make_unique<WatchedBase>(std::move(base), aborts), nccl,
                  &device, options);
    if (!made)
      return made.status();
    std::unique_ptr<NcclCommunicator> comm = made.take();
    CollectingReceiver receiver(*comm);
    cuda::Stream stream = *device.makeStream(false);
    cuda::DeviceAddress rows = *device.allocate(256);
    for (int i = 0; rank == 0 && i < 4; ++i)
      (void)comm->sendRows(1, makeMessage(0), rows, 256, stream);
    Status reported = receiver.waitForFailure(soon);
    body(rank, *comm);
    comm.reset();
    device.destroy(stream);
    device.release(rows);
    return reported;
  });
}

/// Waits until `isDone()`, or as long as tests wait; returns whether it is.
bool happens(const std::function<bool()> &isDone) {
  auto until = std::chrono::steady_clock::now() + soon;
  while (!isDone() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(milliseconds(5));
  return isDone();
}

TEST(NcclTelling, AllHearOfAFailureBeforeTheJobEnds) {
  std::atomic<int> reported{0};
  Aborts aborts{};
  std::vector<Status> reasons =
      runUntilReported(aborts, [&](int64_t, NcclCommunicator &) {
        ++reported;
        EXPECT_TRUE(happens([&] { return reported == 2; }));
        EXPECT_EQ(total(aborts), 0);
        // No rank reacts, so the job ends by itself.
        EXPECT_TRUE(happens([&] { return total(aborts) == 1; }));
      });
  EXPECT_THAT(reasons, Each(Property(&Status::message,
                                     HasSubstr("rank 0: rows between"))));
}

/// An exception in a receiver is handled as any other failure.
TEST(NcclTelling, AReceiverThatThrowsEndsTheJob) {
  std::atomic<int> reported{0};
  Aborts aborts{};
  FakeNccl::reset({});
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  NcclOptions options;
  options.ways = {{0, 1}};
  options.ringBytes = 4096;
  runJob(2, [&](int64_t rank, std::unique_ptr<Communicator> base) {
    ThreadDevice device;
    auto comm =
        connected(std::make_unique<WatchedBase>(std::move(base), aborts), nccl,
                  &device, options);
    if (!comm)
      return comm.status();
    (*comm)->start({[](int64_t) { return true; },
                    [](Message) { throw std::runtime_error("no more"); },
                    [&](Status reason) {
                      EXPECT_THAT(reason.message(),
                                  HasSubstr("rank 1: unexpected: no more"));
                      ++reported;
                    }});
    if (rank == 0)
      EXPECT_TRUE((*comm)->send(1, Lane::Control, makeMessage(0), 0).ok());
    EXPECT_TRUE(happens([&] { return reported == 2; }));
    EXPECT_TRUE(happens([&] { return total(aborts) == 1; }));
    return Status();
  });
}

/// A rank that has told its users and ends leaves the other ranks their moment.
TEST(NcclTelling, ARankThatEndsLeavesTheOthersTime) {
  Aborts aborts{};
  runUntilReported(aborts, [&](int64_t rank, NcclCommunicator &comm) {
    if (rank == 0)
      return;
    auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(comm.finish(milliseconds(300)).message(),
                HasSubstr("a planned fault"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, soon);
    EXPECT_EQ(aborts[1], 0);
    comm.abort(failure("told"));
    EXPECT_EQ(aborts[1], 1);
  });
}

} // namespace
