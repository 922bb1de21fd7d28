//===- NcclPump.cpp - the thread that calls NCCL --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclPump.h"

#include "runtime/base/Guarded.h"

#include <cassert>
#include <future>

using namespace sluice;
using namespace sluice::comm;

/// How often errors are looked for while no transfer is under way.
constexpr std::chrono::milliseconds errorInterval{100};
constexpr std::chrono::milliseconds closePatience{5000};

//===----------------------------------------------------------------------===//
// Beginning and ending
//===----------------------------------------------------------------------===//

Status NcclPump::connect() {
  std::promise<Status> made;
  std::future<Status> result = made.get_future();
  thread = std::thread([this, made = std::move(made)]() mutable {
    Status status = guarded([this] { return setUp(); });
    bool isUp = status.ok();
    made.set_value(std::move(status));
    if (isUp)
      runToTheEnd();
    edges.drop();
  });
  return result.get();
}

void NcclPump::setReceiver(Communicator::Receiver given) {
  Lock lock(shared.mutex);
  assert(!receiver && "called once");
  receiver = std::move(given);
  shared.signal();
}

void NcclPump::stop() {
  {
    Lock lock(shared.mutex);
    shared.stopping = true;
    shared.signal();
  }
  if (thread.joinable())
    thread.join();
}

Status NcclPump::setUp() {
  NcclEdges::Meeting meeting;
  meeting.invite = [this](int64_t to, const NcclUniqueId &id) {
    return control.send(
        to, Kind::Join, static_cast<uint64_t>(options.ringBytes),
        static_cast<uint64_t>(library.version),
        {reinterpret_cast<const uint8_t *>(id.bytes), sizeof(id.bytes)});
  };
  meeting.awaitInvitation = [this](int64_t from, Clock::time_point deadline) {
    return awaitId(from, deadline);
  };
  meeting.pause = [this](Clock::duration time) {
    Lock lock(shared.mutex);
    if (shared.broken.ok() && time > Clock::duration(0))
      shared.progress.wait_for(lock, time);
    return shared.broken;
  };
  return edges.setUp(meeting);
}

Expected<NcclUniqueId> NcclPump::awaitId(int64_t from,
                                         Clock::time_point deadline) {
  Lock lock(shared.mutex);
  const NcclPeer &peer = shared.peer(from);
  const bool came = shared.progress.wait_until(
      lock, deadline, [&] { return peer.id || !shared.broken.ok(); });
  if (!shared.broken.ok())
    return shared.broken;
  if (!came)
    return failure("rank ", from, " does not begin to send rows");
  return *peer.id;
}

/// Runs until the end. An exception in run() or in a callback is handled as a
/// failure, by calling run() once more; if that throws too, the job is
/// aborted.
void NcclPump::runToTheEnd() {
  auto rounds = [this] {
    run();
    return Status();
  };
  Status thrown = guarded(rounds);
  if (thrown.ok())
    return;
  control.fail(thrown);
  if (!guarded(rounds).ok())
    base.abort(thrown);
}

