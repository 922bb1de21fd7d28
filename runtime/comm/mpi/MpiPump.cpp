//===- MpiPump.cpp - the thread that calls MPI ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiPump.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/TimerSlack.h"

#include <cstring>
#include <thread>

using namespace sluice;
using namespace sluice::comm;

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// After this time without a message, the thread sleeps between its polls,
/// first briefly, then longer.
constexpr microseconds spinTime{10};
constexpr microseconds shortestNap{20};
/// The longest sleep while a message is being received, which only proceeds in
/// calls of MPI.
constexpr microseconds receivingNap{50};
/// After this time without a message, sleeps may be five times as long.
constexpr milliseconds quietTime{200};
/// While a member of a group waits for the others, which reach the same call of
/// a step at about the same time, the thread does not sleep for this long;
/// after that it sleeps briefly until quietTime.
constexpr milliseconds groupTime{1};
/// A pause of this rank that is at least this long does not count as silence of
/// the others.
constexpr milliseconds pauseTime{1000};

} // namespace

MpiPump::MpiPump(std::unique_ptr<MpiLibrary> library, MpiShared &shared,
                 BufferPool &buffers, const CommunicatorOptions &options)
    : library(std::move(library)), shared(shared), buffers(buffers),
      options(options), nap(shortestNap) {}

Status MpiPump::initialize(MpiLaunch &launch) {
  SLUICE_RETURN_IF_ERROR(library->initialize());
  self = library->rank();
  ranks = library->size();
  if (self != launch.rank || ranks != launch.size)
    return failure("MPI: the library says rank ", self, " of ", ranks,
                   ", the launcher says ", launch.rank, " of ", launch.size);
  launch.localRank = launch.localRank.value_or(library->localRank());
  launch.localSize = launch.localSize.value_or(library->localSize());
  waitPrecisely(); // without it, sleeps of 20 us would take 70
  peers.resize(static_cast<size_t>(ranks));
  lastRound = lastMoved = Clock::now();
  for (Peer &peer : peers)
    peer.heard = lastRound;
  return {};
}

void MpiPump::run() {
  while (!over)
    if (Status s = guarded([this] { return runRound(); }); !s.ok())
      fail(s);
}

Status MpiPump::runRound() {
  Orders due = takeOrders();
  if (due.abort)
    abortJob();
  if (due.broken || broken) {
    tellFailure();
    std::unique_lock lock(shared.mutex);
    shared.wake.wait(lock, [&] { return shared.changed; });
    return {};
  }
  auto now = Clock::now();
  bool moved = pump(now);
  if (due.finishing && !broken)
    advanceEnd(now);
  if (!over)
    idle(moved, due.groupAwaited, now);
  return {};
}

/// Takes over what other threads have asked for, with one lock in each round.
MpiPump::Orders MpiPump::takeOrders() {
  std::unique_lock lock(shared.mutex);
  shared.changed = false;
  Orders due{shared.abortReason.has_value(), !shared.broken.ok(),
             shared.finishing, shared.groupAwaited > 0};
  if (!receiver && shared.receiver)
    receiver = &*shared.receiver;
  if (due.broken && !due.abort)
    return due;
  for (size_t to = 0; to < shared.out.size(); ++to) {
    MpiShared::Outbox &box = shared.out[to];
    auto order = [&](MpiSpace space, Ring<Bytes> &queue) {
      while (!queue.empty())
        orders.push_back(
            {static_cast<int>(to), space, queue.pop(), /*counted=*/true});
    };
    order(MpiSpace::Control, box.control);
    order(MpiSpace::Group, box.group);
    order(MpiSpace::Data, box.data);
  }
  return due;
}

