//===- Interrupt.cpp - signals of the user as a flag ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Interrupt.h"

#include <atomic>
#include <csignal>

using namespace sluice;

// The number of the signal that came, or 0. A lock-free atomic is safe in a
// signal handler; relaxed order suffices, because it publishes nothing else.
static std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);

static void onSignal(int number) {
  if (received.exchange(number, std::memory_order_relaxed) == 0)
    return;
  // The second signal has its default effect when the handler returns.
  std::signal(number, SIG_DFL);
  raise(number);
}

void sluice::catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  // No SA_RESTART, so that a read that waits for the user also ends.
  sigemptyset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM})
    sigaction(number, &action, nullptr);
  // A program that was started with nohup goes on.
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
}

void sluice::ignoreBrokenPipes() { std::signal(SIGPIPE, SIG_IGN); }

bool sluice::interrupted() {
  return received.load(std::memory_order_relaxed) != 0;
}

int sluice::interruptedExitCode() {
  return 128 + received.load(std::memory_order_relaxed);
}
