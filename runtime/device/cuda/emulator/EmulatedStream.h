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
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::cuda::emulator {

/// The first error of a device, after which it does not work. All of its
/// streams share it.
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

/// Counts how often an event was recorded, and how many of these are done.
class EmulatedEvent {
public:
  uint64_t record() {
    std::lock_guard lock(mutex);
    return ++recorded;
  }
  void finish(uint64_t number) {
    // Notifies under the lock, since a thread that sees the event done may
    // destroy it.
    std::lock_guard lock(mutex);
    finished = std::max(finished, number);
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

/// Work is added from one thread and done by the stream's own thread. After an
/// error of the device, only work that is added with `always` is done. Adding
/// allocates nothing, as with a driver, so that tests can count allocations.
class EmulatedStream {
public:
  explicit EmulatedStream(DeviceHealth &health)
      : health(health), queue(room), thread([this] { run(); }) {}
  ~EmulatedStream() {
    push({}, false);
    thread.join();
  }

  /// Adds work. `work` is a small, trivially copyable closure that returns a
  /// Status. With `always` it is done even if the device is broken.
  template <typename Work> void add(Work work, bool always) {
    static_assert(std::is_trivially_copyable_v<Work> &&
                  sizeof(Work) <= sizeof(Item::bytes));
    Item item;
    item.call = [](const uint8_t *bytes) {
      Work copy = *reinterpret_cast<const Work *>(bytes);
      return copy();
    };
    std::memcpy(item.bytes, &work, sizeof(work));
    push(item, !always);
  }
  /// Like add(), for any closure, which is kept as long as it may be called.
  /// For work that does not come from the device itself.
  void addOwned(std::function<Status()> work) {
    {
      std::lock_guard lock(mutex);
      if (capturing) {
        captured.push_back(std::move(work));
        return;
      }
    }
    auto *owned = new std::function<Status()>(std::move(work));
    add(
        [owned] {
          Status status = (*owned)();
          delete owned;
          return status;
        },
        /*always=*/true);
  }

  /// From now on work is kept and not done. endCapture() returns it in order;
  /// it may then be done any number of times.
  void beginCapture() {
    std::lock_guard lock(mutex);
    capturing = true;
  }
  std::vector<std::function<Status()>> endCapture() {
    std::lock_guard lock(mutex);
    capturing = false;
    return std::exchange(captured, {});
  }
  bool isCapturing() {
    std::lock_guard lock(mutex);
    return capturing;
  }

  void synchronize() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return first == last; });
  }
  bool isIdle() {
    std::lock_guard lock(mutex);
    return first == last;
  }
  /// Returns how many work items have been added so far.
  uint64_t added() {
    std::lock_guard lock(mutex);
    return last + captured.size();
  }

private:
  static constexpr size_t room = 1024;

  struct Item {
    Status (*call)(const uint8_t *bytes) = nullptr; ///< null ends the thread
    alignas(8) uint8_t bytes[64];
    bool needsHealth = false;
  };

  void push(Item item, bool needsHealth) {
    item.needsHealth = needsHealth;
    {
      std::unique_lock lock(mutex);
      if (capturing) {
        captured.emplace_back([item] { return item.call(item.bytes); });
        return;
      }
      changed.wait(lock, [&] { return last - first < room; });
      queue[last++ % room] = item;
    }
    changed.notify_all();
  }

  void run() {
    while (true) {
      const Item *item = nullptr;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return first != last; });
        item = &queue[first % room];
      }
      bool end = !item->call;
      if (!end && (!item->needsHealth || health.status().ok()))
        if (Status s = item->call(item->bytes); !s.ok())
          health.breakDown(s);
      {
        std::lock_guard lock(mutex);
        ++first;
      }
      changed.notify_all();
      if (end)
        return;
    }
  }

  DeviceHealth &health;
  std::mutex mutex;
  std::condition_variable changed;
  /// The items first .. last - 1; `first` is the one that is being done.
  std::vector<Item> queue;
  uint64_t first = 0, last = 0;
  bool capturing = false;
  std::vector<std::function<Status()>> captured;
  std::thread thread;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDSTREAM_H
