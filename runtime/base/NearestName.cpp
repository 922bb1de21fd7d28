//===- NearestName.cpp - suggestions for misspelt words -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/NearestName.h"

#include <algorithm>
#include <vector>

using namespace sluice;

/// Returns how many changes turn one word into the other (optimal string
/// alignment).
static size_t countChanges(std::string_view a, std::string_view b) {
  // changes[i][j]: from the first i letters of `a` to the first j of `b`.
  std::vector<std::vector<size_t>> changes(a.size() + 1,
                                           std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        changes[i][j] = i + j;
        continue;
      }
      size_t replaced = changes[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      size_t min =
          std::min({replaced, changes[i - 1][j] + 1, changes[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        min = std::min(min, changes[i - 2][j - 2] + 1);
      changes[i][j] = min;
    }
  return changes[a.size()][b.size()];
}

std::string sluice::nearestName(std::string_view word,
                                std::span<const std::string> names) {
  constexpr size_t longest = 64; // no option has a longer name
  constexpr size_t minPrefix = 3;
  std::string nearest;
  size_t min = longest;
  if (word.size() > longest)
    return nearest;
  for (const std::string &name : names) {
    bool begins =
        word.size() >= minPrefix && name.starts_with(word) && name != word;
    size_t changes = begins ? 1 : countChanges(word, name);
    if (changes < min && changes <= std::max(word.size(), name.size()) / 3) {
      min = changes;
      nearest = name;
    }
  }
  return nearest;
}
