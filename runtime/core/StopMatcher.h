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

/// Watches a text that arrives in pieces. The text ends before the stop string
/// that is complete first (the longest, where several end at the same byte);
/// bytes that may yet turn out to begin one are held back. How the text is cut
/// into pieces changes nothing. Thread-compatible.
class StopMatcher {
public:
  static constexpr size_t maxStrings = 64;
  static constexpr size_t maxStringBytes = 4096;

  /// Errors: an empty stop string, or more or longer ones than the limits.
  static Expected<StopMatcher> create(std::vector<std::string> strings);

  /// Takes the next piece of text; returns what is certain to be before any
  /// stop string. After stopped() it takes nothing more and returns "".
  std::string push(std::string_view piece);

  /// A stop string is complete.
  bool stopped() const { return match >= 0; }
  /// Which: an index into the strings; only after stopped().
  size_t matched() const { return static_cast<size_t>(match); }

  /// The text has ended: returns what was held back; "" after stopped().
  std::string flush();

private:
  explicit StopMatcher(std::vector<std::string> strings);

  /// The longest stop string that `text` ends with, or -1.
  int64_t longestMatch(std::string_view text) const;
  /// Bytes at the end of `text` that may begin a stop string.
  size_t undecided(std::string_view text) const;

  std::vector<std::string> stops;
  std::string held; ///< a proper prefix of a stop string
  int64_t match = -1;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_STOPMATCHER_H
