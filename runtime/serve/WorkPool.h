//===- WorkPool.h - the threads that work on requests ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A WorkPool owns the threads that work on requests. They keep work that takes
// time off the HTTP server's thread, which receives requests, and off the
// head's thread, which delivers tokens. There are three kinds of work:
//
//   to proceed with a request (turn tokens into text) takes microseconds and
//       goes first, because a client waits for it. If there are at least two
//       quick threads, one of them is always kept free for it.
//   to begin a request (read its JSON, tokenize its prompt, look up its
//       grammar) takes milliseconds.
//   to begin a long request (build a large grammar) takes up to seconds. If a
//       begin turns out to take long, the quick thread gives it up, and the
//       slow threads, which run at a lower priority, do it again.
//
// Both kinds of begin are served fairly between tenants (BeginQueue). The quick
// threads also expire requests that have waited too long.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_WORKPOOL_H
#define SLUICE_RUNTIME_SERVE_WORKPOOL_H

#include "runtime/base/Status.h"
#include "runtime/serve/BeginQueue.h"
#include "runtime/serve/StallWatch.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::serve {

/// A piece of work for the pool, which holds a reference while the item waits
/// and while a method runs. No method may throw.
class WorkItem {
public:
  enum class Pace : uint8_t {
    Quick, ///< give up if it takes long
    Long
  };
  virtual ~WorkItem() = default;
  /// Returns false, with Pace::Quick only, if it takes long; it must then have
  /// had no effect, and is called again with Pace::Long.
  virtual bool begin(Pace pace) = 0;
  /// Called instead of begin() if its deadline has passed.
  virtual void expire() = 0;
  /// Called instead of begin() if another item took its place in the queue.
  virtual void refuse() = 0;
  virtual void proceed() = 0;
};

/// Thread-safe, except start() and stop(), which belong to the owner.
class WorkPool {
public:
  struct Threads {
    int quick = 2; ///< for proceed() and quick begins
    int slow = 2;  ///< for long begins
  };

  /// At most `beginsWaiting` items may wait for their begin().
  explicit WorkPool(int64_t beginsWaiting) : beginsWaiting(beginsWaiting) {}
  ~WorkPool();
  WorkPool(const WorkPool &) = delete;
  WorkPool &operator=(const WorkPool &) = delete;

  /// Starts the threads. Fails if the system gives none.
  Status start(Threads counts);
  /// Waits for the methods that run and drops all waiting items. May be called
  /// again.
  void stop();

  /// Calls item->begin() on a thread of the pool, for each tenant in the order
  /// of these calls; or item->expire(), if begin() has not been called by
  /// `until` (zero: never). Except for zero, `until` must not decrease from
  /// call to call. Returns false after stop(), or if the queue is full and no
  /// item gives way. An item gives way if its tenant has the most items, at
  /// least two more than `tenant`: that tenant's last item is refused, on the
  /// calling thread, and `item` takes its place. The items are counted in the
  /// longer of the two queues, of quick and of long begins. If memory runs out,
  /// throws and does not keep the item.
  bool begin(std::shared_ptr<WorkItem> item, TenantId tenant,
             Time until = Time(0));
  /// Removes an item that waits for its begin().
  void withdraw(const WorkItem &item);
  /// Calls item->proceed() on a thread of the pool. Never refused, so the
  /// caller must have each item in this queue at most once at a time.
  void proceed(std::shared_ptr<WorkItem> item);

  /// Returns the number of items that wait for their begin().
  int64_t waiting() const;
  /// Return the progress of quick begins and of proceed(): either can stall
  /// while the other makes progress.
  Movement beginMovement() const;
  Movement proceedMovement() const;
  /// Returns the progress of long begins.
  Movement longMovement() const;

private:
  void runQuick();
  void runSlow();
  void proceedOrExpire(std::unique_lock<std::mutex> &lock);
  bool waitForWork(std::unique_lock<std::mutex> &lock);
  bool waitForLong(std::unique_lock<std::mutex> &lock);
  void beginNext(BeginQueue &queue, WorkItem::Pace pace,
                 std::unique_lock<std::mutex> &lock);
  bool mayBegin() const;
  BeginQueue *expired();
  Time firstExpiry() const;

  const int64_t beginsWaiting;
  mutable std::mutex mutex;
  std::condition_variable changed;     ///< for the quick threads
  std::condition_variable longChanged; ///< for the slow ones
  BeginQueue begins, longBegins;
  std::deque<std::shared_ptr<WorkItem>> proceeds;
  int64_t beginning = 0;     ///< quick threads in begin()
  int64_t proceeding = 0;    ///< quick threads in proceed() or expire()
  int64_t beginningLong = 0; ///< slow threads in begin()
  /// Completed calls of begin() and proceed(), and of begin() by slow threads.
  int64_t begun = 0, proceeded = 0, begunLong = 0;
  bool stopping = false;
  std::vector<std::thread> threads; ///< used by start() and stop() only
  Threads counts;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_WORKPOOL_H
