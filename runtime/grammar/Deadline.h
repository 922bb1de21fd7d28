//===- Deadline.h - until when grammars may be made -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_DEADLINE_H
#define SLUICE_RUNTIME_GRAMMAR_DEADLINE_H

#include "runtime/base/Status.h"
#include "runtime/grammar/GrammarLimits.h"

namespace sluice::grammar {

/// Until when grammars may be made: those of a request share one. Each loop
/// that can be long looks at it. Thread-compatible.
class Deadline {
public:
  using Clock = std::chrono::steady_clock;

  /// From now on. `now` is the clock, and may be a test's, which counts the
  /// looks at it.
  explicit Deadline(std::chrono::nanoseconds time = maxGrammarTime,
                    Clock::time_point (*now)() = Clock::now)
      : time(time), now(now), end(now() + time) {}

  bool passed() const { return now() >= end; }

  /// Errors: it has passed.
  Status check() const {
    if (!passed())
      return {};
    return failure("it takes more than ",
                   std::chrono::duration<double>(time).count(),
                   " s to make a grammar of it");
  }

private:
  std::chrono::nanoseconds time;
  Clock::time_point (*now)();
  Clock::time_point end;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_DEADLINE_H
