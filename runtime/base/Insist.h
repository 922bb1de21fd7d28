//===- Insist.h - what has to be done even without memory -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When one thread hands something over to another, it must not be lost on the
// way: the request that waits for it would wait for ever, and need not be the
// one that has used up the memory.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_INSIST_H
#define SLUICE_RUNTIME_BASE_INSIST_H

#include <chrono>
#include <cstdio>
#include <mutex>
#include <new>
#include <thread>
#include <unistd.h>

namespace sluice {

/// Calls `body` until it finds the memory that it needs, which other threads
/// give back meanwhile. `body` must leave everything as it was when it throws
/// std::bad_alloc. After two seconds without success the process is stuck, and
/// ends with status 1 and a message. The caller must not hold a mutex that
/// those who give memory back may need.
template <typename Body> void insist(Body &&body) {
  constexpr int maxTries = 2000;
  for (int tries = 0; tries < maxTries; ++tries) {
    try {
      return body();
    } catch (const std::bad_alloc &) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::fputs("error: there has been no memory for two seconds\n", stderr);
  _exit(1);
}

/// Calls `body` with `lock` held, which is released between two tries: `body`
/// must look anew at what the mutex guards each time. Returns with `lock` held.
template <typename Body>
void insist(std::unique_lock<std::mutex> &lock, Body &&body) {
  insist([&] {
    if (!lock.owns_lock())
      lock.lock();
    try {
      body();
    } catch (const std::bad_alloc &) {
      lock.unlock();
      throw;
    }
  });
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_INSIST_H