void NcclPump::run() {
  Lock lock(shared.mutex);
  while (!shared.stopping && !shared.ended) {
    shared.changed = false;
    bool moved = advance(lock);
    if (!shared.reported)
      moved |= deliverControl(lock);
    if (shared.broken.ok())
      moved |= deliverData(lock);
    else
      moved = moved || reportFailure(lock) || endJob(lock);
    if (moved)
      continue;
    if (shared.finishing)
      shared.progress.notify_all();
    idle(lock);
  }
  if (shared.ended)
    close(lock);
  shared.wake.wait(lock, [this] { return shared.stopping; });
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// Gives the queued transfers to the edges, and sets isBusy, which holds
/// finish() up. Called with the lock held.
void NcclPump::takeOrders() {
  for (std::unique_ptr<NcclPeer> &peer : shared.peers) {
    const int64_t rank = peer->sent.to;
    for (; !peer->sendOrders.empty(); shared.isBusy = true)
      edges.orderTo(rank, peer->sendOrders.pop());
    for (; !peer->receiveOrders.empty(); shared.isBusy = true)
      edges.orderFrom(rank, peer->receiveOrders.pop());
  }
}

/// Advances the edges, in each round.
bool NcclPump::advance(Lock &lock) {
  takeOrders();
  // The other ranks may have left once everything is drained.
  if (!shared.broken.ok() || (shared.drained && !shared.isBusy))
    return false;
  lock.unlock();
  Expected<bool> moved = edges.advance(options.patience);
  const bool isUnderWay = edges.isBusy();
  if (!moved)
    control.fail(moved.status());
  lock.lock();
  shared.isBusy = isUnderWay;
  if (!moved || !*moved)
    return false;
  lastMoved = Clock::now();
  return true;
}

bool NcclPump::deliverControl(Lock &lock) {
  if (!receiver)
    return false;
  for (std::unique_ptr<NcclPeer> &peer : shared.peers) {
    if (peer->control.empty())
      continue;
    Message message = peer->control.pop();
    lock.unlock();
    receiver->take(std::move(message));
    lock.lock();
    ++peer->controlTaken;
    return true;
  }
  return false;
}

/// Delivers one data message whose rows have come. It takes turns between the
/// sources, so that a busy source does not starve others.
bool NcclPump::deliverData(Lock &lock) {
  if (!receiver)
    return false;
  for (size_t i = 0; i < shared.peers.size(); ++i) {
    size_t source = (nextSource + i) % shared.peers.size();
    NcclPeer &peer = *shared.peers[source];
    const auto rank = static_cast<int64_t>(source);
    if (peer.data.empty() ||
        !edges.haveBrought(rank, peer.data.front().payload))
      continue;
    lock.unlock();
    bool room = receiver->roomFor(rank);
    lock.lock();
    // Only this thread pops, so the queue still has its first message.
    if (!room)
      continue;
    nextSource = source + 1;
    Message message = peer.data.pop();
    lock.unlock();
    if (message.payload.bytes > 0)
      message.payload.address =
          edges.addressOf(rank, static_cast<int64_t>(message.payload.address));
    receiver->take(std::move(message));
    base.roomChanged();
    lock.lock();
    ++peer.dataTaken;
    return true;
  }
  return false;
}

bool NcclPump::reportFailure(Lock &lock) {
  if (!shared.reported && (receiver || shared.aborted)) {
    shared.reported = true;
    if (shared.aborted)
      return true;
    Status reason = shared.broken;
    lock.unlock();
    receiver->failed(reason);
    lock.lock();
    return true;
  }
  if (brokenOff)
    return false;
  // After `failed` was called, since this may take as long as NCCL likes.
  brokenOff = true;
  lock.unlock();
  edges.breakOff();
  lock.lock();
  return true;
}

/// Ends the job if it is time, and returns whether it was.
bool NcclPump::endJob(Lock &lock) {
  if (!shared.endBy || Clock::now() < *shared.endBy)
    return false;
  shared.endBy.reset();
  Status reason = shared.found;
  lock.unlock();
  base.abort(reason);
  lock.lock();
  return true;
}

/// Waits until there may be work. While a transfer is under way no event
/// announces its end, so NCCL and the device have to be polled.
void NcclPump::idle(Lock &lock) {
  auto isAwaited = [&] { return shared.changed || shared.stopping; };
  if (!shared.isBusy || !shared.broken.ok()) {
    if (shared.broken.ok())
      shared.wake.wait_for(lock, errorInterval, isAwaited);
    else if (shared.endBy)
      shared.wake.wait_until(lock, *shared.endBy, isAwaited);
    else
      shared.wake.wait(lock, isAwaited);
  } else if (Clock::now() - lastMoved < attention) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  } else {
    shared.wake.wait_for(lock, nap, isAwaited);
  }
}

void NcclPump::close(Lock &lock) {
  lock.unlock();
  Status status = edges.close(closePatience);
  lock.lock();
  if (shared.broken.ok())
    shared.broken = status;
  shared.closed = true;
  shared.progress.notify_all();
}
