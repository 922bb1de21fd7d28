//===- WorkPool.h - threads that requests are worked on -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads between the server's, which receives requests, and the head's,
// which has tokens for them: neither may be held up by what takes time. There
// are three kinds of work:
//
//   to continue a request   (make text of tokens) takes microseconds, and has
//                           somebody waiting for it: it goes first, and one
//                           thread is always kept free for it, if there are two
//   to begin one            (read its JSON, cut its prompt into tokens, look up
//                           its grammar) takes milliseconds
//   to begin a long one     (make a large grammar) takes up to seconds: a
//                           beginning that turns out to be one is given up, and
//                           done again by threads that do nothing else and give
//                           way to all others
//
// Both kinds of beginnings are served fairly between tenants. The thread that
// is kept free also sees to those that have waited too long.
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

/// A piece of work for the pool, which holds a reference while it waits and
/// while it is worked on. No method lets an exception out.
class WorkItem {
public:
  enum class Pace : uint8_t {
    Quick, ///< to be given up where it takes long
    Long
  };
  virtual ~WorkItem() = default;
  /// False, with Pace::Quick alone: it takes long, and nothing has come of it.
  /// It is called again with Pace::Long.
  virtual bool begin(Pace pace) = 0;
  /// Instead of begin(): its time has passed.
  virtual void expire() = 0;
  /// Instead of begin(): it had a place in the queue, which another has now.
  virtual void refuse() = 0;
  virtual void proceed() = 0;
};

/// Thread-safe, but for start() and stop(), which belong to the owner.
class WorkPool {
public:
  struct Threads {
    int quick = 2; ///< for what continues, and for beginnings
    int slow = 2;  ///< for beginnings that take long
  };

  /// At most `beginsWaiting` work items wait for their begin().
  explicit WorkPool(int64_t beginsWaiting) : beginsWaiting(beginsWaiting) {}
  ~WorkPool();
  WorkPool(const WorkPool &) = delete;
  WorkPool &operator=(const WorkPool &) = delete;

  /// Errors: there are no threads to be had.
  Status start(Threads counts);
  /// Waits for what is being worked on and drops what waits. May be called
  /// again.
  void stop();

  /// Calls begin() on a thread of the pool, in the order of these calls for
  /// each tenant; or expire(), if it has not come to that by `until`. Zero: it
  /// waits for ever. `until` must not go back from call to call. False: too
  /// many wait already. Where this tenant has far fewer of them than another,
  /// the other's last one is refused in its place, on the calling thread.
  /// Without memory it throws, and the item is not here.
  bool begin(std::shared_ptr<WorkItem> item, TenantId tenant,
             Time until = Time(0));
  /// The begin() of an item that waits for it is not called any more.
  void withdraw(const WorkItem &item);
  /// Calls proceed() on a thread of the pool. Never refused: whoever calls this
  /// has each item here once at a time.
  void proceed(std::shared_ptr<WorkItem> item);

  /// The work items that wait for their begin().
  int64_t waiting() const;
  /// Of quick beginnings, and of what goes on: one can stand while the other
  /// moves.
  Movement beginMovement() const;
  Movement proceedMovement() const;

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
  int64_t beginning = 0;  ///< quick threads that are in begin()
  int64_t proceeding = 0; ///< quick threads that are in another method
  int64_t begun = 0, proceeded = 0; ///< how many of both have ended
  bool stopping = false;
  std::vector<std::thread> threads; ///< of the owner
  Threads counts;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_WORKPOOL_H
