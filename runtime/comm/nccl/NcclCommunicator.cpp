//===- NcclCommunicator.cpp - messages with rows from GPU to GPU ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclCommunicator.h"

#include "runtime/comm/nccl/NcclRank.h"

#include <algorithm>
#include <cassert>

using namespace sluice;
using namespace sluice::comm;

using std::chrono::milliseconds;

NcclRank::NcclRank(std::unique_ptr<Communicator> given,
                   const NcclLibrary &library, cuda::Device *device,
                   const NcclOptions &options)
    : base(std::move(given)), library(library), options(options),
      shared(base->rank(), base->size(), options.ringBytes),
      control(*base, shared),
      edges(this->library, device, this->options, base->rank(), base->size()),
      arrivals(shared, control, this->options, this->library),
      pump(*base, shared, control, edges, this->library, this->options) {}

NcclRank::~NcclRank() {
  pump.stop();
  base->detach(); // nothing arrives any more, which could fail
  // A peer's next call may come before it is told of the failure. It must then
  // report this failure, and not a rank that has left.
  if (shared.endBy)
    base->abort(shared.found);
  base.reset(); // breaks the job, unless it has ended
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

static Status checkOptions(const Communicator &base,
                           const NcclOptions &options) {
  auto isRank = [&](int64_t rank) { return rank >= 0 && rank < base.size(); };
  if (options.ringBytes <= 0 || options.ringBytes % MirrorRing::alignment != 0)
    return failure("NCCL: a ring of ", options.ringBytes, " bytes");
  for (const NcclWay &way : options.ways)
    if (!isRank(way.from) || !isRank(way.to))
      return failure("NCCL: no way from rank ", way.from, " to ", way.to,
                     " in a job of ", base.size());
  return {};
}

Status NcclRank::connect() {
  SLUICE_RETURN_IF_ERROR(checkOptions(*base, options));
  for (const NcclWay &way : options.ways)
    if (way.to == shared.self)
      shared.peer(way.from).isWay = true;
  base->start({[this](int64_t source) { return arrivals.hasRoom(source); },
               [this](Message message) { arrivals.take(std::move(message)); },
               [this](Status status) {
                 Lock lock(shared.mutex);
                 shared.baseBroken = true;
                 shared.breakWith(std::move(status));
               }});
  return pump.connect();
}

void NcclRank::start(Receiver given) {
  pump.setReceiver(gate.open(std::move(given), [this](const Message &message) {
    if (message.payload.bytes > 0)
      giveBack(message.payload);
  }));
}

void NcclRank::detach() {
  gate.close();
  roomChanged(); // delivers what is dropped from now on
}

void NcclRank::roomChanged() {
  Lock lock(shared.mutex);
  shared.signal();
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

Status NcclRank::send(int64_t to, Lane lane, Bytes bytes,
                      int64_t emulatedBytes) {
  if (to < 0 || to >= size())
    return failure("rank ", shared.self, ": no rank ", to, " in a job of ",
                   size());
  Traffic &sent = shared.peer(to).sent;
  if (lane == Lane::Group) {
    {
      Lock lock(shared.mutex);
      ++sent.groupMessages;
      sent.groupBytes += bytes.size();
    }
    return base->send(to, lane, std::move(bytes));
  }
  bool isData = lane == Lane::Data;
  auto length = bytes.size();
  {
    Lock lock(shared.mutex);
    SLUICE_RETURN_IF_ERROR(shared.stateError());
    ++(isData ? sent.dataMessages : sent.controlMessages);
    (isData ? sent.dataBytes : sent.controlBytes) += length;
  }
  NcclEnvelope().close(bytes);
  Status status = base->send(to, lane, std::move(bytes), emulatedBytes);
  if (!status.ok()) {
    // The message does not arrive, and the other side waits for the counted
    // number.
    Lock lock(shared.mutex);
    --(isData ? sent.dataMessages : sent.controlMessages);
    (isData ? sent.dataBytes : sent.controlBytes) -= length;
  }
  return status;
}

/// Waits for room for rows in the ring of the way to a rank, and counts the
/// message.
Status NcclRank::takeRoom(int64_t to, int64_t rowBytes, uint64_t length,
                          int64_t &offset) {
  NcclPeer &peer = shared.peer(to);
  std::optional<int64_t> taken;
  Lock lock(shared.mutex);
  shared.progress.wait(lock, [&] {
    return !shared.stateError().ok() || (taken = peer.room.take(rowBytes));
  });
  if (!taken)
    return shared.stateError();
  ++peer.rowsSent;
  ++peer.sent.dataMessages;
  peer.sent.dataBytes += length + static_cast<uint64_t>(rowBytes);
  offset = *taken;
  return {};
}

Status NcclRank::sendRows(int64_t to, Bytes bytes, cuda::DeviceAddress rows,
                          int64_t rowBytes, cuda::Stream stream) {
  if (to < 0 || to >= size() || !edges.leadTo(to))
    return failure("rank ", shared.self, ": no way for rows to rank ", to);
  if (rowBytes <= 0 || rowBytes > options.ringBytes)
    return failure("rank ", shared.self, ": ", rowBytes,
                   " bytes of rows, the limit is ", options.ringBytes);
  NcclPeer &peer = shared.peer(to);
  // Held so that messages leave in the order in which they got their room.
  std::lock_guard one(peer.sending);
  int64_t offset = 0;
  SLUICE_RETURN_IF_ERROR(takeRoom(to, rowBytes, bytes.size(), offset));
  const auto from = static_cast<uint64_t>(rowBytes);
  Status status = edges.copyIn(to, offset, rows, from, stream);
  if (status.ok()) {
    NcclEnvelope{Kind::Payload, static_cast<uint64_t>(offset), from}.close(
        bytes);
    status = base->send(to, Lane::Data, std::move(bytes));
  }
  if (!status.ok()) {
    // The message has its room but is not sent, so both ends of the way no
    // longer agree.
    control.fail(status);
    return status;
  }
  Lock lock(shared.mutex);
  peer.sendOrders.push({offset, rowBytes});
  shared.signal();
  return {};
}

void NcclRank::giveBack(const DevicePayload &payload) {
  Lock lock(shared.mutex);
  const std::optional<uint64_t> count =
      shared.peer(payload.source).giveBack(payload.number);
  // Once everything is drained, no sender waits for room.
  if (!count || shared.drained || !shared.broken.ok())
    return;
  lock.unlock();
  Status sent = control.send(payload.source, Kind::Credit, *count, 0);
  lock.lock();
  const bool isLate = shared.drained;
  lock.unlock();
  if (!sent.ok() && !isLate)
    control.fail(sent);
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void NcclRank::abort(const Status &reason) {
  {
    Lock lock(shared.mutex);
    if (shared.closed || shared.aborted)
      return;
    shared.aborted = true;
    shared.breakWith(failure("rank ", shared.self, ": ", reason.message()));
  }
  base->abort(reason);
}

/// Says that this rank sends no more. Fails if it cannot.
Status NcclRank::beginFinish(milliseconds patience) {
  {
    Lock lock(shared.mutex);
    if (!shared.broken.ok() && !shared.baseBroken && !shared.aborted) {
      // The other ranks still learn of this failure over the base.
      lock.unlock();
      (void)base->finish(std::min(patience, tellingGrace));
      lock.lock();
    }
    if (!shared.broken.ok())
      return shared.broken;
    if (shared.finishing)
      return failure("rank ", shared.self, ": ends a second time");
    shared.finishing = true;
    shared.progress.notify_all(); // wakes senders that wait
  }
  return {};
}

/// Lets all ranks drain their messages.
Status NcclRank::drain(NcclShared::Clock::time_point until,
                       milliseconds patience) {
  Status status;
  for (const Traffic &each : traffic())
    if (status.ok())
      status = control.send(each.to, Kind::Done, each.dataMessages,
                            each.controlMessages);
  Lock lock(shared.mutex);
  if (status.ok() && !shared.progress.wait_until(lock, until, [&] {
        return !shared.broken.ok() || shared.allDrained();
      }))
    status = failure("no end within ", patience.count(),
                     " ms: ", shared.unfinished());
  if (!status.ok()) {
    shared.reported = true; // the caller gets the error from finish()
    lock.unlock();
    control.fail(status);
    lock.lock();
  }
  shared.drained = shared.broken.ok();
  return shared.broken;
}

/// The base communicator may end only when everything is drained, since credits
/// travel over it.
Status NcclRank::finish(milliseconds patience) {
  const NcclShared::Clock::time_point until =
      NcclShared::Clock::now() + patience;
  SLUICE_RETURN_IF_ERROR(beginFinish(patience));
  SLUICE_RETURN_IF_ERROR(drain(until, patience));
  Status status = base->finish(
      std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(
                                    until - NcclShared::Clock::now())));
  Lock lock(shared.mutex);
  if (!status.ok() && shared.broken.ok())
    shared.broken = status;
  shared.ended = shared.broken.ok();
  shared.signal();
  shared.progress.wait(lock,
                       [&] { return shared.closed || !shared.broken.ok(); });
  return shared.broken;
}

std::vector<Traffic> NcclRank::traffic() const {
  std::vector<Traffic> sent;
  Lock lock(shared.mutex);
  for (const std::unique_ptr<NcclPeer> &peer : shared.peers)
    sent.push_back(peer->sent);
  return sent;
}

std::unique_ptr<NcclCommunicator>
comm::layNcclOver(std::unique_ptr<Communicator> base,
                  const NcclLibrary &library, cuda::Device *device,
                  const NcclOptions &options) {
  auto isHere = [&](const NcclWay &way) {
    return way.from == base->rank() || way.to == base->rank();
  };
  assert((device || std::ranges::none_of(options.ways, isHere)) &&
         "rows come from a device");
  (void)isHere;
  return std::make_unique<NcclRank>(std::move(base), library, device, options);
}
