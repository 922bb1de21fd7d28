//===- RowMoves.h - closing the gaps that rows leave ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flover's buffer reordering (Yao et al., HiPC'23), with the fewest moves. Rows
// lie in slots; when some leave, those that live on must lie together again. A
// step's values are arrays that start at row 0, and the code that computes them
// is told a row count only, so N living rows must end in the slots 0 .. N-1.
// Each living row in a slot from N on goes to a hole below N; no other moves.
// That is the least: those rows have to move in any case, and there are as many
// of them as holes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_ROWMOVES_H
#define SLUICE_RUNTIME_CORE_ROWMOVES_H

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// The record of slot `from` goes to slot `to`, whose own is no longer needed.
/// No slot is both: moves of one plan can be made in any order, or at once.
struct RowMove {
  int32_t from = 0;
  int32_t to = 0;
  bool operator==(const RowMove &) const = default;
};

/// Plans the moves that bring the living rows (alive[slot] not 0) to the slots
/// 0 .. N-1, N their number: as many as there are living rows at N or above.
/// O(slots). `moves` is cleared first and keeps its room. Returns N.
int64_t planCompaction(std::span<const uint8_t> alive,
                       std::vector<RowMove> &moves);

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_ROWMOVES_H
