//===- NcclPump.cpp - the thread that calls NCCL --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Guarded.h"
#include "runtime/comm/nccl/NcclRank.h"

using namespace sluice;
using namespace sluice::comm;

/// How often errors are looked for while no transfer is under way.
constexpr std::chrono::milliseconds errorInterval{100};
constexpr std::chrono::milliseconds closePatience{5000};
/// The length to which an error's text is truncated.
constexpr size_t wordsBytes = 4096;

template <typename Call> void NcclRank::forEachEdge(Call call) {
  for (std::unique_ptr<Peer> &peer : peers)
    for (NcclEdge *edge : {peer->to.get(), peer->from.get()})
      if (edge)
        call(*edge, peer->sent.to);
}

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

Status NcclRank::setUp() {
  Clock::time_point deadline = Clock::now() + options.setup;
  if (device)
    SLUICE_RETURN_IF_ERROR(device->enter());
  SLUICE_RETURN_IF_ERROR(makeWaysOut());
  SLUICE_RETURN_IF_ERROR(makeWaysIn(deadline));
  SLUICE_RETURN_IF_ERROR(awaitLinks(deadline));
  return greet();
}

/// Makes the edges of the ways that begin here. The sender of a way makes its
/// NCCL id.
Status NcclRank::makeWaysOut() {
  for (const NcclWay &way : options.ways) {
    if (way.from != self)
      continue;
    Peer &peer = *peers[static_cast<size_t>(way.to)];
    auto edge = std::make_unique<NcclEdge>(
        library, *device,
        way.to == self ? NcclEdge::Role::Both : NcclEdge::Role::Sender);
    SLUICE_RETURN_IF_ERROR(edge->open(options.ringBytes));
    Expected<cuda::Event> copied = device->makeEvent();
    if (!copied)
      return copied.status();
    peer.copied = *copied;
    NcclUniqueId id;
    SLUICE_RETURN_IF_ERROR(
        library.check("ncclGetUniqueId", library.functions.getUniqueId(&id)));
    if (way.to != self)
      SLUICE_RETURN_IF_ERROR(sendControl(
          way.to, Kind::Join, static_cast<uint64_t>(options.ringBytes),
          static_cast<uint64_t>(library.version),
          {reinterpret_cast<const uint8_t *>(id.bytes), sizeof(id.bytes)}));
    SLUICE_RETURN_IF_ERROR(edge->join(id));
    peer.to = std::move(edge);
  }
  return {};
}

Status NcclRank::makeWaysIn(Clock::time_point deadline) {
  for (const NcclWay &way : options.ways) {
    if (way.to != self || way.from == self)
      continue;
    Peer &peer = *peers[static_cast<size_t>(way.from)];
    Lock lock(mutex);
    bool came = progress.wait_until(lock, deadline,
                                    [&] { return peer.id || !broken.ok(); });
    if (!broken.ok())
      return broken;
    if (!came)
      return failure("rank ", way.from, " does not begin to send rows");
    NcclUniqueId id = *peer.id;
    lock.unlock();
    auto edge =
        std::make_unique<NcclEdge>(library, *device, NcclEdge::Role::Receiver);
    SLUICE_RETURN_IF_ERROR(edge->open(options.ringBytes));
    SLUICE_RETURN_IF_ERROR(edge->join(id));
    peer.from = std::move(edge);
  }
  return {};
}

Status NcclRank::awaitLinks(Clock::time_point deadline) {
  for (;;) {
    Status status;
    bool isUp = true;
    int64_t missing = self;
    forEachEdge([&](NcclEdge &edge, int64_t other) {
      Expected<bool> settled = edge.nccl().settled();
      if (!settled && status.ok())
        status = settled.status();
      if (settled && !*settled) {
        isUp = false;
        missing = other;
      }
    });
    Lock lock(mutex);
    if (!broken.ok())
      return broken;
    if (!status.ok() || isUp)
      return status;
    if (Clock::now() >= deadline)
      return failure("NCCL: rank ", missing, " has not joined within ",
                     options.setup.count(), " ms");
    progress.wait_for(lock, std::chrono::milliseconds(1));
  }
}

