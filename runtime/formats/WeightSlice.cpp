//===- WeightSlice.cpp - a group member's part of a weight ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/WeightSlice.h"

#include <algorithm>

using namespace sluice;

namespace {

/// Treats the ranges as one sequence, and calls body(begin, end) for the parts
/// of the whole weight that places [first, last) of that sequence select.
template <typename Body>
void forEachRange(const WeightSlice &slice, int64_t first, int64_t last,
                  Body body) {
  int64_t place = 0;
  for (size_t i = 0; i < slice.bounds.size(); i += 2) {
    int64_t begin = slice.bounds[i], end = slice.bounds[i + 1];
    int64_t from = std::max(first, place);
    int64_t to = std::min(last, place + end - begin);
    if (from < to)
      body(begin + from - place, begin + to - place);
    place += end - begin;
  }
}

} // namespace

int64_t WeightSlice::count() const {
  int64_t sum = 0;
  for (size_t i = 0; i < bounds.size(); i += 2)
    sum += bounds[i + 1] - bounds[i];
  return sum;
}

int64_t SlicedMatrix::usedRows() const {
  return slice.isWhole() || slice.ofColumns ? rows : slice.count();
}

int64_t SlicedMatrix::usedCols() const {
  return !slice.isWhole() && slice.ofColumns ? slice.count() : cols;
}

void SlicedMatrix::copy(int64_t rowBegin, int64_t rowEnd, int64_t colBegin,
                        int64_t colEnd, std::vector<uint8_t> &into) const {
  into.clear();
  uint64_t stride = scales ? uint64_t(cols) : *rowBytes(format, cols);
  int64_t blockElements = formatInfo(format).blockElements;
  auto copyColumns = [&](int64_t row, int64_t begin, int64_t end) {
    const uint8_t *from = data + uint64_t(row) * stride;
    uint64_t first = *rowBytes(format, begin), last = *rowBytes(format, end);
    if (!scales) {
      into.insert(into.end(), from + first, from + last);
      return;
    }
    into.resize(into.size() + last - first);
    scales->gather(from, row, begin / blockElements, end / blockElements,
                   into.data() + into.size() - (last - first));
  };
  auto copyRow = [&](int64_t row) {
    if (slice.isWhole() || !slice.ofColumns)
      return copyColumns(row, colBegin, colEnd);
    forEachRange(slice, colBegin, colEnd, [&](int64_t begin, int64_t end) {
      copyColumns(row, begin, end);
    });
  };
  auto copyRows = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      copyRow(row);
  };
  if (slice.isWhole() || slice.ofColumns)
    copyRows(rowBegin, rowEnd);
  else
    forEachRange(slice, rowBegin, rowEnd, copyRows);
}

Status sluice::checkSlice(const WeightSlice &slice, int64_t rows, int64_t cols,
                          Format stored, Format computed, bool transposed) {
  int64_t limit = slice.ofColumns ? cols : rows, end = 0;
  if (slice.bounds.size() % 2 != 0)
    return failure("a range has no end");
  for (size_t i = 0; i < slice.bounds.size(); i += 2) {
    if (slice.bounds[i] < end || slice.bounds[i + 1] <= slice.bounds[i] ||
        slice.bounds[i + 1] > limit)
      return failure("the range ", slice.bounds[i], " to ", slice.bounds[i + 1],
                     " is empty, out of order or not in ", limit);
    end = slice.bounds[i + 1];
  }
  const char *name = slice.ofColumns ? "column " : "row ";
  for (int64_t bound : slice.bounds) {
    if (slice.ofColumns && !rowBytes(stored, bound))
      return failure(name, bound, " is inside a block of ",
                     formatInfo(stored).name);
    if (slice.ofColumns != transposed && !rowBytes(computed, bound))
      return failure(name, bound, " is inside a block of ",
                     formatInfo(computed).name);
  }
  return {};
}
