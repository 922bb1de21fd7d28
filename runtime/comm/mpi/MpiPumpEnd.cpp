//===- MpiPumpEnd.cpp - the end of a job under MPI ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiPump.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

using namespace sluice;
using namespace sluice::comm;

namespace {

using std::chrono::milliseconds;

/// How long an abort waits for its messages to leave, and for their receivers
/// to report it.
constexpr milliseconds abortGrace{200};
/// The length to which an abort's reason is truncated.
constexpr size_t abortTextBytes = 4096;

} // namespace

/// Ends the job in two rounds. In the first, each rank says that it has sent
/// everything, and how many messages that was. In the second, it says that it
/// has taken everything that the others have sent. Then no message is under
/// way, and MPI can be finalized.
void MpiPump::advanceEnd(Clock::time_point now) {
  if (end == End::Working && sending == 0 && orders.empty())
    sayDone();
  if (end == End::SaidDone && allTaken()) {
    end = End::SaidBye;
    for (int to = 0; to < ranks && !broken; ++to)
      if (to != self)
        postTo(to, Tag::Bye, {});
  }
  bool byes = end == End::SaidBye && sending == 0;
  for (int peer = 0; peer < ranks; ++peer)
    byes = byes && (peer == self || peers[peer].bye);
  if (byes && !broken)
    return finalize();
  std::unique_lock lock(shared.mutex);
  if (now < shared.finishBy)
    return;
  lock.unlock();
  fail(failure("no end in time: ", unfinished()));
}

void MpiPump::sayDone() {
  end = End::SaidDone;
  for (int to = 0; to < ranks && !broken; ++to) {
    uint64_t counts[2];
    {
      std::lock_guard lock(shared.mutex);
      counts[0] = shared.out[to].sent.dataMessages;
      counts[1] = shared.out[to].sent.controlMessages;
    }
    if (to == self) {
      peers[to].done = true;
      peers[to].dataSent = counts[0];
      peers[to].controlSent = counts[1];
      continue;
    }
    postTo(to, Tag::Done,
           {reinterpret_cast<const uint8_t *>(counts), sizeof(counts)});
  }
}

bool MpiPump::allTaken() const {
  for (const Peer &peer : peers)
    if (!peer.done || peer.dataTaken != peer.dataSent ||
        peer.controlTaken != peer.controlSent)
      return false;
  return true;
}

void MpiPump::finalize() {
  {
    std::lock_guard lock(shared.mutex);
    shared.finalizing = true;
    shared.progress.notify_all();
  }
  Status status = library->finalize();
  over = true;
  std::lock_guard lock(shared.mutex);
  shared.broken = status;
  shared.ended = status.ok();
  shared.progress.notify_all();
}

std::string MpiPump::unfinished() const {
  std::ostringstream text;
  const char *separator = "";
  for (int each = 0; each < ranks; ++each) {
    const Peer &peer = peers[each];
    uint64_t waiting =
        peer.dataSent + peer.controlSent - peer.dataTaken - peer.controlTaken;
    if (peer.bye)
      continue;
    if (!peer.done && each != self)
      text << separator << "rank " << each << " still works";
    else if (peer.done && waiting > 0)
      text << separator << waiting << " messages from rank " << each
           << " have not been taken";
    else if (each != self)
      text << separator << "rank " << each << " has not taken all messages";
    else
      continue;
    separator = "; ";
  }
  return text.str();
}

void MpiPump::fail(const Status &status) {
  broken = true;
  std::lock_guard lock(shared.mutex);
  if (shared.broken.ok())
    shared.broken = status;
  shared.progress.notify_all();
  // The thread must look again, to tell the receiver.
  shared.changed = true;
}

void MpiPump::tellFailure() {
  if (!receiver || failureReported)
    return;
  failureReported = true;
  deliverControl();
  Status reason;
  {
    std::lock_guard lock(shared.mutex);
    reason = shared.broken;
  }
  receiver->failed(reason);
}

void MpiPump::abortJob() {
  std::string reason;
  {
    std::lock_guard lock(shared.mutex);
    reason = shared.abortReason->substr(0, abortTextBytes);
  }
  for (Sending &order : orders)
    if (order.space == MpiSpace::Control)
      post(std::move(order), Tag::Message);
  orders.clear();
  for (int to = 0; to < ranks && !othersNotified; ++to)
    if (to != self && !peers[to].bye)
      postTo(to, Tag::Abort,
             {reinterpret_cast<const uint8_t *>(reason.data()), reason.size()});
  // The messages only leave in calls of MPI; then the other ranks get a moment
  // to tell their users.
  for (auto until = Clock::now() + abortGrace; Clock::now() < until;) {
    completeSends();
    std::this_thread::sleep_for(milliseconds(1));
  }
  std::fflush(nullptr);
  library->abort(1);
  std::_Exit(1); // in case MPI_Abort returns
}
