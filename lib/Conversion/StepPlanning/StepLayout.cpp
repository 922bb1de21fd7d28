//===- StepLayout.cpp - the arena of a step ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLayout.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice::planning;

/// The intervals in which each buffer with memory in a domain is in use.
static SmallVector<Lifetime>
getLifetimes(const StepGraph &graph, ArrayRef<SmallVector<Access>> accesses,
             ArrayRef<unsigned> intervals, Domain domain) {
  SmallVector<Lifetime> lifetimes(graph.buffers.size());
  for (auto [task, interval] : llvm::zip_equal(accesses, intervals))
    for (const Access &access : task) {
      const Buffer &buffer = graph.buffers[access.buffer];
      Lifetime &lifetime = lifetimes[access.buffer];
      if (buffer.domain != domain)
        continue;
      if (lifetime.floatsPerRow == 0)
        lifetime.first = interval;
      lifetime.floatsPerRow = buffer.floatsPerRow;
      lifetime.last = interval;
    }
  // Read when the step is over.
  if (graph.logits)
    lifetimes[*graph.logits].last = intervals.back();
  for (const Node &node : graph.nodes)
    if (node.kind == Node::Kind::Send)
      lifetimes[node.inputs.front()].last = intervals.back();
  return lifetimes;
}

FailureOr<StepLayout>
sluice::planning::planStep(const StepGraph &graph,
                           ArrayRef<SmallVector<Access>> accesses,
                           ArrayRef<unsigned> intervals) {
  FailureOr<ArenaPlan> rows =
      planArena(getLifetimes(graph, accesses, intervals, Domain::Rows));
  FailureOr<ArenaPlan> outputs =
      planArena(getLifetimes(graph, accesses, intervals, Domain::Outputs));
  if (failed(rows) || failed(outputs))
    return failure();
  return StepLayout{std::move(*rows), std::move(*outputs)};
}
