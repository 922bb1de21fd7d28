//===- StepExchanges.cpp - the collectives of a group in a step -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/StepExchanges.h"

#include "runtime/device/cuda/DeviceGroup.h"
#include "runtime/device/cuda/kernels/CompactABI.h"
#include "runtime/device/cuda/kernels/GroupABI.h"

#include <algorithm>

namespace sluice::cuda {

namespace {

using Piece = DeviceGroup::Piece;

/// Shares begin at multiples of this many floats, which are 256 bytes.
constexpr uint64_t shareStep = 64;

/// The maximum of blocks of a kernel.
constexpr int64_t maxBlocks = 256;

/// Divides `floats` numbers among the members.
struct Shares {
  Shares(uint64_t floats, int32_t members) : floats(floats), members(members) {
    const auto count = static_cast<uint64_t>(members);
    const uint64_t some = floats / count + (floats % count != 0);
    each = (some + shareStep - 1) / shareStep * shareStep;
  }
  uint64_t begin(int32_t member) const {
    return std::min(floats, each * static_cast<uint64_t>(member));
  }
  /// Returns the length of a share. The last ones may be shorter, or empty.
  uint64_t length(int32_t member) const {
    return std::min(each, floats - begin(member));
  }
  Piece of(const float *x, int32_t member) const {
    return {reinterpret_cast<DeviceAddress>(x + begin(member)),
            length(member) * sizeof(float)};
  }

  uint64_t floats, each = 0;
  int32_t members;
};

/// Returns the numbers of a value, for all rows of capacity.
uint64_t floatsOf(const StepGraph *graph, device::RecordKind kind,
                  int64_t cols) {
  return static_cast<uint64_t>(graph->capacity(kind) * cols);
}

Piece pieceOf(const float *x, uint64_t floats) {
  return {reinterpret_cast<DeviceAddress>(x), floats * sizeof(float)};
}

/// Returns the parts of all members. Those of the other members lie in scratch
/// memory, one after the other.
GroupParts partsOf(const StepGraph *graph, const float *mine,
                   const float *others, uint64_t stride) {
  const DeviceGroup &group = *graph->context.group;
  return {mine, others, static_cast<int64_t>(stride), group.members(),
          group.member()};
}

/// Returns the note for the kernel after the last exchange.
ExchangeNote noteOf(const StepGraph *graph) {
  return {graph->pointer<int32_t>(graph->context.exchanged), graph->exchanges};
}

/// Appends an exchange in which the first member sends the piece to all other
/// members.
void addGiving(StepGraph *graph, const Piece &piece) {
  const DeviceGroup &group = *graph->context.group;
  std::vector<Piece> out(size_t(group.members())), in(out.size());
  if (group.member() == 0)
    std::ranges::fill(out, piece);
  else
    in.front() = piece;
  graph->addExchange(out, in);
}

/// Returns whether the graph's nodes are made or listed. If not, they are only
/// counted.
bool isMade(StepGraph *graph) {
  const GraphContext &context = graph->context;
  if (graph->failed() || (!context.kernels && !context.nodeNames))
    return false;
  if (context.group)
    return true;
  graph->failWith("meets the members of a group, and there is none");
  return false;
}

} // namespace

void addAllReduce(StepGraph *graph, const CollectiveOperands &operands,
                  int64_t cols) {
  if (!isMade(graph))
    return graph->countExchanges(/*exchanges=*/2);
  const DeviceGroup &group = *graph->context.group;
  const int32_t members = group.members(), self = group.member();
  const Shares shares(floatsOf(graph, operands.kind, cols), members);
  std::vector<Piece> out, in;
  for (int32_t other = 0; other < members; ++other) {
    out.push_back(shares.of(operands.x, other));
    in.push_back(pieceOf(operands.scratch + shares.each * uint64_t(other),
                         shares.length(self)));
  }
  graph->addExchange(out, in);

  SumPartsArguments sum = {};
  sum.parts = partsOf(graph, operands.x + shares.begin(self), operands.scratch,
                      shares.each);
  sum.to = operands.y + shares.begin(self);
  sum.floats = static_cast<int64_t>(shares.length(self));
  sum.exchange = noteOf(graph);
  const int64_t blocks = (sum.floats / 4 + groupThreads - 1) / groupThreads;
  graph->append("sluice_sum_parts",
                {uint32_t(std::clamp<int64_t>(blocks, 1, maxBlocks)), 1, 1},
                groupThreads, 0, sum);

  for (int32_t other = 0; other < members; ++other) {
    out[size_t(other)] = shares.of(operands.y, self);
    in[size_t(other)] = shares.of(operands.y, other);
  }
  graph->addExchange(out, in);
}

void addAllGather(StepGraph *graph, const CollectiveOperands &operands,
                  int64_t partCols, int64_t cols) {
  if (!isMade(graph))
    return graph->countExchanges(/*exchanges=*/1);
  const int32_t members = graph->context.group->members();
  if (partCols >= cols || partCols * members < cols ||
      partCols * (members - 1) >= cols)
    return graph->failWith("gathers ", cols, " columns of ", members,
                           " members with ", partCols, " each");
  const uint64_t floats = floatsOf(graph, operands.kind, partCols);
  std::vector<Piece> out, in;
  for (int32_t other = 0; other < members; ++other) {
    out.push_back(pieceOf(operands.x, floats));
    in.push_back(pieceOf(operands.scratch + floats * uint64_t(other), floats));
  }
  graph->addExchange(out, in);

  JoinColumnsArguments join = {};
  join.parts = partsOf(graph, operands.x, operands.scratch, floats);
  join.to = operands.y;
  join.rowCount = graph->count(operands.kind);
  join.partCols = static_cast<int32_t>(partCols);
  join.cols = static_cast<int32_t>(cols);
  join.exchange = noteOf(graph);
  const auto rows = static_cast<uint32_t>(graph->capacity(operands.kind));
  const int64_t blocks = (cols / 4 + groupThreads - 1) / groupThreads;
  graph->append("sluice_join_columns",
                {rows, uint32_t(std::clamp<int64_t>(blocks, 1, maxBlocks)), 1},
                groupThreads, 0, join);
}

void addBroadcast(StepGraph *graph, const float *rows, int64_t cols) {
  if (!isMade(graph))
    return graph->countExchanges(/*exchanges=*/1);
  addGiving(graph,
            pieceOf(rows, floatsOf(graph, device::RecordKind::Rows, cols)));
}

DeviceAddress addDecision(StepGraph *graph) {
  if (!isMade(graph)) {
    graph->countExchanges(/*exchanges=*/1);
    return 0;
  }
  const GraphContext &context = graph->context;
  const DeviceAddress decided = context.arena + context.plan.decided;
  if (context.group->member() == 0) {
    ReadAliveArguments read = {};
    read.alive = graph->pointer<uint8_t>(context.alive);
    read.decided = graph->pointer<uint8_t>(decided);
    read.rows = graph->rows;
    graph->append("sluice_read_alive", {}, compactThreads, 0, read);
  }
  addGiving(graph, {decided, static_cast<uint64_t>(graph->rows)});
  return decided;
}

} // namespace sluice::cuda
