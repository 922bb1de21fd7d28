//===- NodeSequence.cpp - launches a list of nodes one after the other ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/NodeSequence.h"

#include "runtime/device/cuda/kernels/MarkABI.h"

#include <atomic>
#include <cstring>

namespace sluice::cuda {

NodeSequence &NodeSequence::operator=(NodeSequence &&other) noexcept {
  if (this == &other)
    return *this;
  clear();
  device = std::exchange(other.device, nullptr);
  graphs = std::exchange(other.graphs, {});
  nodes = std::exchange(other.nodes, {});
  progress = std::move(other.progress);
  return *this;
}

NodeSequence::~NodeSequence() { clear(); }

void NodeSequence::clear() {
  for (Graph graph : graphs)
    device->destroy(graph);
  graphs.clear();
}

Expected<NodeSequence> NodeSequence::make(Device &device,
                                          KernelLibrary &kernels,
                                          std::vector<GraphNode> nodes) {
  NodeSequence made;
  made.device = &device;
  SLUICE_RETURN_IF_ERROR(made.build(kernels, std::move(nodes)));
  return made;
}

Status NodeSequence::build(KernelLibrary &kernels,
                           std::vector<GraphNode> given) {
  const DeviceOptions &options = device->options();
  if (!options.oneNode && !options.marks)
    return addGraph(given, "");
  nodes = std::move(given);
  if (options.oneNode) {
    for (size_t i = 0; i < nodes.size(); ++i)
      SLUICE_RETURN_IF_ERROR(addGraph({&nodes[i], 1}, titleOf(i)));
    return {};
  }
  Expected<PinnedMemory> memory =
      PinnedMemory::allocate(*device, sizeof(int32_t));
  if (!memory)
    return memory.status();
  progress = memory.take();
  *progress.as<int32_t>() = 0;
  Expected<std::vector<GraphNode>> marked = withMarks(kernels);
  if (!marked)
    return marked.status();
  return addGraph(*marked, "");
}

Status NodeSequence::addGraph(std::span<const GraphNode> some,
                              const std::string &context) {
  Expected<Graph> graph = device->makeGraph(some);
  if (!graph)
    return context.empty() ? graph.status()
                           : graph.status().withContext(context);
  graphs.push_back(*graph);
  return {};
}

/// Returns the nodes with a mark after each.
Expected<std::vector<GraphNode>>
NodeSequence::withMarks(KernelLibrary &kernels) const {
  Expected<Function> function = kernels.find(markKernel, 0);
  if (!function)
    return function.status();
  std::vector<GraphNode> marked;
  for (const GraphNode &node : nodes) {
    marked.push_back(node);
    MarkArguments arguments = {reinterpret_cast<int32_t *>(progress.onDevice()),
                               static_cast<int64_t>(marked.size() + 1) / 2};
    KernelNode mark;
    mark.function = *function;
    mark.threads = markThreads;
    mark.words = argumentWords(arguments);
    mark.parameterWords = static_cast<uint32_t>(mark.words.size());
    mark.name = markKernel;
    marked.emplace_back(std::move(mark));
  }
  return marked;
}

std::string NodeSequence::titleOf(size_t number) const {
  return "kernel " + std::to_string(number + 1) + " of " +
         std::to_string(nodes.size()) + " (" + nodeName(nodes[number]) + ")";
}

Status NodeSequence::upload(Stream stream) {
  for (Graph graph : graphs)
    SLUICE_RETURN_IF_ERROR(device->upload(graph, stream));
  return {};
}

Status NodeSequence::launch(Stream stream, const Observer &observer) {
  if (progress.data())
    std::atomic_ref(*progress.as<int32_t>()).store(0);
  // There is a graph for each node, and each is waited for.
  const bool isByNode = !nodes.empty() && !progress.data();
  for (size_t i = 0; i < graphs.size(); ++i) {
    Status status = device->launch(graphs[i], stream);
    if (status.ok() && isByNode)
      status = device->settle(stream, titleOf(i).c_str());
    if (!status.ok())
      return isByNode && !device->isGivenUp() ? status.withContext(titleOf(i))
                                              : status;
    if (isByNode && observer)
      SLUICE_RETURN_IF_ERROR(observer(i, nodes[i]));
  }
  return {};
}

std::string NodeSequence::whereItStands() const {
  if (!progress.data())
    return "";
  // Relaxed: the host reads no other data that the kernels have written.
  const auto ended = static_cast<size_t>(
      std::atomic_ref(*progress.as<int32_t>()).load(std::memory_order_relaxed));
  return ended < nodes.size() ? titleOf(ended) : "";
}

} // namespace sluice::cuda
