//===- Turns.cpp - times work that threads share --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/bench/Turns.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

using namespace sluice::cpu;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double bench::timeTurns(int64_t threads, double seconds,
                        const std::function<void(int64_t, int64_t)> &body) {
  std::vector<double> times;
  std::atomic<bool> stop = false;
  Clock::time_point begin = Clock::now(), start = begin;
  int64_t turns = -2; // The first turns warm up.
  auto onTurn = [&]() noexcept {
    if (turns > 0)
      times.push_back(secondsSince(start));
    ++turns;
    stop = times.size() >= 5 && secondsSince(begin) > seconds;
    start = Clock::now();
  };
  std::barrier gate(threads, onTurn);
  std::vector<std::thread> workers;
  for (int64_t thread = 0; thread < threads; ++thread)
    workers.emplace_back([&, thread] {
      for (int64_t turn = 0;; ++turn) {
        gate.arrive_and_wait();
        if (stop)
          return;
        body(thread, turn);
      }
    });
  for (std::thread &worker : workers)
    worker.join();
  std::nth_element(times.begin(), times.begin() + int64_t(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

bench::AlignedBytes bench::makeBytes(size_t size) {
  size_t rounded = (size + 63) / 64 * 64;
  AlignedBytes bytes(static_cast<uint8_t *>(std::aligned_alloc(64, rounded)));
  if (!bytes)
    throw std::bad_alloc();
  uint32_t state = 1;
  for (size_t i = 0; i < rounded; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.get()[i] = uint8_t(state >> 24);
  }
  return bytes;
}

double bench::readBandwidth(int64_t threads) {
  AlignedBytes bytes = makeBytes(coldBytes);
  auto share = int64_t(coldBytes) / threads / 64 * 64;
  std::atomic<uint64_t> sink = 0;
  double seconds = timeTurns(threads, 1, [&](int64_t thread, int64_t) {
    const uint8_t *from = bytes.get() + thread * share;
    uint64_t sums[8] = {};
    // The processor's prefetchers stop at each page. The kernels prefetch this
    // far ahead, too, and would otherwise read faster than the rate that is
    // reported as the limit. They also prefetch into the first cache, which
    // slows down pure reading: one thread reads 26 instead of 28 GB/s (AMD EPYC
    // of the fourth generation).
    constexpr int64_t ahead = 12288;
    for (int64_t i = 0; i < share; i += 64) {
      __builtin_prefetch(from + i + ahead, 0, 2);
      uint64_t words[8];
      std::memcpy(words, from + i, sizeof(words));
      for (int j = 0; j < 8; ++j)
        sums[j] += words[j];
    }
    for (uint64_t sum : sums)
      sink += sum;
  });
  return double(share * threads) / seconds;
}
