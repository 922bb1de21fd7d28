//===- EmulatedLinks.cpp - communicator with emulated latency and speed ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/EmulatedLinks.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/TimerSlack.h"
#include "runtime/comm/Frame.h"
#include "runtime/comm/ReceiverGate.h"
#include "runtime/comm/Ring.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

using namespace sluice;
using namespace sluice::comm;

std::chrono::nanoseconds EmulatedLink::occupancy(int64_t bytes) const {
  return std::chrono::nanoseconds(
      std::llround(1e9 * static_cast<double>(bytes) / bytesPerSecond));
}

namespace {

using Clock = std::chrono::steady_clock;

class EmulatedLinks final : public Communicator {
public:
  EmulatedLinks(std::unique_ptr<Communicator> wrapped,
                std::vector<EmulatedLink> table, int64_t capacity)
      : inner(std::move(wrapped)), links(std::move(table)), capacity(capacity),
        freeAt(static_cast<size_t>(inner->size())),
        arrived(static_cast<size_t>(inner->size())) {
    assert(links.size() == static_cast<size_t>(inner->size() * inner->size()));
  }

  ~EmulatedLinks() override {
    {
      std::lock_guard lock(mutex);
      stopping = true;
      signal();
    }
    // The timer's thread uses `inner`, and the thread of `inner` uses this
    // object.
    if (timer.joinable())
      timer.join();
    inner.reset();
  }

  int64_t rank() const override { return inner->rank(); }
  int64_t size() const override { return inner->size(); }
  void start(Receiver receiver) override;
  void detach() override;
  void roomChanged() override;
  Status send(int64_t to, Lane lane, Bytes bytes,
              int64_t emulatedBytes) override;
  Status receive(int64_t source, Bytes &bytes, Deadline end) override {
    return inner->receive(source, bytes, end);
  }
  void stopReceiving() override { inner->stopReceiving(); }
  Status finish(std::chrono::milliseconds patience) override;
  void abort(const Status &reason) override { inner->abort(reason); }
  std::vector<Traffic> traffic() const override { return inner->traffic(); }
  BufferPool &buffers() override { return inner->buffers(); }

private:
  /// Messages from one rank whose time may not have come yet.
  struct Arrived {
    Ring<Message> control, data;
  };

  using Lock = std::unique_lock<std::mutex>;

  void run();
  bool deliverControl(Lock &lock, Time now);
  bool deliverData(Lock &lock, Time now);
  void give(Lock &lock, Ring<Message> &queue);
  std::optional<Time> nextDue(Time now);
  bool empty() const;

  static Time now() { return Clock::now().time_since_epoch(); }

  void signal() {
    changed = true;
    wake.notify_all();
  }

  std::unique_ptr<Communicator> inner;
  std::vector<EmulatedLink> links;
  int64_t capacity;

  std::mutex sendMutex;
  /// When the link to each rank is free; under sendMutex.
  std::vector<Time> freeAt;

