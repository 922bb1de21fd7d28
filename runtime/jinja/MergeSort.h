//===- MergeSort.h - a sort for values without a strict order -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_MERGESORT_H
#define SLUICE_RUNTIME_JINJA_MERGESORT_H

#include <algorithm>
#include <iterator>
#include <vector>

namespace sluice::text::jinja {

/// Sorts stably. Unlike for std::sort, `less` need not be a strict weak order
/// (NaN is neither less nor equal), and it may throw.
template <typename T, typename Less>
void mergeSort(std::vector<T> &items, Less less) {
  auto at = [&](size_t i) {
    return std::make_move_iterator(
        items.begin() + static_cast<ptrdiff_t>(std::min(i, items.size())));
  };
  for (size_t width = 1; width < items.size(); width *= 2) {
    std::vector<T> merged;
    merged.reserve(items.size());
    for (size_t i = 0; i < items.size(); i += 2 * width)
      std::merge(at(i), at(i + width), at(i + width), at(i + 2 * width),
                 std::back_inserter(merged), less);
    items = std::move(merged);
  }
}

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_MERGESORT_H
