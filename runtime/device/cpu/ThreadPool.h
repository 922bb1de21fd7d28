//===- ThreadPool.h - N threads that run one function together ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   ThreadPool pool(2);
//   auto body = [&](int64_t thread) { ...; pool.barrier(); ...; };
//   pool.run(body);                    // returns when all are done
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_THREADPOOL_H
#define SLUICE_RUNTIME_DEVICE_CPU_THREADPOOL_H

#include "runtime/device/cpu/Affinity.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sluice::cpu {

/// The most threads of a team; no machine needs more.
constexpr int64_t maxThreads = 1024;

/// A fixed team of threads; the caller of run() is thread 0. Between runs the
/// other threads spin and yield for some hundred microseconds, since steps
/// follow each other closely. Then they sleep in the kernel, so an idle process
/// uses no CPU.
///
/// run() may be called from one thread at a time, and not from inside a run.
class ThreadPool {
public:
  /// Starts threads - 1 threads; `threads` >= 1. If the system cannot start as
  /// many, the pool has fewer, and threads() returns their number. `places` is
  /// empty or has, for each thread, the processors that it is pinned to. The
  /// caller of run() is pinned only during run(), since it has other work
  /// besides and the threads that it starts inherit its mask.
  explicit ThreadPool(int64_t threads,
                      const std::vector<ProcessorSet> &places = {});
  /// Waits for the threads to end.
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int64_t threads() const { return count; }
  bool isPinned() const { return !masks.empty(); }

  /// Calls body(thread) on every thread, 0 <= thread < threads(), and returns
  /// when all calls have returned. Writes before run() are visible inside it,
  /// and writes inside it are visible after it. `body` must not throw.
  /// Allocates nothing.
  template <typename Body> void run(Body &body) {
    runErased([](void *context,
                 int64_t thread) { (*static_cast<Body *>(context))(thread); },
              &body);
  }

  /// Waits until every thread of the run has called it as often as this one.
  /// Spins, then yields; never sleeps, as the work inside a step is balanced.
  /// Writes of any thread before it are visible to all threads after it.
  void barrier();

private:
  using Function = void (*)(void *context, int64_t thread);

  void runErased(Function function, void *context);
  void work(int64_t thread);

  /// Counters that several threads write have a cache line each.
  static constexpr size_t lineBytes = 64;

  int64_t count;
  std::vector<AffinityMask> masks; ///< of each thread; empty if not pinned
  AffinityMask callersMask;        ///< outside run(); allocated beforehand
  /// The number of runs started. Its release store publishes `function`,
  /// `context` and all that the caller wrote before run().
  alignas(lineBytes) std::atomic<uint32_t> started{0};
  Function function = nullptr; ///< null in the last run, which ends the threads
  void *context = nullptr;
  /// The number of threads that have not finished the current run. Each
  /// thread's release decrement publishes what it wrote; the caller's acquire
  /// load sees it.
  alignas(lineBytes) std::atomic<int64_t> running{0};
  alignas(lineBytes) std::atomic<int64_t> arrived{0};
  alignas(lineBytes) std::atomic<uint32_t> phase{0};
  std::vector<std::thread> team;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_THREADPOOL_H
