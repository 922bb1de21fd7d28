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

/// Of a team; no machine needs more.
constexpr int64_t maxThreads = 1024;

/// A fixed team of threads, the caller of run() among them as thread 0. Between
/// runs the others spin and yield for some hundred microseconds, since steps
/// follow each other closely, then sleep in the kernel: an idle process uses no
/// CPU.
///
/// run() may be called from one thread at a time, and not from inside a run.
class ThreadPool {
public:
  /// Starts threads - 1 threads; `threads` >= 1. Fewer where the system has no
  /// more to give, which threads() then tells. `places`: empty, or for each
  /// thread the processors that it is pinned to; the caller of run() for as
  /// long as that takes, as it has other things to do, and what threads it
  /// starts inherit its mask.
  explicit ThreadPool(int64_t threads,
                      const std::vector<ProcessorSet> &places = {});
  /// Waits for the threads to end.
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int64_t threads() const { return count; }
  bool isPinned() const { return !masks.empty(); }

  /// Calls body(thread) on every thread, 0 <= thread < threads(), and returns
  /// when all have returned. What was written before run() is visible inside,
  /// and what was written inside is visible after it. `body` must not throw.
  /// Allocates nothing.
  template <typename Body> void run(Body &body) {
    runErased([](void *context,
                 int64_t thread) { (*static_cast<Body *>(context))(thread); },
              &body);
  }

  /// Inside a run: waits until every thread has called it as often as this one.
  /// Spins, then yields; never sleeps, as work inside a step is balanced.
  /// Everything written before it on any thread is visible after it on all.
  void barrier();

private:
  using Function = void (*)(void *context, int64_t thread);

  void runErased(Function function, void *context);
  void work(int64_t thread);

  /// Counters that several threads write have their own cache lines.
  static constexpr size_t lineBytes = 64;

  int64_t count;
  std::vector<AffinityMask> masks; ///< of each thread, where they are pinned
  AffinityMask callersMask;        ///< outside of run(); allocated beforehand
  /// The number of runs started. Its release store publishes `function` and
  /// `context`, and all that the caller wrote before run().
  alignas(lineBytes) std::atomic<uint32_t> started{0};
  Function function = nullptr; ///< null in the last run: the threads end
  void *context = nullptr;
  /// Threads that have not finished the current run. Each one's release
  /// decrement publishes what it wrote; the caller's acquire load sees it.
  alignas(lineBytes) std::atomic<int64_t> running{0};
  alignas(lineBytes) std::atomic<int64_t> arrived{0};
  alignas(lineBytes) std::atomic<uint32_t> phase{0};
  std::vector<std::thread> team;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_THREADPOOL_H
