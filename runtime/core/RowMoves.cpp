//===- RowMoves.cpp - moves that close the gaps of departed rows ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RowMoves.h"

namespace sluice {

int64_t planCompaction(std::span<const uint8_t> alive,
                       std::vector<RowMove> &moves) {
  moves.clear();
  int64_t living = 0;
  for (uint8_t lives : alive)
    living += lives != 0;
  int64_t hole = 0;
  for (int64_t slot = living; slot < std::ssize(alive); ++slot) {
    if (!alive[slot])
      continue;
    // There are as many holes below `living` as living rows from `living` on.
    while (alive[hole])
      ++hole;
    moves.push_back({static_cast<int32_t>(slot), static_cast<int32_t>(hole)});
    ++hole;
  }
  return living;
}

} // namespace sluice
