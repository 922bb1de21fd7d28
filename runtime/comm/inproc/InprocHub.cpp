//===- InprocHub.cpp - the message queues between threads -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/inproc/InprocHub.h"

#include "runtime/base/BriefWait.h"

#include <cassert>

using namespace sluice;
using namespace sluice::comm;

InprocHub::InprocHub(int64_t size, const CommunicatorOptions &options)
    : options(options), inboxes(static_cast<size_t>(size)) {
  assert(size >= 1 && options.capacity >= 1 && options.controlLimit >= 1);
  for (Inbox &inbox : inboxes) {
    inbox.data.resize(inboxes.size());
    inbox.control.resize(inboxes.size());
    inbox.group.resize(inboxes.size());
    inbox.groupWaiting = std::vector<std::atomic<size_t>>(inboxes.size());
    inbox.sent.resize(inboxes.size());
    for (size_t to = 0; to < inboxes.size(); ++to)
      inbox.sent[to].to = static_cast<int64_t>(to);
  }
}

void InprocHub::signal(Inbox &inbox) {
  inbox.changed = true;
  inbox.wake.notify_one();
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

Status InprocHub::sendError(int64_t from, int64_t to,
                            const Bytes &bytes) const {
  if (to < 0 || to >= size())
    return failure("rank ", from, ": no rank ", to, " in a job of ", size());
  if (static_cast<int64_t>(bytes.size()) > options.messageBytes)
    return failure("rank ", from, ": a message of ", bytes.size(),
                   " bytes, the limit is ", options.messageBytes);
  if (!broken.ok())
    return broken;
  if (inboxes[from].finishing)
    return failure("rank ", from, ": sends after its end");
  return {};
}

/// Queues a message once there is room.
Status InprocHub::pushBounded(Lock &lock, Inbox &inbox, Ring<Message> &queue,
                              Message message) {
  inbox.room.wait(lock, [&] {
    return static_cast<int64_t>(queue.size()) < options.capacity ||
           !broken.ok();
  });
  if (!broken.ok())
    return broken;
  queue.push(std::move(message));
  return {};
}

Status InprocHub::send(int64_t from, int64_t to, Lane lane, Bytes bytes) {
  Lock lock(mutex);
  SLUICE_RETURN_IF_ERROR(sendError(from, to, bytes));
  Inbox &inbox = inboxes[to];
  Traffic &sent = inboxes[from].sent[to];
  auto length = bytes.size();
  if (lane == Lane::Group) {
    SLUICE_RETURN_IF_ERROR(pushBounded(lock, inbox, inbox.group[from],
                                       {from, lane, std::move(bytes)}));
    ++sent.groupMessages;
    sent.groupBytes += length;
    inbox.groupWaiting[from].fetch_add(1, std::memory_order_release);
    inbox.groupCame.notify_one();
    return {};
  }
  if (lane == Lane::Control) {
    Ring<Message> &queue = inbox.control[from];
    if (static_cast<int64_t>(queue.size()) >= options.controlLimit)
      return failure("rank ", to,
                     " does not take control messages: ", queue.size(),
                     " from rank ", from, " wait");
    queue.push({from, lane, std::move(bytes)});
    ++sent.controlMessages;
    sent.controlBytes += length;
  } else {
    SLUICE_RETURN_IF_ERROR(pushBounded(lock, inbox, inbox.data[from],
                                       {from, lane, std::move(bytes)}));
    ++sent.dataMessages;
    sent.dataBytes += length;
  }
  ++pending;
  signal(inbox);
  return {};
}

void InprocHub::roomChanged(int64_t rank) {
  Lock lock(mutex);
  signal(inboxes[rank]);
}

std::vector<Traffic> InprocHub::traffic(int64_t rank) const {
  Lock lock(mutex);
  return inboxes[rank].sent;
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

std::optional<Message> InprocHub::popControl(Inbox &inbox) {
  for (Ring<Message> &queue : inbox.control)
    if (!queue.empty())
      return queue.pop();
  return std::nullopt;
}

/// Takes the next data message that the receiver has room for. It takes turns
/// between the sources, so that a busy source does not starve others.
std::optional<Message>
InprocHub::popData(Lock &lock, Inbox &inbox,
                   const Communicator::Receiver &receiver) {
  for (int64_t i = 0; i < size(); ++i) {
    int64_t source = (inbox.nextSource + i) % size();
    if (inbox.data[source].empty())
      continue;
    lock.unlock();
    bool room = receiver.roomFor(source);
    lock.lock();
    // Only this thread pops, so the queue is still not empty.
    if (!room)
      continue;
    inbox.nextSource = source + 1;
    inbox.room.notify_all();
    return inbox.data[source].pop();
  }
  return std::nullopt;
}

Status InprocHub::receive(int64_t rank, int64_t source, Bytes &bytes,
                          Deadline end) {
  bytes.clear();
  if (source < 0 || source >= size())
    return failure("rank ", rank, ": no rank ", source, " in a job of ",
                   size());
  Inbox &inbox = inboxes[rank];
  Ring<Message> &queue = inbox.group[source];
  std::atomic<size_t> &waiting = inbox.groupWaiting[source];
  (void)waitBriefly(
      [&] { return waiting.load(std::memory_order_acquire) > 0; });
  Lock lock(mutex);
  inbox.groupCame.wait_until(lock, end, [&] {
    return !queue.empty() || !inbox.receives || !broken.ok();
  });
  if (!broken.ok())
    return broken;
  if (!inbox.receives)
    return failure("rank ", rank, ": receives no more");
  if (queue.empty())
    return failure("rank ", rank, ": rank ", source, " says nothing in time");
  bytes = std::move(queue.pop().bytes);
  waiting.fetch_sub(1, std::memory_order_relaxed);
  inbox.room.notify_all();
  return {};
}

void InprocHub::stopReceiving(int64_t rank) {
  Lock lock(mutex);
  inboxes[rank].receives = false;
  inboxes[rank].groupCame.notify_all();
}

void InprocHub::taken() {
  --pending;
  if (pending == 0 && finishing == size() && broken.ok()) {
    ended = true;
    finished.notify_all();
  }
}

void InprocHub::deliver(int64_t rank, const Communicator::Receiver &receiver) {
  Inbox &inbox = inboxes[rank];
  Lock lock(mutex);
  while (!inbox.stopping) {
    inbox.changed = false;
    std::optional<Message> message = popControl(inbox);
    if (!message && !broken.ok()) {
      if (brokenBy != rank && !inbox.failureReported) {
        inbox.failureReported = true;
        Status reason = broken;
        lock.unlock();
        receiver.failed(reason);
        lock.lock();
        continue;
      }
    } else if (!message) {
      message = popData(lock, inbox, receiver);
    }
    if (message) {
      lock.unlock();
      receiver.take(std::move(*message));
      lock.lock();
      taken();
      continue;
    }
    inbox.wake.wait(lock, [&] { return inbox.changed || inbox.stopping; });
  }
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void InprocHub::breakJob(int64_t rank, const Status &reason) {
  if (!broken.ok() || ended)
    return;
  broken = failure("rank ", rank, ": ", reason.message());
  brokenBy = rank;
  finished.notify_all();
  for (Inbox &inbox : inboxes) {
    inbox.room.notify_all();
    inbox.groupCame.notify_all();
    signal(inbox);
  }
}

void InprocHub::abort(int64_t rank, const Status &reason) {
  Lock lock(mutex);
  breakJob(rank, reason);
}

void InprocHub::leave(int64_t rank) {
  Lock lock(mutex);
  breakJob(rank, failure("has left before the end"));
}

void InprocHub::stop(int64_t rank) {
  Lock lock(mutex);
  inboxes[rank].stopping = true;
  inboxes[rank].wake.notify_all();
}

/// Returns what finish() still waits for.
std::string InprocHub::unfinished() const {
  std::ostringstream text;
  const char *separator = "";
  for (int64_t rank = 0; rank < size(); ++rank) {
    const Inbox &inbox = inboxes[rank];
    size_t waiting = 0;
    for (const Ring<Message> &queue : inbox.data)
      waiting += queue.size();
    if (!inbox.finishing || waiting > 0) {
      text << separator << "rank " << rank;
      if (!inbox.finishing)
        text << " still works";
      if (waiting > 0)
        text << " has not taken " << waiting << " messages";
      separator = "; ";
    }
  }
  return text.str();
}

Status InprocHub::finish(int64_t rank, std::chrono::milliseconds patience) {
  Lock lock(mutex);
  if (!broken.ok())
    return broken;
  if (inboxes[rank].finishing)
    return failure("rank ", rank, ": ends a second time");
  inboxes[rank].finishing = true;
  ++finishing;
  if (pending == 0 && finishing == size()) {
    ended = true;
    finished.notify_all();
  }
  finished.wait_for(lock, patience, [&] { return ended || !broken.ok(); });
  if (!ended)
    breakJob(rank, failure("no end within ", patience.count(),
                           " ms: ", unfinished()));
  return broken;
}
