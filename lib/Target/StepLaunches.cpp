//===- StepLaunches.cpp - the kernels that a step on a GPU launches -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/StepLaunches.h"

#include "StepWork.h"
#include "runtime/device/cuda/GraphTasks.h"
#include "runtime/program/DescribedProgram.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

namespace {

/// A group that cannot exchange data. Only the member's number and the number
/// of members are asked for.
class NamedGroup : public cuda::DeviceGroup {
public:
  NamedGroup(int64_t member, int64_t members)
      : number(int32_t(member)), count(int32_t(members)) {}

  int32_t member() const override { return number; }
  int32_t members() const override { return count; }
  Status exchange(std::span<const Piece>, std::span<const Piece>,
                  cuda::Stream) override {
    return failure("this group exchanges nothing");
  }
  Status check() override { return {}; }
  std::chrono::nanoseconds patience() const override { return {}; }
  void giveUp(const Status &) override {}

private:
  int32_t number, count;
};

} // namespace

/// Returns the program's number in the group that computes its stage; 0 for the
/// first member, and without a group.
static int64_t findMember(const ExecutableDescriptor &executable,
                          const ProgramDescriptor &program) {
  for (const PlanStage &stage : executable.plan.stages)
    for (int64_t member = 0; member < stage.members(); ++member)
      if (stage.programOf(member) == program.name)
        return member;
  return 0;
}

/// Returns the step of the program, for CUDA, that the descriptor describes.
static Expected<StepOp> findStep(ModuleOp module, const SymbolTable &symbols,
                                 const ProgramDescriptor &descriptor) {
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    if (program.getCpu())
      continue;
    StringRef name = program.getCounterpart() ? *program.getCounterpart()
                                              : program.getSymName();
    if (name == descriptor.name)
      return symbols.lookup<StepOp>(program.getStep());
  }
  return failure("there is no program '", descriptor.name, "' for cuda");
}

/// Returns the layer of each task of the step's plan (StepPlanBuilder.h).
static std::vector<std::optional<int64_t>> listLayers(StepOp step) {
  std::vector<std::optional<int64_t>> layers;
  for (TaskInterface task : step.getBody().getOps<TaskInterface>()) {
    auto sample = dyn_cast<TaskSampleOp>(task.getOperation());
    layers.insert(layers.end(), sample ? sample.getKernels()->size() : 1,
                  task.getTaskLayer());
  }
  return layers;
}

/// Makes the context of a graph for steps of `rows` rows. Its addresses are
/// never read or written.
static Expected<cuda::GraphContext>
makeContext(const cuda::CudaProgram &program, int64_t rows) {
  cuda::CudaExecutorOptions wanted;
  wanted.rows = rows;
  wanted.pages = 1;
  Expected<cuda::CudaExecutorOptions> limits =
      cuda::resolveOptions(program, wanted);
  if (!limits)
    return limits.status();
  Expected<cuda::MemoryPlan> plan = cuda::MemoryPlan::make(program, *limits);
  if (!plan)
    return plan.status();
  cuda::GraphContext context;
  context.program = &program;
  context.limits = *limits;
  context.plan = plan.take();
  context.arena = uint64_t{1} << 32;
  context.sharedBytes = 227 << 10; // as on sm_90
  return context;
}

Expected<std::vector<StepLaunch>>
sluice::listLaunches(ModuleOp kernels, const ExecutableDescriptor &executable,
                     const ProgramDescriptor &descriptor, int64_t rows) {
  SymbolTable symbols(kernels);
  Expected<StepOp> step = findStep(kernels, symbols, descriptor);
  if (!step)
    return step.status();
  cuda::CudaProgram program = cuda::describedProgram(descriptor, nullptr);
  Expected<cuda::GraphContext> context = makeContext(program, rows);
  if (!context)
    return context.status();
  std::vector<std::string> nodes;
  context->nodeNames = &nodes;
  NamedGroup group(findMember(executable, descriptor), descriptor.members);
  if (descriptor.members > 1)
    context->group = &group;

  cuda::StepGraph graph(*context, rows);
  std::vector<StepLaunch> launches;
  auto add = [&](const StepWork &of, std::optional<int64_t> layer,
                 size_t work) {
    launches.push_back({nodes[launches.size()], of.purpose, of.product,
                        of.weightBytes, of.isGenerated, layer, work});
  };
  const std::vector<std::optional<int64_t>> layers = listLayers(*step);
  for (size_t task = 0; task < layers.size();) {
    const auto [count, areJoined] = cuda::appendTasks(graph, task);
    std::vector<StepWork> works;
    for (size_t next = task; next < task + count && !graph.failed(); ++next)
      works.push_back(
          describeWork({descriptor, program}, {rows, next, layers[next]}));
    // The nodes that are new belong to one piece of work. Where products do not
    // share a launch, each has one of its own.
    for (size_t i = 0; !graph.failed() && launches.size() < nodes.size(); ++i)
      add(areJoined || count == 1 ? joinWorks(works) : works[i], layers[task],
          task);
    task += count;
  }
  SLUICE_RETURN_IF_ERROR(graph.finish());
  StepWork drawing;
  drawing.purpose = "drawing";
  while (launches.size() < nodes.size())
    add(drawing, std::nullopt, layers.size());
  return launches;
}
