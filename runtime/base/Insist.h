//===- Insist.h - what has to be done even without memory -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where one thread hands something over to another, nothing may be lost on the
// way: somebody waits for it for ever, who need not have asked for much
// himself.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_INSIST_H
#define SLUICE_RUNTIME_BASE_INSIST_H

#include <chrono>
#include <cstdio>
#include <new>
#include <thread>
#include <unistd.h>

namespace sluice {

/// Calls `body` until it finds the memory that it needs, which others give back
/// meanwhile. It must leave everything as it was where it throws. After two
/// seconds the process ends with status 1 and a message: it is stuck.
template <typename Fn> void insist(Fn &&body) {
  constexpr int mostTries = 2000;
  for (int tries = 0; tries < mostTries; ++tries) {
    try {
      return body();
    } catch (const std::bad_alloc &) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::fputs("error: there has been no memory for two seconds\n", stderr);
  _exit(1);
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_INSIST_H
