//===- RowReplay.cpp - follows which rows have left a step ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/step/RowReplay.h"

#include <numeric>

namespace sluice::cuda {

Status RowReplay::allocate() {
  const auto rows = static_cast<size_t>(model.limits().rows);
  for (std::vector<int32_t> *each :
       {&origins, &deviceRows, &slotOfOrigin, &slots})
    each->reserve(rows);
  stays.reserve(rows);
  return departed.assign(*model.device, rows * sizeof(int32_t));
}

Status RowReplay::fetch(const StepGraph &graph, int64_t rows) {
  if (graph.checkpoints == 0)
    return {};
  return model.device->copyToHost(
      departed.data(), graph.table(graph.layout.departedAt),
      static_cast<uint64_t>(rows) * sizeof(int32_t), model.stream);
}

void RowReplay::replay(const StepGraph &graph, const device::StepInput &input) {
  const StepBatch &batch = *input.batch;
  origins.resize(static_cast<size_t>(batch.rows()));
  std::iota(origins.begin(), origins.end(), 0);
  slotOfOrigin.assign(origins.size(), -1);
  bool anyDeparted = false;
  if (graph.checkpoints > 0 && input.checkpoints)
    input.checkpoints->agree();
  // The rest of a step without rows was not computed.
  for (int32_t at = 1; at <= graph.checkpoints && batch.rows() > 0; ++at) {
    if (at == graph.checkpointsBeforeOutputs + 1)
      noteOutputs(batch);
    anyDeparted |= leaveAt(at, input);
  }
  if (graph.checkpoints == graph.checkpointsBeforeOutputs)
    noteOutputs(batch);
  deviceRows.resize(origins.size());
  std::iota(deviceRows.begin(), deviceRows.end(), 0);
  if (anyDeparted)
    dropOrphans(input);
  slots.clear();
  for (int32_t row : batch.outputRows())
    slots.push_back(slotOfOrigin[size_t(origins[size_t(row)])]);
}

/// Records the device's output numbers, which are those of the batch at this
/// point and stay.
void RowReplay::noteOutputs(const StepBatch &batch) {
  for (int64_t output = 0; output < batch.outputs(); ++output)
    slotOfOrigin[size_t(origins[size_t(batch.outputRows()[size_t(output)])])] =
        static_cast<int32_t>(output);
}

/// Reports the checkpoint to the batch. Returns whether any rows left there.
bool RowReplay::leaveAt(int32_t checkpoint, const device::StepInput &input) {
  const auto *departedAt = departed.as<int32_t>();
  stays.clear();
  bool all = true;
  for (int32_t origin : origins) {
    stays.push_back(departedAt[origin] != checkpoint);
    all &= stays.back() != 0;
  }
  if (!input.checkpoints)
    return false;
  if (all) {
    input.checkpoints->leave({}, {});
    return false;
  }
  for (RowMove move :
       input.checkpoints->leave(stays, watch.whenSeen(checkpoint)))
    origins[size_t(move.to)] = origins[size_t(move.from)];
  origins.resize(static_cast<size_t>(input.batch->rows()));
  return true;
}

/// Removes rows that the device does not know to be dead; its rows stay where
/// they are.
void RowReplay::dropOrphans(const device::StepInput &input) {
  for (RowMove move : input.checkpoints->dropOrphans()) {
    origins[size_t(move.to)] = origins[size_t(move.from)];
    deviceRows[size_t(move.to)] = deviceRows[size_t(move.from)];
  }
  origins.resize(static_cast<size_t>(input.batch->rows()));
  deviceRows.resize(origins.size());
}

} // namespace sluice::cuda
