//===- WorkPool.h - threads that requests are worked on -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads between the server's, which receives requests, and the head's,
// which has tokens for them: neither may be held up by what takes time. There
// are two kinds of work. To begin a request (read its JSON, tokenize its
// prompt, compile its grammar) can take seconds; to continue one (make text of
// tokens) takes microseconds and has somebody waiting for it. So what continues
// goes first, and one thread is always kept free for it, if there are two. That
// thread also sees to those that have waited too long for their beginning.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_WORKPOOL_H
#define SLUICE_RUNTIME_SERVE_WORKPOOL_H

#include "runtime/base/Status.h"
#include "runtime/core/Rows.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::serve {

/// What is worked on. The pool holds a reference while it waits and while it is
/// worked on. No method lets an exception out.
class Work {
public:
  virtual ~Work() = default;
  virtual void begin() = 0;
  /// Instead of begin(): its time has passed.
  virtual void expire() = 0;
  virtual void proceed() = 0;
};

/// Thread-safe, but for start() and stop(), which belong to the owner.
class WorkPool {
public:
  /// At most `beginsWaiting` works wait for their begin().
  explicit WorkPool(int64_t beginsWaiting) : beginsWaiting(beginsWaiting) {}
  ~WorkPool();
  WorkPool(const WorkPool &) = delete;
  WorkPool &operator=(const WorkPool &) = delete;

  /// Errors: there are no threads to be had.
  Status start(int threads);
  /// Waits for what is being worked on and drops what waits. May be called
  /// again.
  void stop();

  /// Calls begin() on a thread of the pool, in the order of these calls; or
  /// expire(), if it has not come to that by `until`. Zero: it waits for ever.
  /// Only the first in order is looked at, so that `until` must not go back
  /// from call to call. False: too many wait already.
  bool begin(std::shared_ptr<Work> work, Time until = Time(0));
  /// A work that waits for its begin() does not have it called any more.
  void withdraw(const Work &work);
  /// Calls proceed() on a thread of the pool. Never refused: whoever calls this
  /// has each work here once at a time.
  void proceed(std::shared_ptr<Work> work);

  /// Works that wait for their begin().
  int64_t waiting() const;

private:
  struct Begin {
    std::shared_ptr<Work> work;
    Time until;
  };

  void run();
  void waitForWork(std::unique_lock<std::mutex> &lock);
  bool mayBegin() const;
  bool hasExpired() const;

  const int64_t beginsWaiting;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Begin> begins;
  std::deque<std::shared_ptr<Work>> proceeds;
  int64_t beginning = 0; ///< threads that are in begin()
  bool stopping = false;
  std::vector<std::thread> threads; ///< of the owner
  int64_t threadCount = 0;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_WORKPOOL_H
