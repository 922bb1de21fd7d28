//===- TaskBinder.cpp - addresses for the tasks of a step -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/StepTasks.h"

using namespace sluice;
using namespace sluice::cpu;
using namespace sluice::device;

namespace sluice::cpu {

/// Binds the tasks of a plan that has passed checkStepPlan(). Keeps the first
/// error.
class TaskBinder {
public:
  TaskBinder(const CpuProgram &program, const ArenaMemory &arena,
             std::span<LayerCache> caches)
      : program(program), plan(program.step), arena(arena), caches(caches) {}

  Expected<StepTasks> bind() {
    for (; task < plan.tasks.size() && status.ok(); ++task)
      std::visit([this](const auto &each) { bindTask(each); },
                 plan.tasks[task]);
    return status.ok() ? Expected<StepTasks>(std::move(bound)) : status;
  }

private:
  template <typename... Parts> void fail(const Parts &...parts) {
    if (status.ok())
      status = failure("step plan: task ", task, ": ", parts...);
  }

  float *startOf(int64_t number) const {
    const PlannedBuffer &buffer = plan.buffers[number];
    if (buffer.kind == RecordKind::Rows)
      return arena.start + buffer.place * arena.rowCapacity;
    return arena.start + program.rowFloats * arena.rowCapacity +
           buffer.place * arena.outputCapacity;
  }

  /// Returns the weight `number` as a `Kind`, or null after it has failed
  /// because the weight is of another kind.
  template <typename Kind>
  const Kind *findWeight(int64_t number, const char *kind) {
    const Kind *weight = std::get_if<Kind>(&program.weights[number]);
    if (!weight)
      fail("weight ", number, " is no ", kind);
    return weight;
  }

  /// Returns the address that a row kernel is given for `argument`. Casting
  /// `const` away is safe, since a row kernel only reads weights and tables.
  void *bindArgument(const KernelArgument &argument) {
    switch (argument.kind) {
    case KernelArgument::Kind::Buffer:
      if (argument.part != 0)
        fail("a row kernel is given a part of buffer ", argument.index);
      return startOf(argument.index);
    case KernelArgument::Kind::RopeTable:
      return const_cast<RopeTable *>(&program.ropeTables[argument.index]);
    case KernelArgument::Kind::Weight:
      break;
    case KernelArgument::Kind::Positions:
    case KernelArgument::Kind::OutputRows:
    case KernelArgument::Kind::GreedyTokens:
      fail("a row kernel is given what only a GPU has");
      return nullptr;
    }
    const CpuWeight &weight = program.weights[argument.index];
    if (auto *table = std::get_if<EmbeddingTable>(&weight))
      return const_cast<EmbeddingTable *>(table);
    if (auto *vector = std::get_if<std::span<const float>>(&weight))
      return const_cast<float *>(vector->data());
    fail("a row kernel is given weight ", argument.index, ", a matrix");
    return nullptr;
  }

  void bindTask(const RowLoopTask &planned) {
    if (planned.threads != 0)
      return fail("a row loop for a GPU");
    BoundRowLoop loop = {program.kernels[planned.kernel], {}, planned.kind};
    for (const KernelArgument &argument : planned.arguments)
      loop.arguments.push_back(bindArgument(argument));
    bound.tasks.emplace_back(std::move(loop));
  }

  void bindTask(const ProductTask &planned) {
    if (planned.gate != ProductGate::None || planned.residual != noOperand)
      return fail("a product has a gate or a residual, as only on a GPU");
    auto *weight = findWeight<PackedWeight>(planned.weight, "packed matrix");
    if (!weight)
      return;
    if (planned.endColumn > weight->outFeatures ||
        planned.firstColumn % panelColumns != 0 ||
        (planned.endColumn % panelColumns != 0 &&
         planned.endColumn != weight->outFeatures))
      return fail("columns ", planned.firstColumn, " to ", planned.endColumn,
                  " of weight ", planned.weight, ", which has ",
                  weight->outFeatures);
    int64_t in = weight->inFeatures;
    int64_t wanted =
        takesQuantizedRows(weight->kind) ? SLUICE_QUANTIZED_ROW_FLOATS(in) : in;
    if (int64_t floats = plan.buffers[planned.input].floats; floats != wanted)
      return fail("weight ", planned.weight, " takes records of ", wanted,
                  " floats, not ", floats);
    const float *bias = nullptr;
    if (planned.bias != noOperand) {
      auto *vector = findWeight<std::span<const float>>(planned.bias, "vector");
      if (!vector)
        return;
      if (static_cast<int64_t>(vector->size()) != weight->outFeatures)
        return fail("a bias of ", vector->size(), " numbers for ",
                    weight->outFeatures, " columns");
      bias = vector->data() + planned.firstColumn;
    }
    bound.tasks.emplace_back(
        BoundProduct{columnsOf(*weight, planned.firstColumn, planned.endColumn),
                     startOf(planned.input), bias, startOf(planned.output),
                     planned.kind, loops++});
  }

  void bindTask(const AppendTask &planned) {
    bound.tasks.emplace_back(BoundAppend{
        &caches[planned.cache], startOf(planned.key), startOf(planned.value)});
  }

  void bindTask(const AttendTask &planned) {
    const CacheShape &cache = program.caches[planned.cache];
    const PlannedAttention &attention = plan.attentions[planned.attention];
    bound.tasks.emplace_back(BoundAttend{
        &caches[planned.cache],
        {attention.heads, cache.kvHeads, cache.headDim, attention.window,
         attention.scale, attention.softcap,
         attention.slopes.empty() ? nullptr : attention.slopes.data()},
        startOf(planned.query),
        startOf(planned.output),
        loops++});
  }

  void bindTask(const ExchangeTask &planned) {
    bound.tasks.emplace_back(
        BoundExchange{planned.operation, planned.kind, startOf(planned.input),
                      startOf(planned.output), startOf(planned.scratch),
                      plan.buffers[planned.input].floats,
                      plan.buffers[planned.output].floats});
  }

  void bindTask(const CheckpointTask &planned) {
    BoundCheckpoint checkpoint;
    for (int64_t number : planned.buffers) {
      const PlannedBuffer &buffer = plan.buffers[number];
      checkpoint.buffers.push_back(
          {startOf(number), buffer.floats, buffer.kind});
    }
    bound.tasks.emplace_back(std::move(checkpoint));
  }

  void bindTask(const BarrierTask &) {
    bound.tasks.emplace_back(BoundBarrier());
  }

  template <typename Task> void bindTask(const Task &) {
    fail("only a GPU has such a task");
  }

  const CpuProgram &program;
  const StepPlan &plan;
  const ArenaMemory &arena;
  const std::span<LayerCache> caches;
  StepTasks bound;
  size_t task = 0;
  uint32_t loops = 0;
  Status status;
};

} // namespace sluice::cpu

Expected<StepTasks> StepTasks::bind(const CpuProgram &program,
                                    const ArenaMemory &arena,
                                    std::span<LayerCache> caches) {
  SLUICE_RETURN_IF_ERROR(
      checkStepPlan(program, static_cast<int64_t>(program.weights.size())));
  if (program.kernels.size() != program.step.kernelNames.size())
    return failure("executor: the program has ", program.kernels.size(),
                   " row kernels, and its plan names ",
                   program.step.kernelNames.size());
  return TaskBinder(program, arena, caches).bind();
}
