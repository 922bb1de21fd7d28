//===- AttentionTasks.cpp - the nodes of caches and attention ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/AttentionTasks.h"

#include "runtime/device/cuda/AttendGrid.h"
#include "runtime/device/cuda/TaskContext.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;

namespace {

const char *nameOf(CacheKind kind) {
  constexpr const char *names[] = {"f16", "bf16", "e4m3"};
  return names[static_cast<int>(kind)];
}

class AttentionAppender : public TaskContext {
public:
  using TaskContext::TaskContext;

  void append(const AppendTask &task, std::span<const RowRotation> rotations);
  void append(const AttendTask &task, const RowTail &tail);

private:
  void appendKernels(AttendArguments &arguments, int32_t dim);
};

} // namespace

void AttentionAppender::append(const AppendTask &task,
                               std::span<const RowRotation> rotations) {
  const CacheShape &shape = program.caches[size_t(task.cache)];
  AppendArguments arguments = {};
  arguments.k = addressOf(task.key);
  arguments.v = addressOf(task.value);
  arguments.cache = inArena<uint8_t>(memory.caches[size_t(task.cache)]);
  arguments.rows = graph.rowTable();
  arguments.mirrorCount =
      graph.pointer<int32_t>(graph.table(TableLayout::Mirrors));
  arguments.mirrorRows =
      graph.pointer<int32_t>(graph.table(graph.layout.mirrorRows));
  arguments.mirrorSequences =
      graph.pointer<int32_t>(graph.table(graph.layout.mirrorSequences));
  arguments.kvHeads = static_cast<int32_t>(shape.kvHeads);
  arguments.headDim = static_cast<int32_t>(shape.headDim);
  arguments.kind = graph.context.limits.cacheKind;
  for (const RowRotation &each : rotations) {
    Rotation &rotation =
        each.output == task.key ? arguments.keys : arguments.queries;
    rotation.x = addressOf(each.input);
    rotation.y = addressOf(each.output);
    rotation.table = inArena<float>(memory.ropes[size_t(each.ropeTable)]);
    rotation.heads = static_cast<int32_t>(each.heads);
    rotation.pairs = static_cast<int32_t>(each.rotaryDim / 2);
    rotation.isHalf = each.isHalf;
  }
  constexpr int64_t warps = appendThreads / 32;
  const int64_t heads = shape.kvHeads + arguments.queries.heads;
  graph.append(
      "sluice_append_cache",
      {static_cast<uint32_t>((graph.rows * heads + warps - 1) / warps), 1, 1},
      appendThreads, 0, arguments);
}

/// Appends the kernels of an attention over heads of `dim` numbers.
void AttentionAppender::appendKernels(AttendArguments &arguments, int32_t dim) {
  const int32_t group = arguments.heads / arguments.kvHeads;
  const auto rows = static_cast<int32_t>(graph.rows);
  // Kernels for tiles compute chunks of prompts, if a step has room for one.
  arguments.skipChunks =
      group <= maxTileGroup(dim) && rows >= tileRows(dim, group);
  graph.noteTiles(arguments.skipChunks ? tileRows(dim, group) : 0);
  const std::string suffix =
      std::string(nameOf(graph.context.limits.cacheKind)) + "_" +
      std::to_string(dim);
  const auto threads = static_cast<uint32_t>(attendThreads(dim));
  const auto kvHeads = static_cast<uint32_t>(arguments.kvHeads);
  if (arguments.skipChunks)
    graph.append("sluice_attend_tile_" + suffix,
                 {static_cast<uint32_t>(divideUp(rows, tileRows(dim, group))),
                  kvHeads, 1},
                 threads, static_cast<uint32_t>(tileSharedBytes(dim)),
                 arguments);
  const AttendGrid grid =
      attendGrid({graph.rows, arguments.heads, arguments.kvHeads, dim,
                  memory.spansPerRow, arguments.skipChunks != 0},
                 graph.context.multiprocessors);
  graph.append(
      "sluice_attend_" + suffix,
      {static_cast<uint32_t>(grid.spanRows * divideUp(group, warpPairs)),
       static_cast<uint32_t>(grid.spanShares), kvHeads},
      threads, static_cast<uint32_t>(attendSharedBytes(dim)), arguments);
}

void AttentionAppender::append(const AttendTask &task, const RowTail &tail) {
  const CacheShape &shape = program.caches[size_t(task.cache)];
  const PlannedAttention &attention =
      program.step.attentions[size_t(task.attention)];
  if (attention.heads > maxAttendHeads)
    return failWith("attention of ", attention.heads,
                    " heads; kernels have up to ", maxAttendHeads);
  const int32_t dim = cacheDim(static_cast<int32_t>(shape.headDim));
  // The whole context is the widest window.
  const int64_t context = graph.context.limits.contextLength;
  AttendArguments arguments = {};
  arguments.q = addressOf(task.query);
  arguments.out = addressOf(task.output);
  arguments.cache = inArena<uint8_t>(memory.caches[size_t(task.cache)]);
  arguments.rows = graph.rowTable();
  arguments.alibiSlopes = graph.slopesOf(attention);
  arguments.partials = inArena<float>(memory.spans);
  arguments.spanPlaces =
      graph.pointer<int32_t>(graph.table(graph.layout.spanPlaces));
  arguments.tickets = inArena<uint32_t>(memory.tickets);
  arguments.placeCount = memory.spanPlaces;
  arguments.heads = static_cast<int32_t>(attention.heads);
  arguments.kvHeads = static_cast<int32_t>(shape.kvHeads);
  arguments.headDim = static_cast<int32_t>(shape.headDim);
  arguments.window = static_cast<int32_t>(std::min(attention.window, context));
  arguments.scale = attention.scale;
  arguments.softcap = attention.softcap;
  arguments.tail = tail;
  appendKernels(arguments, dim);
}

void cuda::appendCache(StepGraph &graph, size_t number,
                       std::span<const RowRotation> rotations) {
  AttentionAppender(graph, number)
      .append(std::get<AppendTask>(graph.context.program->step.tasks[number]),
              rotations);
}

void cuda::appendAttention(StepGraph &graph, size_t number,
                           const RowTail &tail) {
  AttentionAppender(graph, number)
      .append(std::get<AttendTask>(graph.context.program->step.tasks[number]),
              tail);
}
