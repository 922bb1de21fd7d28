//===- Progress.cpp - a progress line for long work -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/Progress.h"

#include <cstdio>
#include <unistd.h>

using namespace sluice;
using namespace std::chrono_literals;

Progress::Progress(std::string what, uint64_t total)
    : what(std::move(what)), total(total), terminal(::isatty(STDERR_FILENO)),
      nextUpdate(Clock::now() + 500ms) {}

Progress::~Progress() {
  if (visible)
    std::fputs("\r\033[K", stderr);
}

void Progress::update(uint64_t done) {
  if (!terminal)
    return;
  Clock::time_point now = Clock::now();
  if (now < nextUpdate)
    return;
  nextUpdate = now + 100ms;
  visible = true;
  std::fprintf(stderr, "\r%s: %.0f%% of %.0f MB\033[K", what.c_str(),
               total ? 100.0 * double(done) / double(total) : 100.0,
               double(total) / 1e6);
  std::fflush(stderr);
}
