//===- StepInput.cpp - the checks of a step's input -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/StepInput.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::device;

/// Checks that the rows are within the bounds and have a place in the cache.
static Status checkRows(const StepInput &input, const StepBounds &bounds) {
  const StepBatch &batch = *input.batch;
  if (batch.rows() == 0)
    return failure("step: no rows");
  if (batch.rows() > bounds.limits.rows)
    return failure("step: ", batch.rows(), " rows is more than the limit of ",
                   bounds.limits.rows);
  if (batch.outputs() > bounds.limits.outputs)
    return failure("step: ", batch.outputs(),
                   " rows ask for logits, more than the limit of ",
                   bounds.limits.outputs);
  if (!input.requests.empty() && std::ssize(input.requests) != batch.outputs())
    return failure("step: of ", batch.outputs(), " outputs, it is said for ",
                   input.requests.size(), " what is wanted");
  auto checkPlace = [&](SequenceId sequence, int64_t position) -> Status {
    if (!input.pages->isOpen(sequence))
      return failure("step: sequence ", sequence, " is not open");
    if (position >= input.pages->length(sequence))
      return failure("step: sequence ", sequence, " has no page for position ",
                     position);
    return {};
  };
  for (int64_t row = 0; row < batch.rows(); ++row) {
    int32_t token = batch.tokens()[row];
    int64_t position = batch.positions()[row];
    if (bounds.hasEmbedding && token >= bounds.vocabSize)
      return failure("step: token ", token, " at position ", position,
                     " is not in the vocabulary of ", bounds.vocabSize);
    if (position >= bounds.limits.contextLength)
      return failure("step: position ", position, " is beyond the context of ",
                     bounds.limits.contextLength);
    SLUICE_RETURN_IF_ERROR(checkPlace(batch.sequences()[row], position));
  }
  for (Mirror mirror : batch.mirrors())
    SLUICE_RETURN_IF_ERROR(
        checkPlace(mirror.sequence, batch.positions()[mirror.row]));
  return {};
}

/// Checks the memory that the step reads and writes besides its rows.
static Status checkMemory(const StepInput &input, const StepBounds &bounds) {
  int64_t pages = bounds.limits.pages;
  if (input.pages->limits().pages > pages)
    return failure("step: a table of ", input.pages->limits().pages,
                   " pages for a cache of ", pages);
  for (PageCopy copy : input.copies)
    if (copy.from < 0 || copy.from >= pages || copy.to < 0 || copy.to >= pages)
      return failure("step: page ", copy.from, " cannot be copied to ", copy.to,
                     " in a cache of ", pages, " pages");
  auto rows = static_cast<size_t>(input.batch->rows());
  const bool onDevice = !input.incomingOnDevice.empty();
  if (!bounds.hasDeviceRows && (onDevice || input.keepsOutgoing))
    return failure("step: rows in a device's memory, and there is none");
  if (onDevice && input.incomingOnDevice.size() != rows)
    return failure("step: activations have come in for ",
                   input.incomingOnDevice.size(), " of ", rows, " rows");
  if (!bounds.hasEmbedding && !onDevice) {
    if (input.incoming.size() != rows)
      return failure("step: activations have come in for ",
                     input.incoming.size(), " of ", rows, " rows");
    if (std::find(input.incoming.begin(), input.incoming.end(), nullptr) !=
        input.incoming.end())
      return failure("step: a row's activations are missing");
  }
  size_t needed =
      rows * static_cast<size_t>(bounds.hiddenSize *
                                 activationBytes(input.outgoingFormat));
  if (!bounds.hasOutput && !input.keepsOutgoing &&
      input.outgoing.size() < needed)
    return failure("step: ", input.outgoing.size(), " bytes for ", rows,
                   " rows of activations, which take ", needed);
  return {};
}

Status device::checkStep(const StepInput &input, const StepBounds &bounds) {
  SLUICE_RETURN_IF_ERROR(checkRows(input, bounds));
  return checkMemory(input, bounds);
}
