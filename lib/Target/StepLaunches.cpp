//===- StepLaunches.cpp - the kernels that a step on a GPU launches -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/StepLaunches.h"

#include "GraphReplay.h"
#include "StepWork.h"
#include "runtime/program/DescribedProgram.h"

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

/// Returns the graph of the program, for CUDA, that the descriptor describes.
static Expected<GraphOp> findGraph(ModuleOp module, const SymbolTable &symbols,
                                   const ProgramDescriptor &descriptor) {
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    if (program.getCpu())
      continue;
    StringRef name = program.getCounterpart() ? *program.getCounterpart()
                                              : program.getSymName();
    if (name != descriptor.name)
      continue;
    if (auto graph = symbols.lookup<GraphOp>(program.getStep()))
      return graph;
    return failure("@", program.getStep().str(), " is no sluice.graph");
  }
  return failure("there is no program '", descriptor.name, "' for cuda");
}

/// Makes the context of a graph for steps of `rows` rows. Its addresses are
/// never read or written.
static Expected<cuda::GraphContext>
makeContext(const cuda::CudaProgram &program, int64_t rows) {
  cuda::CudaExecutorLimits wanted;
  wanted.rows = rows;
  wanted.pages = 1;
  Expected<cuda::CudaExecutorLimits> limits =
      cuda::resolveLimits(program, wanted);
  if (!limits)
    return limits.status();
  Expected<cuda::MemoryPlan> plan =
      cuda::MemoryPlan::make(program, *limits, /*spanFloats=*/0);
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
  Expected<GraphOp> op = findGraph(kernels, symbols, descriptor);
  if (!op)
    return op.status();
  cuda::CudaProgram program = cuda::describedProgram(descriptor, nullptr);
  // The runtime requires this function; here the IR is replayed instead.
  program.build = [](SluiceGraph *) {};
  Expected<cuda::GraphContext> context = makeContext(program, rows);
  if (!context)
    return context.status();
  std::vector<std::string> nodes;
  context->nodeNames = &nodes;
  NamedGroup group(findMember(executable, descriptor), descriptor.members);
  if (descriptor.members > 1)
    context->group = &group;

  SluiceGraph graph(*context, rows);
  GraphReplay replay(symbols, graph);
  std::vector<StepLaunch> launches;
  size_t work = 0;
  StepPlace place = {rows, std::nullopt};
  // The nodes added since the last call belong to one piece of work.
  auto add = [&](const StepWork &of) {
    for (size_t next = launches.size(); next < nodes.size(); ++next)
      launches.push_back({nodes[next], of.purpose, of.product, of.weightBytes,
                          of.isGenerated, place.layer, work});
    ++work;
  };
  for (Operation &each : op->getBody().front()) {
    if (auto layer = dyn_cast<GraphLayerOp>(each))
      place.layer = layer.getIndex();
    SLUICE_RETURN_IF_ERROR(replay.append(each));
    if (nodes.size() > launches.size())
      add(describeWork(each, {descriptor, program}, place));
  }
  SLUICE_RETURN_IF_ERROR(graph.finish());
  StepWork drawing;
  drawing.purpose = "drawing";
  add(drawing);
  return launches;
}
