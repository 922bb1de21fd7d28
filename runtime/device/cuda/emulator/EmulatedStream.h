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
    // Under the lock: who sees the event done may destroy it.
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

/// Work goes in from one thread, and is done by the stream's own; after an
/// error of the device only events are. Adding allocates nothing, as with a
/// driver, so that tests can count.
class EmulatedStream {
public:
  explicit EmulatedStream(DeviceHealth &health)
      : health(health), queue(room), thread([this] { run(); }) {}
  ~EmulatedStream() {
    push({}, false);
    thread.join();
  }

  /// `work`: a small closure that can be copied as bytes, and returns a Status.
  /// `always`: done even if the device is broken.
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
  /// The same of any closure, which is kept as long as it may be called; for
  /// work that others than the device bring.
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

  /// From here on work is kept, and none is done, until endCapture() gives it
  /// back, in order: to be done as often as one likes.
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
  /// How much has been added so far.
  uint64_t added() {
    std::lock_guard lock(mutex);
    return last + captured.size();
  }

private:
  static constexpr size_t room = 1024;

  struct Item {
    Status (*call)(const uint8_t *bytes) = nullptr; ///< null: the end
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
  std::vector<Item> queue; ///< items first .. last - 1; the first is being done
  uint64_t first = 0, last = 0;
  bool capturing = false;
  std::vector<std::function<Status()>> captured;
  std::thread thread;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDSTREAM_H
