//===- NcclCommunicator.cpp - messages with rows from GPU to GPU ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclCommunicator.h"

#include "runtime/base/Guarded.h"
#include "runtime/comm/nccl/NcclRank.h"

#include <algorithm>
#include <cassert>
#include <future>

using namespace sluice;
using namespace sluice::comm;

using std::chrono::milliseconds;

NcclRank::NcclRank(std::unique_ptr<Communicator> given,
                   const NcclLibrary &library, cuda::Device *device,
                   const NcclOptions &options)
    : base(std::move(given)), library(library), device(device),
      options(options), self(base->rank()) {
  for (int64_t rank = 0; rank < base->size(); ++rank) {
    peers.push_back(std::make_unique<Peer>(options.ringBytes));
    peers.back()->sent.to = rank;
  }
}

NcclRank::~NcclRank() {
  {
    Lock lock(mutex);
    stopping = true;
    signal();
  }
  if (thread.joinable())
    thread.join();
  base->detach(); // no more calls of arrive(), which may call fail()
  // A peer's next call may come before it is told of the failure. It must then
  // report this failure, and not a rank that has left.
  if (endBy)
    base->abort(found);
  base.reset(); // breaks the job, unless it has ended
}

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
    if (way.to == self)
      peers[static_cast<size_t>(way.from)]->isWay = true;
  base->start({[this](int64_t source) {
                 Lock lock(mutex);
                 return static_cast<int64_t>(peers[source]->data.size()) <
                        options.capacity;
               },
               [this](Message message) { arrive(std::move(message)); },
               [this](Status status) {
                 Lock lock(mutex);
                 baseBroken = true;
                 if (broken.ok())
                   broken = std::move(status);
                 progress.notify_all();
                 signal();
               }});
  std::promise<Status> made;
  std::future<Status> result = made.get_future();
  thread = std::thread([this, made = std::move(made)]() mutable {
    Status status = guarded([this] { return setUp(); });
    bool isUp = status.ok();
    made.set_value(std::move(status));
    if (isUp)
      runToTheEnd();
    dropEdges();
  });
  return result.get();
}

void NcclRank::start(Receiver given) {
  // Before the lock, since callbacks lock `mutex` while they hold the gate's.
  Receiver gated = gate.open(std::move(given), [this](const Message &message) {
    if (message.payload.bytes > 0)
      giveBack(message.payload);
  });
  Lock lock(mutex);
  assert(!receiver && "start() is called once");
  receiver = std::move(gated);
  signal();
}

void NcclRank::detach() {
  gate.close();
  roomChanged(); // delivers what is dropped from now on
}

void NcclRank::roomChanged() {
  Lock lock(mutex);
  signal();
}

Status NcclRank::stateError() const {
  if (!broken.ok())
    return broken;
  if (finishing)
    return failure("rank ", self, ": sends after its end");
  return {};
}

Status NcclRank::send(int64_t to, Lane lane, Bytes bytes,
                      int64_t emulatedBytes) {
  if (to < 0 || to >= size())
    return failure("rank ", self, ": no rank ", to, " in a job of ", size());
  Traffic &sent = peers[static_cast<size_t>(to)]->sent;
  if (lane == Lane::Group) {
    {
      Lock lock(mutex);
      ++sent.groupMessages;
      sent.groupBytes += bytes.size();
    }
    return base->send(to, lane, std::move(bytes));
  }
  bool isData = lane == Lane::Data;
  auto length = bytes.size();
  {
    Lock lock(mutex);
    SLUICE_RETURN_IF_ERROR(stateError());
    ++(isData ? sent.dataMessages : sent.controlMessages);
    (isData ? sent.dataBytes : sent.controlBytes) += length;
  }
  NcclEnvelope().close(bytes);
  Status status = base->send(to, lane, std::move(bytes), emulatedBytes);
  if (!status.ok()) {
    // The message does not arrive, and the other side waits for the counted
    // number.
    Lock lock(mutex);
    --(isData ? sent.dataMessages : sent.controlMessages);
    (isData ? sent.dataBytes : sent.controlBytes) -= length;
  }
  return status;
}

Status NcclRank::sendControl(int64_t to, Kind kind, uint64_t first,
                             uint64_t second, std::span<const uint8_t> body) {
  Bytes bytes = base->buffers().take();
  bytes.assign(body.begin(), body.end());
  NcclEnvelope{kind, first, second}.close(bytes);
  return base->send(to, Lane::Control, std::move(bytes));
}

/// Copies the rows into the ring and returns when they are there. The receiver
/// starts to receive as soon as it has the message, and its NCCL kernel would
/// have to wait for the work that precedes the rows in the stream.
Status NcclRank::copyRows(Peer &peer, cuda::DeviceAddress to,
                          cuda::DeviceAddress rows, uint64_t bytes,
                          cuda::Stream stream) {
  SLUICE_RETURN_IF_ERROR(device->copyOnDevice(to, rows, bytes, stream));
  SLUICE_RETURN_IF_ERROR(device->record(peer.copied, stream));
  for (Clock::time_point begun = Clock::now();;) {
    Expected<bool> isDone = device->isDone(peer.copied);
    if (!isDone || *isDone)
      return isDone.status();
    if (Clock::now() - begun < attention)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(nap);
    // Also if the job is broken, since the ring is freed with this object.
    if (Clock::now() - begun > device->options().patience)
      device->giveUp(failure("rows of a step have not been copied in time"));
  }
}

