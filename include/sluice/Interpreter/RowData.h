//===- RowData.h - rows of activations of the interpreter -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_INTERPRETER_ROWDATA_H
#define SLUICE_INTERPRETER_ROWDATA_H

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::interpreter {

/// The content of a tensor<?xNxf32> during a step: data[row][width].
class RowData {
public:
  RowData() = default;
  RowData(int64_t rows, int64_t width)
      : numRows(rows), rowWidth(width), data(rows * width) {}
  /// Takes all elements, row after row. `elements` holds a whole number of
  /// rows.
  RowData(int64_t width, std::vector<float> elements)
      : numRows(static_cast<int64_t>(elements.size()) / width), rowWidth(width),
        data(std::move(elements)) {}

  int64_t rows() const { return numRows; }
  int64_t width() const { return rowWidth; }

  std::span<float> row(int64_t index) {
    return {data.data() + index * rowWidth, static_cast<size_t>(rowWidth)};
  }
  std::span<const float> row(int64_t index) const {
    return {data.data() + index * rowWidth, static_cast<size_t>(rowWidth)};
  }

  std::span<const float> elements() const { return data; }

private:
  int64_t numRows = 0;
  int64_t rowWidth = 0;
  std::vector<float> data;
};

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_ROWDATA_H