  ReceiverGate gate;
  Receiver receiver;            ///< the one that the gate returned
  mutable std::mutex mutex;     ///< guards what follows
  std::vector<Arrived> arrived; ///< by source
  size_t nextSource = 0;        ///< the source whose data is looked at first
  std::optional<Status> failure;
  bool changed = false;
  bool delivering = false;
  bool stopping = false;
  std::condition_variable wake, drained;
  std::thread timer;
};

Status EmulatedLinks::send(int64_t to, Lane lane, Bytes bytes,
                           int64_t emulatedBytes) {
  // The members of a group stand for one described device, so no link is
  // between them.
  if (lane == Lane::Group)
    return inner->send(to, lane, std::move(bytes));
  if (to < 0 || to >= size() || bytes.size() < frameHeaderBytes)
    return sluice::failure("rank ", rank(), ": no frame (", bytes.size(),
                           " bytes), or no rank ", to);
  const EmulatedLink &link = links[rank() * size() + to];
  Time busy = link.occupancy(
      emulatedBytes > 0 ? emulatedBytes : static_cast<int64_t>(bytes.size()));
  Time sent = now() + busy;
  if (lane == Lane::Data) {
    std::lock_guard lock(sendMutex);
    sent = std::max(now(), freeAt[to]) + busy;
    freeAt[to] = sent;
  }
  setDeliverAt(bytes, sent + link.latency);
  return inner->send(to, lane, std::move(bytes));
}

void EmulatedLinks::start(Receiver given) {
  receiver = gate.open(std::move(given));
  timer = std::thread([this] {
    Status ended = guarded([this] {
      run();
      return Status();
    });
    if (ended.ok())
      return;
    inner->abort(ended);
    receiver.failed(ended);
  });
  inner->start({[this](int64_t source) {
                  std::lock_guard lock(mutex);
                  return static_cast<int64_t>(arrived[source].data.size()) <
                         capacity;
                },
                [this](Message message) {
                  std::lock_guard lock(mutex);
                  Arrived &from = arrived[message.source];
                  (message.lane == Lane::Data ? from.data : from.control)
                      .push(std::move(message));
                  signal();
                },
                [this](Status status) {
                  std::lock_guard lock(mutex);
                  failure = std::move(status);
                  signal();
                }});
}

void EmulatedLinks::detach() {
  gate.close();
  roomChanged(); // delivers what is dropped from now on
}

void EmulatedLinks::roomChanged() {
  std::lock_guard lock(mutex);
  signal();
}

/// Gives the queue's first message to the receiver, without holding the lock.
void EmulatedLinks::give(Lock &lock, Ring<Message> &queue) {
  Message message = queue.pop();
  lock.unlock();
  receiver.take(std::move(message));
  lock.lock();
}

bool EmulatedLinks::deliverControl(Lock &lock, Time now) {
  for (Arrived &from : arrived)
    if (!from.control.empty() &&
        (failure || deliverAtOf(from.control.front().bytes) <= now)) {
      give(lock, from.control);
      return true;
    }
  return false;
}

/// Delivers one data message. It takes turns between the sources, so that a
/// busy source does not starve others.
bool EmulatedLinks::deliverData(Lock &lock, Time now) {
  for (size_t i = 0; i < arrived.size(); ++i) {
    size_t source = (nextSource + i) % arrived.size();
    Ring<Message> &queue = arrived[source].data;
    if (queue.empty() || deliverAtOf(queue.front().bytes) > now)
      continue;
    lock.unlock();
    bool room = receiver.roomFor(static_cast<int64_t>(source));
    lock.lock();
    // Only this thread pops, so the queue still has its first message.
    if (!room)
      continue;
    nextSource = source + 1;
    give(lock, queue);
    lock.unlock();
    inner->roomChanged();
    lock.lock();
    return true;
  }
  return false;
}

/// Returns when the next message becomes due; nothing if no message waits for
/// its time.
std::optional<Time> EmulatedLinks::nextDue(Time now) {
  std::optional<Time> due;
  for (Arrived &from : arrived)
    for (Ring<Message> *queue : {&from.control, &from.data}) {
      if (queue->empty())
        continue;
      Time at = deliverAtOf(queue->front().bytes);
      if (at > now && (!due || at < *due))
        due = at;
    }
  return due;
}

bool EmulatedLinks::empty() const {
  for (const Arrived &from : arrived)
    if (!from.control.empty() || !from.data.empty())
      return false;
  return true;
}

void EmulatedLinks::run() {
  waitPrecisely();
  Lock lock(mutex);
  bool reported = false;
  while (!stopping) {
    changed = false;
    delivering = true;
    Time time = now();
    bool moved = deliverControl(lock, time);
    if (!moved && failure && !reported) {
      reported = moved = true;
      Status status = *failure;
      lock.unlock();
      receiver.failed(status);
      lock.lock();
    }
    if (!moved && !failure)
      moved = deliverData(lock, time);
    delivering = false;
    if (moved)
      continue;
    if (empty())
      drained.notify_all();
    auto somethingChanged = [&] { return changed || stopping; };
    if (std::optional<Time> due = nextDue(time))
      wake.wait_until(lock, Clock::time_point(*due), somethingChanged);
    else
      wake.wait(lock, somethingChanged);
  }
}

Status EmulatedLinks::finish(std::chrono::milliseconds patience) {
  auto until = Clock::now() + patience;
  SLUICE_RETURN_IF_ERROR(inner->finish(patience));
  Lock lock(mutex);
  signal();
  if (!drained.wait_until(lock, until, [&] { return empty() && !delivering; }))
    return sluice::failure("rank ", rank(),
                           ": messages have not been taken in time");
  return {};
}

} // namespace

std::unique_ptr<Communicator>
comm::emulateLinks(std::unique_ptr<Communicator> inner,
                   std::vector<EmulatedLink> links, int64_t capacity) {
  return std::make_unique<EmulatedLinks>(std::move(inner), std::move(links),
                                         capacity);
}
