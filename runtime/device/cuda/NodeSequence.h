//===- NodeSequence.h - launches a list of nodes one after the other ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds a list of nodes in the form that the device's options ask for: one
// graph; or, for finding a fault, a graph for each node, or one graph with a
// mark after each kernel.
//
//   Expected<NodeSequence> step = NodeSequence::make(device, kernels, nodes);
//   Status s = step->upload(stream); ... s = step->launch(stream);
//   ... the stream does not come to its end ...
//   fail(step->whereItStands()); // "kernel 3 of 14 (sluice_linear_bf16_8)"
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_NODESEQUENCE_H
#define SLUICE_RUNTIME_DEVICE_CUDA_NODESEQUENCE_H

#include "runtime/device/cuda/Arena.h"
#include "runtime/device/cuda/KernelLibrary.h"

#include <functional>

namespace sluice::cuda {

/// Owns the graphs. Must be destroyed before the device and the kernels, by a
/// thread that has entered the device. Thread-compatible.
class NodeSequence {
public:
  /// Called after each node that was launched in a graph of its own has ended.
  /// An error that it returns ends the launch. `number` counts from 0.
  using Observer = std::function<Status(size_t number, const GraphNode &node)>;

  NodeSequence() = default;
  NodeSequence(NodeSequence &&other) noexcept { *this = std::move(other); }
  NodeSequence &operator=(NodeSequence &&other) noexcept;
  ~NodeSequence();

  /// Makes the graphs. Errors: those of the device, with the kernel's name if
  /// each node has a graph of its own; the kernel that makes marks is missing.
  static Expected<NodeSequence> make(Device &device, KernelLibrary &kernels,
                                     std::vector<GraphNode> nodes);

  bool isEmpty() const { return graphs.empty(); }

  /// Returns the nodes if the options ask for finding a fault; they are not
  /// kept otherwise.
  std::span<const GraphNode> list() const { return nodes; }

  /// Brings the graphs to the device, like Device::upload().
  Status upload(Stream stream);

  /// Launches the nodes. With DeviceOptions::oneNode it waits for each of them,
  /// and an error, or the reason why the device is given up, then names the
  /// kernel. `observer` may be empty; it is called only with oneNode.
  Status launch(Stream stream, const Observer &observer = {});

  /// Returns the first kernel that is not known to have ended since launch(),
  /// such as "kernel 3 of 14 (sluice_linear_bf16_8)". Returns "" without
  /// DeviceOptions::marks, or if all kernels have ended. Thread-safe, also
  /// while the nodes run.
  std::string whereItStands() const;

private:
  Status build(KernelLibrary &kernels, std::vector<GraphNode> given);
  Status addGraph(std::span<const GraphNode> some, const std::string &context);
  Expected<std::vector<GraphNode>> withMarks(KernelLibrary &kernels) const;
  std::string titleOf(size_t number) const;
  void clear();

  Device *device = nullptr;
  std::vector<Graph> graphs;
  /// Kept for finding faults only; otherwise the device's graph has all that is
  /// needed.
  std::vector<GraphNode> nodes;
  PinnedMemory progress; ///< int32: the number of nodes that have ended
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_NODESEQUENCE_H