bool MpiPump::pump(Clock::time_point now) {
  if (now - lastRound > pauseTime) // this rank was stopped, not its peers
    for (Peer &peer : peers)
      peer.heard += now - lastRound;
  lastRound = now;
  bool moved = !orders.empty();
  for (Sending &order : orders)
    post(std::move(order), Tag::Message);
  orders.clear();
  moved |= completeSends();
  match(MpiSpace::Control, now);
  moved |= completeReceives(MpiSpace::Control);
  moved |= deliverControl();
  match(MpiSpace::Group, now);
  moved |= completeReceives(MpiSpace::Group);
  if (receiver && !broken) {
    match(MpiSpace::Data, now);
    completeReceives(MpiSpace::Data);
    moved |= deliverData();
  }
  beat(now);
  checkSilence(now);
  return moved;
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

void MpiPump::post(Sending order, Tag tag) {
  if (Status status = library->send(
          order.space, order.to, static_cast<int>(tag), order.bytes,
          /*synchronous=*/order.space != MpiSpace::Control, order.request);
      !status.ok())
    return fail(status);
  ++sending;
  peers[order.to].sends[static_cast<size_t>(order.space)].push(
      std::move(order));
}

void MpiPump::postTo(int to, Tag tag, std::span<const uint8_t> bytes) {
  Sending order;
  order.to = to;
  order.bytes = buffers.take();
  order.bytes.assign(bytes.begin(), bytes.end());
  post(std::move(order), tag);
}

bool MpiPump::completeSends() {
  bool moved = false;
  for (Peer &peer : peers)
    for (Ring<Sending> &queue : peer.sends)
      moved |= completeSends(queue);
  return moved;
}

/// Completes sends to one rank. They complete in about the order in which they
/// were posted, so only the first is tested: each test that fails makes MPI
/// look at all its connections.
bool MpiPump::completeSends(Ring<Sending> &queue) {
  int64_t done = 0;
  while (!queue.empty()) {
    bool isDone = false;
    if (Status status = library->test(queue.front().request, isDone);
        !status.ok())
      fail(status);
    if (!isDone)
      break;
    Sending sent = queue.pop();
    buffers.give(std::move(sent.bytes));
    --sending;
    if (!sent.counted) // a heartbeat is no reason to stay awake
      continue;
    ++done;
    std::lock_guard lock(shared.mutex);
    MpiShared::Outbox &box = shared.out[sent.to];
    --(sent.space == MpiSpace::Data    ? box.dataOnWay
       : sent.space == MpiSpace::Group ? box.groupOnWay
                                       : box.controlOnWay);
    shared.progress.notify_all();
  }
  return done > 0;
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

bool MpiPump::match(MpiSpace space, Clock::time_point now) {
  if (broken)
    return false;
  auto which = static_cast<size_t>(space);
  bool isFull = space == MpiSpace::Group && anyGroupFull();
  if (busy[which] == 0 && !isFull)
    return matchFrom(space, anySource, now);
  bool found = false;
  for (int source = 0; source < ranks && !broken; ++source)
    if (!peers[source].incoming[which].active && !(isFull && groupFull(source)))
      found |= matchFrom(space, source, now);
  return found;
}

/// Returns whether receive() must take a message from `source` before more are
/// matched. The sender's synchronous sends stay undone meanwhile, so the sender
/// waits.
bool MpiPump::groupFull(int source) const {
  return int64_t(shared.groupWaiting[source].load(std::memory_order_relaxed)) >=
         options.capacity;
}

bool MpiPump::anyGroupFull() const {
  for (int source = 0; source < ranks; ++source)
    if (groupFull(source))
      return true;
  return false;
}

bool MpiPump::matchFrom(MpiSpace space, int source, Clock::time_point now) {
  bool found = false;
  MpiArrival arrival;
  Status status = library->probe(space, source, found, arrival);
  if (status.ok() && !found)
    return false;
  if (status.ok() && arrival.bytes > options.messageBytes)
    status =
        failure("rank ", arrival.source, " has sent a message of ",
                arrival.bytes, " bytes, the limit is ", options.messageBytes);
  if (status.ok()) {
    Peer &peer = peers[arrival.source];
    Incoming &incoming = peer.incoming[static_cast<size_t>(space)];
    incoming.active = true;
    incoming.complete = false;
    incoming.tag = arrival.tag;
    incoming.bytes = buffers.take();
    incoming.bytes.resize(static_cast<size_t>(arrival.bytes));
    status = library->receive(arrival, incoming.bytes, incoming.request);
    peer.heard = now;
    ++busy[static_cast<size_t>(space)];
  }
  if (!status.ok())
    fail(status);
  return true;
}

bool MpiPump::completeReceives(MpiSpace space) {
  auto which = static_cast<size_t>(space);
  bool moved = false;
  if (busy[which] == 0)
    return false;
  for (int source = 0; source < ranks; ++source) {
    Incoming &incoming = peers[source].incoming[which];
    if (!incoming.active || incoming.complete || broken)
      continue;
    bool done = false;
    if (Status status = library->test(incoming.request, done); !status.ok()) {
      fail(status);
      return moved;
    }
    if (!done)
      continue;
    if (space == MpiSpace::Data) {
      incoming.complete = true;
      continue;
    }
    if (space == MpiSpace::Group) {
      keepForGroup(source, incoming);
      moved = true;
    } else {
      moved |= handleControl(source, incoming);
    }
    incoming.active = false;
    --busy[which];
  }
  return moved;
}

/// Keeps the message until receive() takes it.
void MpiPump::keepForGroup(int source, Incoming &incoming) {
  std::lock_guard lock(shared.mutex);
  shared.group[source].push(std::move(incoming.bytes));
  shared.groupWaiting[source].fetch_add(1, std::memory_order_release);
  shared.progress.notify_all();
}

/// Returns whether the message was more than a heartbeat.
bool MpiPump::handleControl(int source, Incoming &incoming) {
  Peer &peer = peers[source];
  Bytes bytes = std::move(incoming.bytes);
  switch (static_cast<Tag>(incoming.tag)) {
  case Tag::Message:
    peer.control.push(std::move(bytes));
    return true;
  case Tag::Beat:
    break;
  case Tag::Done:
    if (bytes.size() != 2 * sizeof(uint64_t)) {
      fail(failure("rank ", source, " ends with ", bytes.size(), " bytes"));
      return true;
    }
    std::memcpy(&peer.dataSent, bytes.data(), sizeof(uint64_t));
    std::memcpy(&peer.controlSent, bytes.data() + sizeof(uint64_t),
                sizeof(uint64_t));
    peer.done = true;
    break;
  case Tag::Bye:
    peer.bye = true;
    break;
  case Tag::Abort:
    // What has come before the abort is delivered first.
    deliverControl();
    othersNotified = true;
    fail(failure("rank ", source, ": ",
                 std::string(bytes.begin(), bytes.end())));
    break;
  default:
    fail(
        failure("rank ", source, " has sent a message of kind ", incoming.tag));
  }
  Tag tag = static_cast<Tag>(incoming.tag);
  buffers.give(std::move(bytes));
  return tag != Tag::Beat;
}

void MpiPump::deliver(int source, Lane lane, Bytes bytes) {
  Peer &peer = peers[source];
  ++(lane == Lane::Data ? peer.dataTaken : peer.controlTaken);
  receiver->take({source, lane, std::move(bytes)});
}

bool MpiPump::deliverControl() {
  bool moved = false;
  for (int source = 0; receiver && source < ranks; ++source)
    while (!peers[source].control.empty()) {
      deliver(source, Lane::Control, peers[source].control.pop());
      moved = true;
    }
  return moved;
}

bool MpiPump::deliverData() {
  auto which = static_cast<size_t>(MpiSpace::Data);
  bool moved = false;
  for (int source = 0; source < ranks && busy[which] > 0; ++source) {
    Incoming &incoming = peers[source].incoming[which];
    if (!incoming.active || !incoming.complete || !receiver->roomFor(source))
      continue;
    incoming.active = false;
    --busy[which];
    deliver(source, Lane::Data, std::move(incoming.bytes));
    moved = true;
  }
  return moved;
}

//===----------------------------------------------------------------------===//
// Liveness and idling
//===----------------------------------------------------------------------===//

void MpiPump::beat(Clock::time_point now) {
  if (now - lastBeat < options.heartbeat || end == End::SaidBye)
    return;
  lastBeat = now;
  for (int to = 0; to < ranks && !broken; ++to)
    if (to != self)
      postTo(to, Tag::Beat, {});
}

void MpiPump::checkSilence(Clock::time_point now) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == self || peers[peer].bye || broken)
      continue;
    auto silence =
        std::chrono::duration_cast<milliseconds>(now - peers[peer].heard);
    if (silence > options.silence)
      fail(failure("rank ", peer, " does not answer: silent for ",
                   silence.count(), " ms"));
  }
}

void MpiPump::idle(bool moved, bool groupAwaited, Clock::time_point now) {
  if (moved) {
    lastMoved = now;
    nap = shortestNap;
    return;
  }
  auto quiet = now - lastMoved;
  if (quiet < spinTime)
    return;
  if (groupAwaited && quiet < groupTime) {
    std::this_thread::yield();
    return;
  }
  // A member may wait hours for the next step between two requests, so this
  // ends after quietTime.
  bool receiving = groupAwaited && quiet < quietTime;
  for (const Peer &peer : peers)
    for (const Incoming &incoming : peer.incoming)
      receiving |= incoming.active && !incoming.complete;
  microseconds longest = receiving           ? receivingNap
                         : quiet < quietTime ? options.idleSleep
                                             : 5 * options.idleSleep;
  std::unique_lock lock(shared.mutex);
  shared.wake.wait_for(lock, std::min(nap, longest),
                       [&] { return shared.changed; });
  nap = std::min(2 * nap, longest);
}
