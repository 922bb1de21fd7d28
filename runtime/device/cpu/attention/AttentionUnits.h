//===- AttentionUnits.h - cuts a step's attention into units of work ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONUNITS_H
#define SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONUNITS_H

#include "runtime/device/cpu/CpuProgramABI.h"

#include <cstdint>
#include <span>

namespace sluice::cpu {

/// The rows of one sequence in a step: `count` rows from `begin` on.
struct RowRun {
  int64_t begin;
  int64_t count;
};

/// The place of a unit: some rows of one run times some heads of one kv head.
struct UnitPlace {
  int64_t rowBegin;
  int64_t rows;
  int64_t kvHead;
  int64_t headBegin;
  int64_t headCount;
};

/// Numbers the units of one attention, 0 .. count()-1. The division into units
/// changes no result. Larger units load keys and values less often; smaller
/// units keep all threads busy.
class AttentionUnits {
public:
  /// `runs` cover the step's rows in order, and outlive the object.
  AttentionUnits(std::span<const RowRun> runs, const SluiceAttention &params,
                 int64_t threads);

  int64_t count() const { return tiles * unitsPerTile(); }

  /// Returns the place of a unit. Calls must be in ascending order of units.
  UnitPlace place(int64_t unit);

private:
  int64_t unitsPerTile() const { return kvHeads * chunks; }
  int64_t tilesOf(const RowRun &run) const {
    return (run.count + tileRows - 1) / tileRows;
  }
  void countTiles();

  std::span<const RowRun> runs;
  int64_t kvHeads;
  int64_t group;           ///< query heads of a kv head
  int64_t chunks;          ///< how many parts a group is cut into
  int64_t tileRows;        ///< the maximum of rows in a unit
  int64_t tiles;           ///< of all runs
  size_t run = 0;          ///< the run of the last place() ...
  int64_t tilesBefore = 0; ///< ... and the tiles of the runs before it
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONUNITS_H
