//===- StepBatch.cpp - the rows of one step -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StepBatch.h"

#include <algorithm>
#include <limits>

namespace sluice {

StepBatch::StepBatch(int64_t rowLimit, int64_t outputLimit)
    : maxRows(rowLimit), maxOutputs(std::min(outputLimit, rowLimit)) {
  assert(rowLimit >= 1 && outputLimit >= 0);
  tokenOf.reserve(static_cast<size_t>(maxRows));
  positionOf.reserve(static_cast<size_t>(maxRows));
  sequenceOf.reserve(static_cast<size_t>(maxRows));
  outputRow.reserve(static_cast<size_t>(maxOutputs));
}

Status StepBatch::add(SequenceId sequence, int64_t position, int32_t token,
                      bool wantsLogits) {
  if (freeRows() == 0)
    return failure("step: more than ", maxRows, " rows");
  if (wantsLogits && freeOutputs() == 0)
    return failure("step: more than ", maxOutputs, " rows ask for logits");
  if (sequence < 0)
    return failure("step: sequence ", sequence, " is negative");
  if (position < 0 || position > std::numeric_limits<int32_t>::max())
    return failure("step: position ", position, " is out of range");
  if (token < 0)
    return failure("step: token ", token, " is negative");
  if (!sequenceOf.empty() && sequenceOf.back() == sequence) {
    if (position != int64_t{positionOf.back()} + 1)
      return failure("step: sequence ", sequence, ": position ", position,
                     " does not follow ", positionOf.back());
  } else if (std::find(sequenceOf.begin(), sequenceOf.end(), sequence) !=
             sequenceOf.end()) {
    return failure("step: the rows of sequence ", sequence,
                   " do not lie together");
  }
  if (wantsLogits)
    outputRow.push_back(static_cast<int32_t>(rows()));
  tokenOf.push_back(token);
  positionOf.push_back(static_cast<int32_t>(position));
  sequenceOf.push_back(sequence);
  return {};
}

void StepBatch::clear() {
  tokenOf.clear();
  positionOf.clear();
  sequenceOf.clear();
  outputRow.clear();
}

} // namespace sluice
