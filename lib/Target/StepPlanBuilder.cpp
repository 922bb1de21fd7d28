//===- StepPlanBuilder.cpp - a planned step as data -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPlanBuilder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

namespace {

device::RecordKind toKind(ValueDomain domain) {
  return domain == ValueDomain::Rows ? device::RecordKind::Rows
                                     : device::RecordKind::Outputs;
}

/// Numbers the things that the tasks of a step refer to, and lists the tasks.
class StepPlanBuilder {
public:
  explicit StepPlanBuilder(ProgramOp program) {
    for (auto [number, use] : llvm::enumerate(program.getWeights()))
      weights[use] = static_cast<int64_t>(number);
    for (auto [number, table] : llvm::enumerate(program.getRopeTables()))
      ropeTables[table] = static_cast<int64_t>(number);
  }

  device::StepPlan build(StepOp step) {
    for (BufferOp buffer : step.getBody().getOps<BufferOp>())
      if (buffer.getPlace())
        add(buffer);
    for (Operation &op : step.getBody().front())
      if (isa<TaskInterface, BarrierOp>(op))
        plan.tasks.push_back(describe(&op));
    return std::move(plan);
  }

private:
  void add(BufferOp buffer) {
    auto type = cast<BufferType>(buffer.getType());
    buffers[buffer] = static_cast<int64_t>(plan.buffers.size());
    plan.buffers.push_back({toKind(type.getDomain()), type.getFloats(),
                            static_cast<int64_t>(*buffer.getPlace())});
  }

  device::StepTask describe(Operation *task) {
    return llvm::TypeSwitch<Operation *, device::StepTask>(task)
        .Case([&](BarrierOp) { return device::BarrierTask(); })
        .Case([&](TaskRowsOp op) { return describe(op); })
        .Case([&](TaskProductOp op) { return describe(op); })
        .Case([&](TaskAppendOp op) { return describe(op); })
        .Case([&](TaskAttendOp op) { return describe(op); })
        .Case([&](TaskExchangeOp op) { return describe(op); })
        .Case([&](TaskCheckpointOp op) { return describe(op); })
        .Default([](Operation *) -> device::StepTask {
          llvm_unreachable("no task that is planned for a CPU");
        });
  }

  int64_t number(Value buffer) const { return buffers.at(buffer); }

  static int64_t numberCache(Value cache) {
    return static_cast<int64_t>(cache.getDefiningOp<CacheOp>().getIndex());
  }

  int64_t numberWeight(Value param, WeightUseKind use, bool transposed) const {
    auto op = param.getDefiningOp<ParamOp>();
    return weights.at(WeightUseAttr::get(op.getContext(), op.getWeightAttr(),
                                         use, transposed, /*partner=*/{}));
  }

  device::KernelArgument describeArgument(Value operand) const {
    using Kind = device::KernelArgument::Kind;
    if (isa<BufferType>(operand.getType()))
      return {Kind::Buffer, number(operand)};
    if (isa<RopeTableType>(operand.getType()))
      return {
          Kind::RopeTable,
          ropeTables.at(operand.getDefiningOp<RopeTableOp>().getParameters())};
    bool isVector = cast<RankedTensorType>(operand.getType()).getRank() == 1;
    return {Kind::Weight,
            numberWeight(operand,
                         isVector ? WeightUseKind::Vector : WeightUseKind::Rows,
                         /*transposed=*/false)};
  }

  int64_t numberKernel(StringRef name) {
    auto [place, isNew] = kernels.try_emplace(
        name, static_cast<int64_t>(plan.kernelNames.size()));
    if (isNew)
      plan.kernelNames.push_back(name.str());
    return place->second;
  }

  device::RowLoopTask describe(TaskRowsOp task) {
    device::RowLoopTask loop = {
        toKind(task.getDomain()), numberKernel(*task.getKernel()), {}};
    for (Value operand : task->getOperands())
      loop.arguments.push_back(describeArgument(operand));
    return loop;
  }

  device::ProductTask describe(TaskProductOp task) {
    device::ProductTask product;
    product.kind = toKind(task.getDomain());
    product.input = number(task.getInput());
    product.weight = numberWeight(task.getWeight(), WeightUseKind::Linear,
                                  task.getTransposed());
    if (Value bias = task.getBias())
      product.bias = numberWeight(bias, WeightUseKind::Vector,
                                  /*transposed=*/false);
    product.output = number(task.getOutput());
    product.firstColumn = task.getFirstColumn();
    product.endColumn = task.getEndColumn();
    return product;
  }

  device::AppendTask describe(TaskAppendOp task) {
    return {number(task.getKey()), number(task.getValue()),
            numberCache(task.getCache())};
  }

  /// Attentions that are alike have one number.
  int64_t numberAttention(TaskAttendOp task) {
    device::PlannedAttention attention;
    attention.heads = static_cast<int64_t>(task.getHeads());
    attention.window = static_cast<int64_t>(task.getWindow().value_or(0));
    attention.scale = static_cast<float>(task.getScale().convertToDouble());
    if (std::optional<APFloat> softcap = task.getSoftcap())
      attention.softcap = static_cast<float>(softcap->convertToDouble());
    llvm::append_range(attention.slopes, task.getSlopes());
    auto found = llvm::find(plan.attentions, attention);
    auto number = static_cast<int64_t>(found - plan.attentions.begin());
    if (found == plan.attentions.end())
      plan.attentions.push_back(std::move(attention));
    return number;
  }

  device::AttendTask describe(TaskAttendOp task) {
    return {number(task.getQuery()), number(task.getOutput()),
            numberCache(task.getCache()), numberAttention(task)};
  }

  device::ExchangeTask describe(TaskExchangeOp task) {
    using Operation = device::ExchangeTask::Operation;
    return {task.getKind() == ExchangeKind::Sum ? Operation::Sum
                                                : Operation::Gather,
            toKind(task.getDomain()), number(task.getInput()),
            number(task.getOutput()), number(task.getScratch())};
  }

  device::CheckpointTask describe(TaskCheckpointOp task) {
    device::CheckpointTask checkpoint;
    for (Value buffer : task.getBuffers())
      checkpoint.buffers.push_back(number(buffer));
    return checkpoint;
  }

  device::StepPlan plan;
  llvm::DenseMap<Value, int64_t> buffers;
  llvm::DenseMap<Attribute, int64_t> weights;    // by their use
  llvm::DenseMap<Attribute, int64_t> ropeTables; // by their parameters
  llvm::DenseMap<StringRef, int64_t> kernels;    // by name
};

} // namespace

device::StepPlan sluice::buildStepPlan(StepOp step, ProgramOp program) {
  return StepPlanBuilder(program).build(step);
}
