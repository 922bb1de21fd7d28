//===- TextTable.h - text tables with aligned columns ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_SUPPORT_TEXTTABLE_H
#define SLUICE_SUPPORT_TEXTTABLE_H

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Prints a table whose columns are as wide as their widest cell, two spaces
/// apart.
class TextTable {
public:
  /// `left` holds the numbers of the columns that are aligned left. The other
  /// columns, which hold numbers, are aligned right.
  TextTable(std::vector<std::string> head, std::vector<size_t> left)
      : left(std::move(left)) {
    rows.push_back(std::move(head));
  }

  /// Adds a row, which must have as many cells as the head.
  void add(std::vector<std::string> row) {
    assert(row.size() == rows.front().size());
    rows.push_back(std::move(row));
  }

  /// Returns a line for the head and one for each row, without trailing spaces.
  std::string print() const {
    std::vector<size_t> widths(rows.front().size());
    for (const auto &row : rows)
      for (size_t c = 0; c < row.size(); ++c)
        widths[c] = std::max(widths[c], row[c].size());
    std::string text;
    for (const auto &row : rows) {
      std::string line;
      for (size_t c = 0; c < row.size(); ++c) {
        std::string padding(widths[c] - row[c].size(), ' ');
        bool isLeft = std::ranges::find(left, c) != left.end();
        line += isLeft ? row[c] + padding : padding + row[c];
        line += "  ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

private:
  std::vector<size_t> left;
  std::vector<std::vector<std::string>> rows;
};

} // namespace sluice

#endif // SLUICE_SUPPORT_TEXTTABLE_H
