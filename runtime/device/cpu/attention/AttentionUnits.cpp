//===- AttentionUnits.cpp - cuts a step's attention into units of work ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/AttentionUnits.h"
#include "runtime/device/cpu/attention/Attention.h"

#include <algorithm>
#include <cassert>

namespace sluice::cpu {

AttentionUnits::AttentionUnits(std::span<const RowRun> runs,
                               const SluiceAttention &params, int64_t threads)
    : runs(runs), kvHeads(params.kvHeads), group(params.heads / params.kvHeads),
      chunks((group + maxUnitPairs - 1) / maxUnitPairs) {
  int64_t heads = (group + chunks - 1) / chunks;
  tileRows = std::max<int64_t>(1, maxUnitPairs / heads);
  countTiles();
  // Makes enough units that threads of unequal speed finish together. Fewer
  // rows in a unit cost less than fewer heads, which share every key and value.
  while (count() < 2 * threads && tileRows > 1) {
    tileRows = (tileRows + 1) / 2;
    countTiles();
  }
  while (count() < threads && chunks < group)
    chunks = std::min(group, 2 * chunks);
}

void AttentionUnits::countTiles() {
  tiles = 0;
  for (const RowRun &each : runs)
    tiles += tilesOf(each);
}

UnitPlace AttentionUnits::place(int64_t unit) {
  assert(unit >= tilesBefore * unitsPerTile() && unit < count());
  int64_t tile = unit / unitsPerTile();
  while (tile - tilesBefore >= tilesOf(runs[run])) {
    tilesBefore += tilesOf(runs[run]);
    ++run;
  }
  int64_t row = (tile - tilesBefore) * tileRows;
  int64_t kvHead = unit % unitsPerTile() / chunks;
  int64_t chunk = unit % chunks;
  // The chunks of a group differ by at most one head.
  int64_t headBegin = chunk * group / chunks;
  int64_t headEnd = (chunk + 1) * group / chunks;
  return {runs[run].begin + row, std::min(tileRows, runs[run].count - row),
          kvHead, kvHead * group + headBegin, headEnd - headBegin};
}

} // namespace sluice::cpu
