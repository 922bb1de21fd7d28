//===- EmulatedStream.h - work that a thread does in order ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDSTREAM_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDSTREAM_H

#include "runtime/base/Status.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sluice::cuda::emulator {

/// What a device's streams share: its first error, after which nothing works.
class DeviceHealth {
public:
  Status status() const {
    std::lock_guard lock(mutex);
    return first;
  }
  void breakDown(const Status &error) {
    std::lock_guard lock(mutex);
    if (first.ok())
      first = error;
  }

private:
  mutable std::mutex mutex;
  Status first;
};

/// How often an event was recorded, and how much of that is done.
class EmulatedEvent {
public:
  uint64_t record() {
    std::lock_guard lock(mutex);
    return ++recorded;
  }
  void finish(uint64_t number) {
    {
      std::lock_guard lock(mutex);
      finished = std::max(finished, number);
    }
    changed.notify_all();
  }
  bool isDone() const {
    std::lock_guard lock(mutex);
    return finished == recorded;
  }
  uint64_t last() const {
    std::lock_guard lock(mutex);
    return recorded;
  }
  void wait(uint64_t number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return finished >= number; });
  }

private:
  mutable std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, finished = 0;
};

/// Work goes in from one thread, and is done by the stream's own; after an
/// error of the device only events are.
class EmulatedStream {
public:
  using Work = std::function<Status()>;

  explicit EmulatedStream(DeviceHealth &health)
      : health(health), thread([this] { run(); }) {}
  ~EmulatedStream() {
    push({}, false);
    thread.join();
  }

  void add(Work work) { push(std::move(work), true); }
  /// Done even if the device is broken.
  void addAlways(Work work) { push(std::move(work), false); }
  void synchronize() {
    std::unique_lock lock(mutex);
    idle.wait(lock, [&] { return queue.empty(); });
  }

private:
  struct Item {
    Work work; ///< none: the end
    bool needsHealth;
  };

  void push(Work work, bool needsHealth) {
    {
      std::lock_guard lock(mutex);
      queue.push_back({std::move(work), needsHealth});
    }
    more.notify_one();
  }

  void run() {
    while (true) {
      Item *item = nullptr;
      {
        std::unique_lock lock(mutex);
        more.wait(lock, [&] { return !queue.empty(); });
        item = &queue.front();
      }
      bool last = !item->work;
      if (!last && (!item->needsHealth || health.status().ok()))
        if (Status s = item->work(); !s.ok())
          health.breakDown(s);
      {
        std::lock_guard lock(mutex);
        queue.pop_front();
      }
      idle.notify_all();
      if (last)
        return;
    }
  }

  DeviceHealth &health;
  std::mutex mutex;
  std::condition_variable more, idle;
  std::deque<Item> queue; ///< the first is being done
  std::thread thread;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDSTREAM_H
