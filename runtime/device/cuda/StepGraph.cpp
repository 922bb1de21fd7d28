//===- StepGraph.cpp - a program's step as a list of kernels --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/StepGraph.h"

#include "runtime/device/cuda/GraphTasks.h"
#include "runtime/device/cuda/StepExchanges.h"
#include "runtime/device/cuda/kernels/SampleABI.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::cuda;
using device::RecordKind;

StepGraph::StepGraph(GraphContext &context, int64_t rows)
    : context(context), layout(context.limits, rows), rows(rows),
      outputs(std::min(rows, context.limits.outputs)) {}

Status StepGraph::build() {
  const size_t tasks = context.program->step.tasks.size();
  for (size_t task = 0; task < tasks;)
    task += appendTasks(*this, task).count;
  return finish();
}

Status StepGraph::finish() {
  if (!failed() && context.program->hasOutput && !outputsNumbered)
    failWith("its outputs have got no numbers");
  if (!failed() && context.program->step.findsTokens())
    addSampling();
  if (!failed() && !context.program->hasEmbedding && received == 0 &&
      context.arena)
    failWith("it takes no rows in");
  if (!failed() && !context.program->hasOutput && sent == 0 && context.arena)
    failWith("it sends no rows");
  return error.withContext("the program");
}

void StepGraph::fail(const Status &status) {
  if (error.ok())
    error = status;
}

void StepGraph::add(const std::string &kernel, Extent grid, uint32_t threads,
                    uint32_t sharedBytes, std::vector<uint64_t> words,
                    uint32_t parameterWords) {
  ++kernelCount;
  noteNode(kernel);
  if (failed() || !context.kernels)
    return;
  Expected<Function> function = context.kernels->find(kernel, sharedBytes);
  if (!function)
    return fail(function.status());
  nodes.push_back(KernelNode{*function, grid, threads, sharedBytes,
                             std::move(words), parameterWords, kernel});
}

void StepGraph::addProduct(const ProductNode &product) {
  kernelCount += kernelsOfProduct;
  noteNode(productNodeName);
  if (failed() || !context.kernels)
    return;
  nodes.push_back(product);
}

void StepGraph::addExchange(std::span<const DeviceGroup::Piece> out,
                            std::span<const DeviceGroup::Piece> in) {
  ++exchanges;
  kernelCount += kernelsOfExchange;
  noteNode(exchangeNodeName);
  if (!failed() && context.kernels)
    nodes.push_back(CapturedNode{
        [group = context.group, gives = std::vector(out.begin(), out.end()),
         gets = std::vector(in.begin(), in.end())](Stream stream) {
          return group->exchange(gives, gets, stream);
        }});
}

StepGraph::Address StepGraph::recordsAt(RecordKind kind, int64_t place) const {
  int64_t floats = place * padded(kind);
  if (kind == RecordKind::Outputs)
    floats += context.program->rowFloats * padded(RecordKind::Rows);
  return context.arena + context.plan.values +
         static_cast<Address>(floats) * sizeof(float);
}

StepGraph::Address StepGraph::table(int64_t words) const {
  return context.arena + context.plan.tables +
         static_cast<Address>(words) * sizeof(int32_t);
}

const int32_t *StepGraph::count(RecordKind kind) const {
  return pointer<int32_t>(table(
      kind == RecordKind::Rows ? TableLayout::Rows : TableLayout::Outputs));
}

int64_t StepGraph::capacity(RecordKind kind) const {
  return kind == RecordKind::Rows ? rows : outputs;
}

int64_t StepGraph::padded(RecordKind kind) const {
  return paddedCapacity(capacity(kind));
}

RowTable StepGraph::rowTable() const {
  RowTable result = {};
  result.rowCount = count(RecordKind::Rows);
  result.positions = pointer<int32_t>(table(layout.positions));
  result.sequences = pointer<int32_t>(table(layout.sequenceOf));
  result.pages = pointer<int32_t>(table(layout.pages));
  // The numbers of sequences are places in the table; see StepTables.h.
  result.pagesPerSequence = 1;
  return result;
}

StepTables::Attention StepGraph::attention() const {
  StepTables::Attention result;
  result.places = context.plan.spanPlaces;
  if (!hasLayersWithoutTiles)
    result.tileRows = tileRows;
  return result;
}

const float *StepGraph::slopesOf(const device::PlannedAttention &attention) {
  const std::vector<float> &wanted = attention.slopes;
  if (wanted.empty())
    return nullptr;
  std::vector<float> &all = context.slopes;
  auto found =
      std::search(all.begin(), all.end(), wanted.begin(), wanted.end());
  auto at = static_cast<uint64_t>(found - all.begin());
  if (found == all.end()) {
    if (all.size() + wanted.size() > context.plan.slopeFloats) {
      failWith("more slopes of attention than there is room for");
      return nullptr;
    }
    all.insert(all.end(), wanted.begin(), wanted.end());
  }
  return pointer<float>(context.arena + context.plan.slopes +
                        at * sizeof(float));
}

