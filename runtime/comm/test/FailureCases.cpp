//===- FailureCases.cpp - cases in which a job ends in an error -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/test/CollectingReceiver.h"
#include "runtime/comm/test/Conformance.h"

#include <csignal>
#include <thread>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;

namespace {

using std::chrono::milliseconds;

constexpr int64_t culprit = 1;

/// Waits until every rank is there, so that rank 1 acts in a job that works.
/// Each rank sends to each other rank; rank 1 sends after it has heard from
/// all.
Status barrier(Communicator &comm, CollectingReceiver &receiver) {
  for (int64_t to = 0; to < comm.size(); ++to)
    SLUICE_RETURN_IF_ERROR(comm.send(to, Lane::Control, makeMessage(0)));
  auto ranks = static_cast<size_t>(comm.size());
  if (!receiver.waitForCount(ranks))
    return failure("the ranks do not meet");
  if (comm.rank() != culprit)
    return comm.send(culprit, Lane::Control, makeMessage(1));
  if (!receiver.waitForCount(2 * ranks - 1))
    return failure("the ranks have not met");
  return {};
}

/// Returns the failure of another rank, which must be noticed within 5 s.
Status awaitFailure(CollectingReceiver &receiver) {
  Status reason = receiver.waitForFailure(milliseconds(5000));
  return reason.ok() ? failure("no failure was seen") : reason;
}

/// The last control message of a rank that aborts comes before its reason.
Status aborts(Communicator &comm) {
  CollectingReceiver receiver(comm);
  SLUICE_RETURN_IF_ERROR(barrier(comm, receiver));
  if (comm.rank() != culprit) {
    Status reason = awaitFailure(receiver);
    std::vector<Message> all = receiver.all();
    if (std::none_of(all.begin(), all.end(), [](const Message &each) {
          return numberOf(each.bytes) == 77;
        }))
      return failure("the last control message is lost");
    if (receiver.failureCount() != 1)
      return failure("told ", receiver.failureCount(), " times");
    if (comm.send(0, Lane::Control, makeMessage(0)).ok())
      return failure("a message after the failure");
    return reason;
  }
  for (int64_t to = 0; to < comm.size(); ++to)
    if (to != culprit)
      (void)comm.send(to, Lane::Control, makeMessage(77));
  comm.abort(failure("the disk is on fire"));
  return failure("the disk is on fire");
}

/// A sender that waits for room is woken when the job ends.
Status abortsUnderPressure(Communicator &comm) {
  CollectingReceiver receiver(comm);
  if (comm.rank() == culprit)
    receiver.setRoom(0, false);
  SLUICE_RETURN_IF_ERROR(barrier(comm, receiver));
  if (comm.rank() == culprit) {
    std::this_thread::sleep_for(milliseconds(300));
    comm.abort(failure("too much"));
    return failure("too much");
  }
  if (comm.rank() == 0) {
    Status sent;
    for (int i = 0; i < 10 * defaultCapacity && sent.ok(); ++i)
      sent = comm.send(culprit, Lane::Data, makeMessage(i, 1000));
    if (sent.ok())
      return failure("nothing stopped the sender");
  }
  return awaitFailure(receiver);
}

Status leaves(Communicator &comm) {
  CollectingReceiver receiver(comm);
  SLUICE_RETURN_IF_ERROR(barrier(comm, receiver));
  if (comm.rank() == culprit)
    // The communicator is destroyed before its receiver.
    return failure("leaves");
  return awaitFailure(receiver);
}

/// Members of a group wait for a member that is lost.
Status lostInGroup(Communicator &comm, bool isKilled) {
  CollectingReceiver receiver(comm);
  SLUICE_RETURN_IF_ERROR(barrier(comm, receiver));
  if (comm.rank() == culprit && isKilled)
    std::raise(SIGKILL);
  if (comm.rank() == culprit)
    return failure("leaves");
  Bytes bytes;
  Status reason = comm.receive(culprit, bytes);
  return reason.ok() ? failure("a message of nobody") : reason;
}
Status leavesGroup(Communicator &comm) { return lostInGroup(comm, false); }
Status killedInGroup(Communicator &comm) { return lostInGroup(comm, true); }

Status neverEnds(Communicator &comm) {
  CollectingReceiver receiver(comm);
  SLUICE_RETURN_IF_ERROR(barrier(comm, receiver));
  if (comm.rank() == culprit)
    return awaitFailure(receiver);
  return comm.finish(milliseconds(500));
}

Status signalled(Communicator &comm, int signal) {
  CollectingReceiver receiver(comm);
  SLUICE_RETURN_IF_ERROR(barrier(comm, receiver));
  if (comm.rank() == culprit)
    std::raise(signal);
  return awaitFailure(receiver);
}
Status stopped(Communicator &comm) { return signalled(comm, SIGSTOP); }
Status killed(Communicator &comm) { return signalled(comm, SIGKILL); }

constexpr FailureCase cases[] = {
    {"aborts", 3, aborts, "rank 1: the disk is on fire", true},
    {"aborts-under-pressure", 3, abortsUnderPressure, "rank 1: too much", true},
    {"leaves", 3, leaves, "rank 1: has left before the end", true},
    {"leaves-group", 3, leavesGroup, "rank 1: has left before the end", true},
    {"never-ends", 3, neverEnds, "rank 1 still works", true},
    {"stopped", 3, stopped, "rank 1 does not answer", false},
    {"killed", 3, killed, "", false},
    {"killed-in-group", 3, killedInGroup, "", false},
};

} // namespace

std::span<const FailureCase> sluice::comm::test::failureCases() {
  return cases;
}
