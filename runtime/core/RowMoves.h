//===- RowMoves.h - moves that close the gaps of departed rows ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flover's buffer reordering (Yao et al., HiPC'23), with the fewest moves. Rows
// lie in slots; when some rows leave, the living rows must be contiguous again.
// A step's values are arrays that start at row 0, and the code that computes
// them knows only a row count, so N living rows must end up in the slots 0 ..
// N-1. Each living row in a slot from N on moves to a hole below N, and no
// other row moves. No plan has fewer moves: those rows have to move in any
// case, and there are as many of them as holes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_ROWMOVES_H
#define SLUICE_RUNTIME_CORE_ROWMOVES_H

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Moves the record of slot `from` to slot `to`, whose own record is no longer
/// needed. No slot of a plan is both a source and a destination, so the moves
/// can be made in any order or at once.
struct RowMove {
  int32_t from = 0;
  int32_t to = 0;
  bool operator==(const RowMove &) const = default;
};

/// Plans the moves that bring the N living rows (alive[slot] is not 0) to the
/// slots 0 .. N-1; there is one move for each living row at N or above.
/// O(slots). Clears `moves` first but keeps its memory. Returns N.
int64_t planCompaction(std::span<const uint8_t> alive,
                       std::vector<RowMove> &moves);

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_ROWMOVES_H