Status NcclRank::sendRows(int64_t to, Bytes bytes, cuda::DeviceAddress rows,
                          int64_t rowBytes, cuda::Stream stream) {
  if (to < 0 || to >= size() || !peers[static_cast<size_t>(to)]->to)
    return failure("rank ", self, ": no way for rows to rank ", to);
  if (rowBytes <= 0 || rowBytes > options.ringBytes)
    return failure("rank ", self, ": ", rowBytes,
                   " bytes of rows, the limit is ", options.ringBytes);
  Peer &peer = *peers[static_cast<size_t>(to)];
  // Held so that messages leave in the order in which they got their room.
  std::lock_guard one(peer.sending);
  std::optional<int64_t> offset;
  auto length = bytes.size();
  {
    Lock lock(mutex);
    progress.wait(lock, [&] {
      return !stateError().ok() || (offset = peer.room.take(rowBytes));
    });
    if (!offset)
      return stateError();
    ++peer.rowsSent;
    ++peer.sent.dataMessages;
    peer.sent.dataBytes += length + static_cast<uint64_t>(rowBytes);
  }
  auto from = static_cast<uint64_t>(rowBytes);
  Status status = copyRows(peer, peer.to->out(*offset), rows, from, stream);
  if (status.ok()) {
    NcclEnvelope{Kind::Payload, static_cast<uint64_t>(*offset), from}.close(
        bytes);
    status = base->send(to, Lane::Data, std::move(bytes));
  }
  if (!status.ok()) {
    // The message has its room but is not sent, so both ends of the way no
    // longer agree.
    fail(status);
    return status;
  }
  Lock lock(mutex);
  peer.sendOrders.push({*offset, rowBytes});
  signal();
  return {};
}

void NcclRank::fail(const Status &status) {
  Status reason = failure("rank ", self, ": ", status.message());
  {
    Lock lock(mutex);
    if (closed || !broken.ok())
      return;
    broken = reason;
    found = status;
    endBy = Clock::now() + tellingGrace;
    progress.notify_all();
    signal();
  }
  tellOthers(reason);
}

void NcclRank::abort(const Status &reason) {
  {
    Lock lock(mutex);
    if (closed || aborted)
      return;
    aborted = true;
    if (broken.ok())
      broken = failure("rank ", self, ": ", reason.message());
    progress.notify_all();
    signal();
  }
  base->abort(reason);
}

bool NcclRank::allDrained() const {
  for (const std::unique_ptr<Peer> &peer : peers)
    if (!peer->drained() || !peer->sendOrders.empty())
      return false;
  return !isBusy;
}

/// Returns what finish() still waits for.
std::string NcclRank::unfinished() const {
  std::ostringstream text;
  const char *separator = "";
  for (const std::unique_ptr<Peer> &peer : peers) {
    if (peer->drained())
      continue;
    text << separator << "rank " << peer->sent.to;
    if (!peer->done)
      text << " still works";
    else
      text << " has sent what has not been taken";
    separator = "; ";
  }
  return text.str();
}

/// Lets all ranks drain their messages first. The base communicator may end
/// only after that, since credits travel over it.
Status NcclRank::finish(milliseconds patience) {
  Clock::time_point until = Clock::now() + patience;
  std::vector<Traffic> counts;
  {
    Lock lock(mutex);
    if (!broken.ok() && !baseBroken && !aborted) {
      // The other ranks still learn of this failure over the base.
      lock.unlock();
      (void)base->finish(std::min(patience, tellingGrace));
      lock.lock();
    }
    if (!broken.ok())
      return broken;
    if (finishing)
      return failure("rank ", self, ": ends a second time");
    finishing = true;
    progress.notify_all(); // wakes senders that wait
  }
  counts = traffic();
  Status status;
  for (const Traffic &each : counts)
    if (status.ok())
      status = sendControl(each.to, Kind::Done, each.dataMessages,
                           each.controlMessages);
  Lock lock(mutex);
  if (status.ok() && !progress.wait_until(lock, until, [&] {
        return !broken.ok() || allDrained();
      }))
    status = failure("no end within ", patience.count(), " ms: ", unfinished());
  if (!status.ok()) {
    reported = true; // the caller gets the error from finish()
    lock.unlock();
    fail(status);
    lock.lock();
  }
  if (!broken.ok())
    return broken;
  drained = true;
  lock.unlock();
  status = base->finish(
      std::max(milliseconds(1),
               std::chrono::duration_cast<milliseconds>(until - Clock::now())));
  lock.lock();
  if (!status.ok() && broken.ok())
    broken = status;
  ended = broken.ok();
  signal();
  progress.wait(lock, [&] { return closed || !broken.ok(); });
  return broken;
}

std::vector<Traffic> NcclRank::traffic() const {
  std::vector<Traffic> sent;
  Lock lock(mutex);
  for (const std::unique_ptr<Peer> &peer : peers)
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