/// Makes the first transfer of each way here, where the other rank may be late,
/// and not in a step.
Status NcclRank::greet() {
  forEachEdge([](NcclEdge &edge, int64_t) { edge.greet(); });
  for (bool isUnderWay = true; isUnderWay;) {
    if (Expected<bool> moved = advanceEdges(options.setup); !moved)
      return moved.status();
    isUnderWay = false;
    forEachEdge([&](NcclEdge &edge, int64_t) { isUnderWay |= edge.busy(); });
    Lock lock(mutex);
    if (!broken.ok())
      return broken;
    if (isUnderWay)
      progress.wait_for(lock, nap);
  }
  forEachEdge([](NcclEdge &edge, int64_t) { edge.greeted(); });
  return {};
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// Gives the queued transfers to the edges, and sets isBusy, which holds
/// finish() up. Called with the lock held.
void NcclRank::takeOrders() {
  auto take = [&](Ring<NcclTransfer> &orders, NcclEdge *edge) {
    for (; !orders.empty(); isBusy = true)
      edge->order(orders.pop());
  };
  for (std::unique_ptr<Peer> &peer : peers) {
    take(peer->sendOrders, peer->to.get());
    take(peer->receiveOrders, peer->from.get());
  }
}

Expected<bool> NcclRank::advanceEdges(Clock::duration patience) {
  Clock::time_point now = Clock::now();
  Status status;
  bool moved = false;
  forEachEdge([&](NcclEdge &edge, int64_t other) {
    Expected<bool> advanced = edge.advance(now, patience);
    if (!advanced && status.ok())
      status = failure("rows between ranks ", self, " and ", other, ": ",
                       advanced.status().message());
    moved |= advanced && *advanced;
  });
  if (!status.ok())
    return status;
  return moved;
}

bool NcclRank::deliverControl(Lock &lock) {
  if (!receiver)
    return false;
  for (std::unique_ptr<Peer> &peer : peers) {
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

bool NcclRank::hasCome(const Peer &peer, const DevicePayload &payload) const {
  return payload.bytes == 0 || peer.incoming()->completed() > payload.number;
}

/// Delivers one data message whose rows have come. It takes turns between the
/// sources, so that a busy source does not starve others.
bool NcclRank::deliverData(Lock &lock) {
  if (!receiver)
    return false;
  for (size_t i = 0; i < peers.size(); ++i) {
    size_t source = (nextSource + i) % peers.size();
    Peer &peer = *peers[source];
    if (peer.data.empty() || !hasCome(peer, peer.data.front().payload))
      continue;
    lock.unlock();
    bool room = receiver->roomFor(static_cast<int64_t>(source));
    lock.lock();
    // Only this thread pops, so the queue still has its first message.
    if (!room)
      continue;
    nextSource = source + 1;
    Message message = peer.data.pop();
    lock.unlock();
    if (message.payload.bytes > 0)
      message.payload.address =
          peer.incoming()->in(static_cast<int64_t>(message.payload.address));
    receiver->take(std::move(message));
    base->roomChanged();
    lock.lock();
    ++peer.dataTaken;
    return true;
  }
  return false;
}

bool NcclRank::tellFailure(Lock &lock) {
  if (!reported && (receiver || aborted)) {
    reported = true;
    if (aborted)
      return true;
    Status reason = broken;
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
  forEachEdge([](NcclEdge &edge, int64_t) { edge.breakOff(); });
  lock.lock();
  return true;
}

/// Tells the other ranks over the base communicator, which still works, so that
/// they can report the failure before the job ends.
void NcclRank::tellOthers(const Status &reason) {
  std::string words = reason.message().substr(0, wordsBytes);
  for (int64_t to = 0; to < size(); ++to)
    if (to != self)
      (void)sendControl(
          to, Kind::Broken, 0, 0,
          {reinterpret_cast<const uint8_t *>(words.data()), words.size()});
}

/// Ends the job if it is time, and returns whether it was.
bool NcclRank::endJob(Lock &lock) {
  if (!endBy || Clock::now() < *endBy)
    return false;
  endBy.reset();
  Status reason = found;
  lock.unlock();
  base->abort(reason);
  lock.lock();
  return true;
}

/// Waits until there may be work. While a transfer is under way no event
/// announces its end, so NCCL and the device have to be polled.
void NcclRank::idle(Lock &lock) {
  auto isAwaited = [&] { return changed || stopping; };
  if (!isBusy || !broken.ok()) {
    if (broken.ok())
      wake.wait_for(lock, errorInterval, isAwaited);
    else if (endBy)
      wake.wait_until(lock, *endBy, isAwaited);
    else
      wake.wait(lock, isAwaited);
  } else if (Clock::now() - lastMoved < attention) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  } else {
    wake.wait_for(lock, nap, isAwaited);
  }
}

/// Advances the edges, in each round.
bool NcclRank::advance(Lock &lock) {
  takeOrders();
  // The other ranks may have left once everything is drained.
  if (!broken.ok() || (drained && !isBusy))
    return false;
  lock.unlock();
  Expected<bool> moved = advanceEdges(options.patience);
  bool isUnderWay = false;
  forEachEdge([&](NcclEdge &edge, int64_t) { isUnderWay |= edge.busy(); });
  if (!moved)
    fail(moved.status());
  lock.lock();
  isBusy = isUnderWay;
  if (!moved || !*moved)
    return false;
  lastMoved = Clock::now();
  return true;
}

void NcclRank::closeEdges(Lock &lock) {
  lock.unlock();
  Clock::time_point deadline = Clock::now() + closePatience;
  Status status;
  // An error of startEnd() is kept, and close() returns it.
  forEachEdge([](NcclEdge &edge, int64_t) { (void)edge.nccl().startEnd(); });
  forEachEdge([&](NcclEdge &edge, int64_t) {
    Status closing = edge.nccl().close(deadline);
    if (status.ok())
      status = closing;
  });
  lock.lock();
  if (broken.ok())
    broken = status;
  closed = true;
  progress.notify_all();
}

/// Runs until the end. An exception in run() or in a callback is handled as a
/// failure, by calling run() once more; if that throws too, the job is aborted.
void NcclRank::runToTheEnd() {
  auto rounds = [this] {
    run();
    return Status();
  };
  Status thrown = guarded(rounds);
  if (thrown.ok())
    return;
  fail(thrown);
  if (!guarded(rounds).ok())
    base->abort(thrown);
}

void NcclRank::run() {
  Lock lock(mutex);
  while (!stopping && !ended) {
    changed = false;
    bool moved = advance(lock);
    if (!reported)
      moved |= deliverControl(lock);
    if (broken.ok())
      moved |= deliverData(lock);
    else
      moved = moved || tellFailure(lock) || endJob(lock);
    if (moved)
      continue;
    if (finishing)
      progress.notify_all();
    idle(lock);
  }
  if (ended)
    closeEdges(lock);
  wake.wait(lock, [this] { return stopping; });
}

/// Destroys the edges, on the thread that has entered the device, when no
/// thread sends any more.
void NcclRank::dropEdges() {
  for (std::unique_ptr<Peer> &peer : peers) {
    peer->to.reset();
    peer->from.reset();
    if (peer->copied)
      device->destroy(peer->copied);
  }
}
