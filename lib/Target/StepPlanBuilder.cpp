//===- StepPlanBuilder.cpp - a planned step as data -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPlanBuilder.h"

#include "runtime/device/cuda/kernels/OperandLayout.h"

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

device::ProductGate toGate(ActivationKind kind) {
  switch (kind) {
  case ActivationKind::Silu:
    return device::ProductGate::Silu;
  case ActivationKind::GeluTanh:
    return device::ProductGate::GeluTanh;
  default:
    llvm_unreachable("no target has products with such a gate");
  }
}

static_assert(int(device::OperandRows::F32) == int(OperandFormat::F32) &&
              int(device::OperandRows::Bf16) == int(OperandFormat::BF16) &&
              int(device::OperandRows::F16) == int(OperandFormat::F16));

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
      if (auto sample = dyn_cast<TaskSampleOp>(op))
        addSample(sample);
      else if (isa<TaskInterface, BarrierOp>(op))
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
          llvm_unreachable("all tasks are above");
        });
  }

  int64_t number(Value buffer) const { return buffers.at(buffer); }

  static int64_t numberCache(Value cache) {
    return static_cast<int64_t>(cache.getDefiningOp<CacheOp>().getIndex());
  }

  /// Program_c12 says that the program has the use. Returns noOperand for a
  /// null value.
  int64_t numberWeight(TaskInterface task, Value weight) const {
    return weight ? weights.at(getWeightUse(task, weight)) : device::noOperand;
  }

  /// Describes an operand of a row loop.
  device::KernelArgument describeArgument(TaskRowsOp task,
                                          Value operand) const {
    using Kind = device::KernelArgument::Kind;
    if (isa<BufferType>(operand.getType()))
      return {Kind::Buffer, number(operand)};
    if (isa<RopeTableType>(operand.getType()))
      return {
          Kind::RopeTable,
          ropeTables.at(operand.getDefiningOp<RopeTableOp>().getParameters())};
    return {Kind::Weight, numberWeight(task, operand)};
  }

  /// Describes a parameter of a row loop's kernel on a GPU, but for the first.
  device::KernelArgument describeArgument(TaskRowsOp task,
                                          KernelParameter parameter) const {
    using Kind = device::KernelArgument::Kind;
    Value operand = task->getOperand(parameter.operand);
    auto part = [&](int64_t (*getOffset)(int64_t)) {
      int64_t width = cast<BufferType>(operand.getType()).getWidth();
      return device::KernelArgument{Kind::Buffer, number(operand),
                                    getOffset(width)};
    };
    switch (parameter.kind) {
    case KernelParameter::Kind::Count:
      llvm_unreachable("the runtime adds it");
    case KernelParameter::Kind::Operand:
      return describeArgument(task, operand);
    case KernelParameter::Kind::OperandSums:
      return part(cuda::operandSumsOffset);
    case KernelParameter::Kind::OperandScales:
      return part(cuda::operandScalesOffset);
    case KernelParameter::Kind::Positions:
      return {Kind::Positions};
    case KernelParameter::Kind::OutputRows:
      return {Kind::OutputRows};
    }
    llvm_unreachable("covered switch");
  }

  int64_t numberKernel(StringRef name) {
    auto [place, isNew] = kernels.try_emplace(
        name, static_cast<int64_t>(plan.kernelNames.size()));
    if (isNew)
      plan.kernelNames.push_back(name.str());
    return place->second;
  }

  device::RowLoopTask makeLoop(ValueDomain domain, KernelAttr kernel) {
    return {toKind(domain),
            numberKernel(kernel.getName()),
            {},
            kernel.getThreads(),
            kernel.getBlocks()};
  }

  /// Describes a norm, or what stands for one, and the buffers to which its
  /// rows go: one for each format of operands, and one for the rows themselves.
  void describeNorm(TaskRowsOp task, device::RowNorm norm, Value rows,
                    std::vector<device::RowNorm> &norms) const {
    if (Value buffer = task.getBuffer(rows); buffer && rows.getDefiningOp())
      norm.output = number(buffer);
    for (Operation &op : task.getRowOps())
      if (auto operand = dyn_cast<ToOperandOp>(op);
          operand && operand.getInput() == rows) {
        norm.operand = number(task.getBuffer(operand));
        norm.format =
            static_cast<device::OperandRows>(operand.getOperand().getFormat());
        norms.push_back(norm);
        norm.output = device::noOperand;
      }
    if (norm.output != device::noOperand)
      norms.push_back(norm);
  }

  /// Returns all that the loop does, or nothing if that is more than norms of
  /// rows that it reads, and operands of these or of rows that it reads.
  std::vector<device::RowNorm> describeNorms(TaskRowsOp task) const {
    std::vector<device::RowNorm> norms;
    for (auto [rows, buffer] :
         llvm::zip_equal(task.getRowArguments(), task.getReads())) {
      device::RowNorm norm;
      norm.input = number(buffer);
      describeNorm(task, norm, rows, norms);
    }
    for (Operation &op : task.getRowOps()) {
      if (isa<ToOperandOp>(op))
        continue;
      if (!isa<RmsNormOp, LayerNormOp>(op) ||
          !isa<BlockArgument>(op.getOperand(0)))
        return {};
      device::RowNorm norm;
      norm.input = number(task.getBuffer(op.getOperand(0)));
      if (auto rms = dyn_cast<RmsNormOp>(op)) {
        norm.norm = device::RowNormKind::Rms;
        norm.epsilon = static_cast<float>(rms.getEpsilon().convertToDouble());
        norm.weight = numberWeight(task, task.getWeight(rms.getWeight()));
      } else {
        auto layer = cast<LayerNormOp>(op);
        norm.norm = device::RowNormKind::Layer;
        norm.epsilon = static_cast<float>(layer.getEpsilon().convertToDouble());
        norm.weight = numberWeight(task, task.getWeight(layer.getWeight()));
        if (Value bias = layer.getBias())
          norm.bias = numberWeight(task, task.getWeight(bias));
      }
      describeNorm(task, norm, op.getResult(0), norms);
    }
    return norms;
  }

  /// Returns all that the loop does, or nothing if that is more than rotations
  /// of rows that it reads.
  std::vector<device::RowRotation> describeRotations(TaskRowsOp task) const {
    std::vector<device::RowRotation> rotations;
    for (Operation &op : task.getRowOps()) {
      if (isa<RotationsOp>(op))
        continue;
      auto rotate = dyn_cast<RotateOp>(op);
      if (!rotate || !isa<BlockArgument>(rotate.getInput()))
        return {};
      auto table =
          rotate.getRotations().getDefiningOp<RotationsOp>().getTable();
      rotations.push_back({number(task.getBuffer(rotate.getInput())),
                           number(task.getBuffer(rotate.getResult())),
                           describeArgument(task, task.getWeight(table)).index,
                           static_cast<int64_t>(rotate.getHeads()),
                           static_cast<int64_t>(rotate.getHeadDim()),
                           static_cast<int64_t>(rotate.getRotaryDim()),
                           rotate.getStyle() == RopeStyle::Half});
    }
    return rotations;
  }

  device::StepTask describe(TaskRowsOp task) {
    KernelAttr kernel = task.getKernelAttr();
    if (!kernel)
      return describeRuntime(task);
    device::RowLoopTask loop = makeLoop(task.getDomain(), kernel);
    if (!kernel.isForGpu()) {
      for (Value operand : task->getOperands())
        loop.arguments.push_back(describeArgument(task, operand));
      return loop;
    }
    SmallVector<KernelParameter> parameters = getKernelParameters(task);
    // The runtime adds the first one, the number of rows.
    for (const KernelParameter &parameter : llvm::drop_begin(parameters))
      loop.arguments.push_back(describeArgument(task, parameter));
    // The norms that the runtime does in other launches are of whole rows.
    if (task.countHeads() == 1)
      loop.norms = describeNorms(task);
    loop.rotations = describeRotations(task);
    return loop;
  }

  /// Describes a row loop that the runtime of a GPU does by itself.
  device::StepTask describeRuntime(TaskRowsOp task) {
    auto input = [&] { return number(task.getReads().front()); };
    auto output = [&] { return number(task.getWrites().front()); };
    return llvm::TypeSwitch<Operation *, device::StepTask>(
               &task.getBody().front().front())
        .Case([&](ReceivedRowsOp) { return device::ReceiveTask{output()}; })
        .Case([&](SendRowsOp) { return device::SendTask{input()}; })
        .Case([&](EmbedOp op) {
          return device::EmbedTask{
              numberWeight(task, task.getWeight(op.getTable())),
              op.getBy() == EmbedIndex::Position, output()};
        })
        .Case([&](ToOperandOp op) {
          return device::OperandTask{
              toKind(task.getDomain()),
              static_cast<device::OperandRows>(op.getOperand().getFormat()),
              input(), output()};
        })
        .Default([](Operation *) -> device::StepTask {
          llvm_unreachable("the runtime does no other op by itself");
        });
  }

  /// Adds the tasks that find the tokens of the greatest logits.
  void addSample(TaskSampleOp task) {
    using Argument = device::KernelArgument;
    auto buffer = [&](Value value) {
      return Argument{Argument::Kind::Buffer, number(value)};
    };
    auto add = [&](size_t kernel, Argument from, Argument to) {
      device::RowLoopTask loop = makeLoop(
          ValueDomain::Outputs, cast<KernelAttr>((*task.getKernels())[kernel]));
      loop.arguments = {from, to};
      plan.tasks.push_back(std::move(loop));
    };
    const Argument logits = buffer(task.getLogits());
    const Argument tokens = {Argument::Kind::GreedyTokens};
    if (!task.getParts())
      return add(0, logits, tokens);
    const Argument parts = buffer(task.getParts());
    add(0, logits, parts);
    add(1, parts, tokens);
  }

  device::ProductTask describe(TaskProductOp task) {
    device::ProductTask product;
    product.kind = toKind(task.getDomain());
    product.input = number(task.getInput());
    product.weight = numberWeight(task, task.getWeight());
    product.bias = numberWeight(task, task.getBias());
    product.output = number(task.getOutput());
    product.firstColumn = task.getFirstColumn();
    product.endColumn = task.getEndColumn();
    if (std::optional<ActivationKind> gate = task.getGate())
      product.gate = toGate(*gate);
    product.partnerBias = numberWeight(task, task.getPartnerBias());
    if (Value residual = task.getResidual())
      product.residual = number(residual);
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
