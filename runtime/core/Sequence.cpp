//===- Sequence.cpp - the tokens of one sequence --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Sequence.h"

#include <algorithm>

namespace sluice {

Sequence::Sequence(SequenceId id, int64_t tokenLimit)
    : name(id), limit(tokenLimit) {
  assert(tokenLimit >= 0);
  ids.reserve(static_cast<size_t>(tokenLimit));
}

Status Sequence::append(std::span<const int32_t> tokens) {
  if (static_cast<int64_t>(tokens.size()) > limit - length())
    return failure("sequence ", name, ": ", length(), " + ", tokens.size(),
                   " tokens is more than the limit of ", limit);
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  return {};
}

int64_t Sequence::schedule(StepBatch &batch, int64_t maxRows,
                           LogitsOf logits) const {
  int64_t rows = std::min({maxRows, pending(), batch.freeRows()});
  if (logits == LogitsOf::All)
    rows = std::min(rows, batch.freeOutputs());
  // The row of the last token waits for a step that has an output left for it.
  if (logits == LogitsOf::Last && rows == pending() && rows > 0 &&
      batch.freeOutputs() == 0)
    --rows;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t position = inCache + row;
    bool wants = logits == LogitsOf::All ||
                 (logits == LogitsOf::Last && position == length() - 1);
    Status added = batch.add(name, position, ids[position], wants);
    if (!added.ok())
      return row;
  }
  return rows;
}

void Sequence::commit(int64_t rows) {
  assert(rows >= 0 && rows <= pending() && "more rows than are pending");
  inCache += rows;
}

void Sequence::truncate(int64_t length) {
  assert(length >= 0);
  if (length >= this->length())
    return;
  ids.resize(static_cast<size_t>(length));
  inCache = std::min(inCache, length);
}

} // namespace sluice
