//===- Insist.h - retrying when memory runs out ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Retries an operation that must not fail, such as handing an object from one
// thread to another: if the object were lost, a request would wait for it for
// ever, although another request may have used up the memory.
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
/// free meanwhile. `body` must change nothing if it throws std::bad_alloc.
/// After two seconds without success, ends the process with status 1 and a
/// message. The caller must not hold a mutex that the threads that free memory
/// may need.
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

/// Calls `body` with `lock` held, and releases it between two tries, so `body`
/// must read the guarded state again each time. Returns with `lock` held.
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
