//===- NodeSequence.h - nodes that are launched one behind the other ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list of nodes as the device's options want it: one graph; or, for finding a
// fault, a graph for each node, or one graph with a mark behind each kernel.
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

/// Owns the graphs; destroyed before the device and the kernels, by a thread
/// that has entered the device. Thread-compatible.
class NodeSequence {
public:
  /// Called when a node has ended that was launched by itself; an error ends
  /// the launch with it. `number` counts from 0.
  using Observer = std::function<Status(size_t number, const GraphNode &node)>;

  NodeSequence() = default;
  NodeSequence(NodeSequence &&other) noexcept { *this = std::move(other); }
  NodeSequence &operator=(NodeSequence &&other) noexcept;
  ~NodeSequence();

  /// Errors: the device's, with the kernel's name where one is launched by
  /// itself; there is no kernel that makes marks.
  static Expected<NodeSequence> make(Device &device, KernelLibrary &kernels,
                                     std::vector<GraphNode> nodes);

  bool isEmpty() const { return graphs.empty(); }

  /// The nodes, where the options are for finding a fault; else nothing is
  /// kept.
  std::span<const GraphNode> list() const { return nodes; }

  /// Brings the graphs to the device, as Device::upload().
  Status upload(Stream stream);

  /// Launches the nodes. With DeviceOptions::oneNode it waits for each of them,
  /// and an error, or giving the device up, names the kernel. `observer` may be
  /// empty, and is not called otherwise.
  Status launch(Stream stream, const Observer &observer = {});

  /// The first kernel that is not known to have ended since launch(): "kernel 3
  /// of 14 (sluice_linear_bf16_8)"; empty without DeviceOptions::marks, and
  /// where all have ended. Thread-safe, also while the nodes run.
  std::string whereItStands() const;

private:
  Status build(KernelLibrary &kernels, std::vector<GraphNode> given);
  Status addGraph(std::span<const GraphNode> some, const std::string &context);
  Expected<std::vector<GraphNode>> withMarks(KernelLibrary &kernels) const;
  std::string titleOf(size_t number) const;
  void clear();

  Device *device = nullptr;
  std::vector<Graph> graphs;
  /// Of diagnoses alone; else the device's graph has all that is needed.
  std::vector<GraphNode> nodes;
  PinnedMemory progress; ///< int32: how many nodes have ended
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_NODESEQUENCE_H