void StepGraph::noteTiles(int32_t rowsOfTile) {
  if (rowsOfTile == 0)
    hasLayersWithoutTiles = true;
  else if (std::ranges::find(tileRows, rowsOfTile) == tileRows.end())
    tileRows.push_back(rowsOfTile);
}

void StepGraph::addSampling() {
  const MemoryPlan &plan = context.plan;
  const CudaProgram &program = *context.program;
  SampleArguments arguments = {};
  arguments.logits =
      pointer<float>(recordsAt(RecordKind::Outputs, program.logitsOffset));
  arguments.requests = pointer<OutputRequest>(table(layout.requests));
  arguments.sources = pointer<int32_t>(table(layout.outputSources));
  arguments.tokens = pointer<int32_t>(context.arena + plan.greedy);
  arguments.candidates = pointer<TokenLogit>(context.arena + plan.candidates);
  arguments.found = pointer<uint64_t>(context.arena + plan.found);
  arguments.outputCount = count(RecordKind::Outputs);
  arguments.vocabulary = program.vocabSize;
  const auto wide = static_cast<uint32_t>(outputs);
  const int32_t parts = sampleParts(static_cast<int32_t>(program.vocabSize));
  append("sluice_sample_search", {static_cast<uint32_t>(parts), wide, 1},
         sampleThreads, sampleSharedBytes, arguments);
  append("sluice_sample_merge", {wide, 1, 1}, sampleThreads, sampleSharedBytes,
         arguments);
}

void StepGraph::addCheckpoint(std::span<const device::PlannedBuffer> buffers) {
  ++checkpoints;
  const MemoryPlan &plan = context.plan;
  CompactArguments compact = {};
  compact.alive = pointer<uint8_t>(
      context.program->members > 1 ? addDecision(this) : context.alive);
  compact.rowCount = pointer<int32_t>(table(TableLayout::Rows));
  for (int64_t state : {layout.positions, layout.sequenceOf, layout.origins,
                        layout.wantsOutput, layout.spanPlaces})
    compact.states[compact.stateCount++] = pointer<int32_t>(table(state));
  compact.origins = pointer<int32_t>(table(layout.origins));
  compact.wantsOutput = pointer<int32_t>(table(layout.wantsOutput));
  compact.outputCount = pointer<int32_t>(table(TableLayout::Outputs));
  if (!outputsNumbered)
    compact.outputRows = pointer<int32_t>(table(layout.outputRows));
  compact.outputSources = pointer<int32_t>(table(layout.outputSources));
  compact.departedAt = pointer<int32_t>(table(layout.departedAt));
  compact.checkpoint = checkpoints;
  compact.passed = pointer<int32_t>(context.passed);
  compact.mirrorCount = pointer<int32_t>(table(TableLayout::Mirrors));
  compact.mirrorRows = pointer<int32_t>(table(layout.mirrorRows));
  compact.mirrorSequences = pointer<int32_t>(table(layout.mirrorSequences));
  compact.moves = pointer<int32_t>(context.arena + plan.moves);
  compact.moveCount = pointer<int32_t>(table(TableLayout::Moves));
  compact.rowNow = pointer<int32_t>(context.arena + plan.rowNow);
  compact.rowCapacity = static_cast<int32_t>(rows);
  append("sluice_compact", {}, compactThreads,
         static_cast<uint32_t>(compactSharedBytes(compact.rowCapacity)),
         compact);

  // At most half of the rows move.
  constexpr int64_t maxBlocks = 64;
  auto blocks =
      static_cast<uint32_t>(std::clamp<int64_t>(rows / 2, 1, maxBlocks));
  for (size_t first = 0; first < buffers.size(); first += maxValues) {
    size_t some = std::min<size_t>(maxValues, buffers.size() - first);
    MoveArguments move = {};
    for (size_t i = 0; i < some; ++i) {
      const device::PlannedBuffer &buffer = buffers[first + i];
      move.values[i] =
          pointer<uint8_t>(recordsAt(RecordKind::Rows, buffer.place));
      move.rowBytes[i] = buffer.floats * int64_t(sizeof(float));
    }
    move.moves = compact.moves;
    move.moveCount = compact.moveCount;
    append("sluice_move_values", {blocks, static_cast<uint32_t>(some), 1},
           moveThreads, 0, move);
  }
}
