//===- StopMatcher.h - ends a text at stop strings ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   StopMatcher stop = *StopMatcher::create({"\n\n"});
//   for each token:
//     write(stop.push(text));         // what can be written already
//     if (stop.stopped()) break;
//   write(stop.flush());              // the text ended without a stop
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_STOPMATCHER_H
#define SLUICE_RUNTIME_CORE_STOPMATCHER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Watches a text that arrives in pieces for stop strings. The text ends before
/// the stop string that is complete first (the longest, if several end at the
/// same byte). Bytes that may begin a stop string are held back. The division
/// into pieces does not change the result. Thread-compatible.
class StopMatcher {
public:
  static constexpr size_t maxStrings = 64;
  static constexpr size_t maxStringBytes = 4096;

  /// Fails on an empty stop string, and if there are too many or too long ones.
  static Expected<StopMatcher> create(std::vector<std::string> strings);

  /// Takes the next piece of text and returns the text that certainly precedes
  /// any stop string. After stopped() it takes nothing more and returns "".
  std::string push(std::string_view piece);

  /// Returns whether a stop string is complete.
  bool stopped() const { return match >= 0; }
  /// Returns the index of that stop string; only valid after stopped().
  size_t matched() const { return static_cast<size_t>(match); }

  /// Ends the text and returns what was held back; "" after stopped().
  std::string flush();

private:
  explicit StopMatcher(std::vector<std::string> strings);

  /// Returns the longest stop string that `text` ends with, or -1.
  int64_t longestMatch(std::string_view text) const;
  /// Returns how many bytes at the end of `text` may begin a stop string.
  size_t undecided(std::string_view text) const;

  std::vector<std::string> stops;
  std::string held; ///< a proper prefix of a stop string
  int64_t match = -1;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STOPMATCHER_H
