//===- StepActivations.cpp - rows that come to a stage and leave it -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/step/StepActivations.h"

namespace sluice::cuda {

Status StepActivations::allocate() {
  const uint64_t bytes = uint64_t(model.limits().rows) * model.rowBytes();
  SLUICE_RETURN_IF_ERROR(
      incoming.assign(*model.device, model.program.hasEmbedding ? 0 : bytes));
  return outgoing.assign(*model.device, model.program.hasOutput ? 0 : bytes);
}

/// Copies incoming rows on the device. Rows that follow each other in memory,
/// like those of a frame, go in one copy.
Status StepActivations::copyReceived(const StepGraph &graph,
                                     const device::StepInput &input) {
  const uint64_t bytes = model.rowBytes();
  std::span<const uint64_t> from = input.incomingOnDevice;
  for (size_t row = 0, end = 0; row < from.size(); row = end) {
    for (end = row + 1; end < from.size() && from[end] == from[end - 1] + bytes;
         ++end) {
    }
    SLUICE_RETURN_IF_ERROR(
        model.device->copyOnDevice(graph.received + row * bytes, from[row],
                                   (end - row) * bytes, model.stream));
  }
  return {};
}

Status StepActivations::send(const StepGraph &graph,
                             const device::StepInput &input) {
  // The first member of a group broadcasts the incoming rows.
  if (graph.received == 0 ||
      (model.context.group && model.context.group->member() > 0))
    return {};
  if (!input.incomingOnDevice.empty())
    return copyReceived(graph, input);
  const int64_t count = input.batch->rows(), width = model.program.hiddenSize;
  for (int64_t row = 0; row < count; ++row)
    decodeActivations(input.incomingFormat, input.incoming[size_t(row)],
                      incoming.as<float>() + row * width, width);
  return model.device->copyToDevice(graph.received, incoming.data(),
                                    uint64_t(count * width) * sizeof(float),
                                    model.stream);
}

Status StepActivations::fetch(const StepGraph &graph,
                              const device::StepInput &input) {
  sent = graph.sent;
  if (input.keepsOutgoing)
    return {};
  return model.device->copyToHost(
      outgoing.data(), graph.sent,
      uint64_t(input.batch->rows()) * model.rowBytes(), model.stream);
}

Status StepActivations::finish(const RowReplay &rows,
                               const device::StepInput &input) {
  if (input.keepsOutgoing)
    return keep(rows, input);
  write(rows, input);
  return {};
}

/// Moves rows of the device up to the places of those that the host has
/// removed. Each moved row comes from behind all rows that stay in place.
Status StepActivations::keep(const RowReplay &rows,
                             const device::StepInput &input) {
  const uint64_t bytes = model.rowBytes();
  for (int64_t row = 0; row < input.batch->rows(); ++row)
    if (rows.deviceRowOf(row) != row)
      SLUICE_RETURN_IF_ERROR(model.device->copyOnDevice(
          sent + uint64_t(row) * bytes,
          sent + uint64_t(rows.deviceRowOf(row)) * bytes, bytes, model.stream));
  return {};
}

void StepActivations::write(const RowReplay &rows,
                            const device::StepInput &input) const {
  const int64_t width = model.program.hiddenSize;
  const int64_t bytes = width * activationBytes(input.outgoingFormat);
  for (int64_t row = 0; row < input.batch->rows(); ++row)
    encodeActivations(input.outgoingFormat,
                      outgoing.as<float>() + rows.deviceRowOf(row) * width,
                      input.outgoing.data() + row * bytes, width);
}

} // namespace sluice::cuda
