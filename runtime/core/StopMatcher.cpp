//===- StopMatcher.cpp - ends a text at stop strings ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StopMatcher.h"

#include <algorithm>

namespace sluice {

Expected<StopMatcher> StopMatcher::create(std::vector<std::string> strings) {
  if (strings.size() > maxStrings)
    return failure("stop: ", strings.size(), " strings is more than ",
                   maxStrings);
  for (const std::string &text : strings) {
    if (text.empty())
      return failure("stop: a stop string is empty");
    if (text.size() > maxStringBytes)
      return failure("stop: a string of ", text.size(),
                     " bytes is longer than ", maxStringBytes);
  }
  return StopMatcher(std::move(strings));
}

StopMatcher::StopMatcher(std::vector<std::string> strings)
    : stops(std::move(strings)) {}

int64_t StopMatcher::longestMatch(std::string_view text) const {
  int64_t longest = -1;
  for (size_t i = 0; i < stops.size(); ++i)
    if (text.ends_with(stops[i]) &&
        (longest < 0 || stops[i].size() > stops[longest].size()))
      longest = static_cast<int64_t>(i);
  return longest;
}

size_t StopMatcher::undecided(std::string_view text) const {
  size_t max = 0;
  for (const std::string &stop : stops) {
    size_t length = std::min(stop.size() - 1, text.size());
    while (length > max &&
           !text.ends_with(std::string_view(stop).substr(0, length)))
      --length;
    max = std::max(max, length);
  }
  return max;
}

std::string StopMatcher::push(std::string_view piece) {
  if (stopped())
    return "";
  if (stops.empty())
    return std::string(piece);
  std::string text = std::move(held);
  held.clear();
  // No stop string is complete in the held text, so only ends in the new piece
  // can complete one.
  size_t decided = text.size();
  text += piece;
  for (size_t end = decided + 1; end <= text.size(); ++end) {
    match = longestMatch(std::string_view(text).substr(0, end));
    if (stopped()) {
      text.resize(end - stops[match].size());
      return text;
    }
  }
  held = text.substr(text.size() - undecided(text));
  text.resize(text.size() - held.size());
  return text;
}

std::string StopMatcher::flush() {
  std::string rest = std::move(held);
  held.clear();
  return rest;
}

} // namespace sluice
