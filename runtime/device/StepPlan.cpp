//===- StepPlan.cpp - the checks of a step's plan -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/ProgramShape.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::device;

namespace {

constexpr int64_t placeUnit = 16; // floats
/// Far above any model, and low enough that a sum of two does not overflow.
constexpr int64_t maxFloats = int64_t{1} << 40;
constexpr int64_t maxHeads = 1 << 16;
constexpr int64_t maxThreads = 1024;   // of a block
constexpr int64_t maxBlocks = 1 << 16; // for a record

/// Checks a program's plan and keeps the first error.
class PlanChecker {
public:
  PlanChecker(const ProgramShape &program, int64_t weights)
      : program(program), plan(program.step), weights(weights) {}

  Status check() {
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      checkBuffer(plan.buffers[i], i);
    for (const std::string &name : plan.kernelNames)
      if (name.starts_with("sluice_"))
        fail("the row kernel ", name, " has the name of one of the runtime's");
    for (const PlannedAttention &attention : plan.attentions)
      checkAttention(attention);
    for (; task < plan.tasks.size() && status.ok(); ++task)
      std::visit([this](const auto &each) { checkTask(each); },
                 plan.tasks[task]);
    return status;
  }

private:
  template <typename... Parts> void fail(const Parts &...parts) {
    if (status.ok())
      status = failure("step plan: ", parts...);
  }

  template <typename... Parts> void failTask(const Parts &...parts) {
    fail("task ", task, ": ", parts...);
  }

  void checkBuffer(const PlannedBuffer &buffer, size_t number) {
    int64_t floats = buffer.kind == RecordKind::Rows ? program.rowFloats
                                                     : program.outputFloats;
    if (buffer.floats < 1 || buffer.floats > maxFloats || buffer.place < 0 ||
        buffer.place > maxFloats || buffer.place + buffer.floats > floats)
      fail("buffer ", number, ": ", buffer.floats, " floats at ", buffer.place,
           " do not lie in ", floats, " floats");
    else if (buffer.place % placeUnit != 0)
      fail("buffer ", number, ": its place, ", buffer.place,
           ", is no multiple of ", placeUnit);
  }

  void checkAttention(const PlannedAttention &attention) {
    bool finite =
        std::isfinite(attention.scale) && std::isfinite(attention.softcap);
    for (float slope : attention.slopes)
      finite &= std::isfinite(slope);
    if (attention.heads < 1 || attention.heads > maxHeads ||
        attention.window < 0 || !finite)
      fail("an attention has parameters out of range");
    if (!attention.slopes.empty() &&
        static_cast<int64_t>(attention.slopes.size()) != attention.heads)
      fail("an attention of ", attention.heads, " heads has ",
           attention.slopes.size(), " slopes");
  }

  /// Returns whether `index` is the number of one of `count` things.
  bool checkIndex(const char *what, int64_t index, size_t count) {
    if (index >= 0 && index < static_cast<int64_t>(count))
      return true;
    failTask("there is no ", what, " ", index);
    return false;
  }

  /// Returns the buffer `index` if it has records of `kind`; null after an
  /// error.
  const PlannedBuffer *findBuffer(int64_t index, RecordKind kind) {
    if (!checkIndex("buffer", index, plan.buffers.size()))
      return nullptr;
    if (plan.buffers[index].kind == kind)
      return &plan.buffers[index];
    failTask("buffer ", index, " has records of the wrong kind");
    return nullptr;
  }

  /// Checks that a buffer's records have `floats` floats.
  void checkWidth(int64_t index, RecordKind kind, int64_t floats) {
    const PlannedBuffer *buffer = findBuffer(index, kind);
    if (buffer && buffer->floats != floats)
      failTask("buffer ", index, " has records of ", buffer->floats,
               " floats, not ", floats);
  }

  void checkBufferArgument(const KernelArgument &argument, RecordKind kind) {
    // A loop over outputs may select its records from those of rows.
    if (!checkIndex("buffer", argument.index, plan.buffers.size()) ||
        (kind == RecordKind::Rows &&
         !findBuffer(argument.index, RecordKind::Rows)))
      return;
    int64_t floats = plan.buffers[argument.index].floats;
    if (argument.part < 0 || argument.part >= floats)
      failTask("a part begins at float ", argument.part, " of ", floats);
  }

  void checkTask(const RowLoopTask &loop) {
    checkIndex("kernel", loop.kernel, plan.kernelNames.size());
    if (loop.threads < 0 || loop.threads > maxThreads || loop.blocks < 0 ||
        loop.blocks > maxBlocks || (loop.threads == 0) != (loop.blocks == 0))
      failTask(loop.blocks, " blocks of ", loop.threads,
               " threads cannot be launched");
    for (const KernelArgument &argument : loop.arguments)
      switch (argument.kind) {
      case KernelArgument::Kind::Buffer:
        checkBufferArgument(argument, loop.kind);
        break;
      case KernelArgument::Kind::Weight:
        checkIndex("weight", argument.index, size_t(weights));
        break;
      case KernelArgument::Kind::RopeTable:
        checkIndex("rope table", argument.index, program.ropeTables.size());
        break;
      case KernelArgument::Kind::Positions:
        break;
      case KernelArgument::Kind::OutputRows:
      case KernelArgument::Kind::GreedyTokens:
        if (loop.kind != RecordKind::Outputs || !program.hasOutput)
          failTask("a loop that is not over outputs is given their rows or "
                   "tokens");
        break;
      }
    if (!loop.norms.empty() && !loop.rotations.empty())
      failTask("a row loop does norms and rotations");
    for (const RowNorm &norm : loop.norms)
      checkNorm(norm, loop.kind);
    for (const RowRotation &rotation : loop.rotations)
      checkRotation(rotation, loop.kind);
  }

  void checkRotation(const RowRotation &rotation, RecordKind kind) {
    if (rotation.heads < 1 || rotation.heads > maxHeads ||
        rotation.headDim < 1 || rotation.headDim > maxFloats ||
        rotation.rotaryDim < 2 || rotation.rotaryDim > rotation.headDim ||
        rotation.rotaryDim % 2 != 0)
      return failTask("a rotation of ", rotation.rotaryDim, " of ",
                      rotation.headDim, " features in ", rotation.heads,
                      " heads");
    for (int64_t index : {rotation.input, rotation.output})
      checkWidth(index, kind, rotation.heads * rotation.headDim);
    if (checkIndex("rope table", rotation.ropeTable,
                   program.ropeTables.size()) &&
        std::ssize(program.ropeTables[size_t(rotation.ropeTable)]
                       .inverseFrequencies) != rotation.rotaryDim / 2)
      failTask("rope table ", rotation.ropeTable, " is not for ",
               rotation.rotaryDim, " features");
  }

  void checkNorm(const RowNorm &norm, RecordKind kind) {
    const PlannedBuffer *input = findBuffer(norm.input, kind);
    if ((norm.norm == RowNormKind::None) != (norm.weight == noOperand))
      failTask("a norm without a weight, or a weight without a norm");
    if (norm.norm != RowNormKind::Layer && norm.bias != noOperand)
      failTask("a bias without a layer norm");
    if (norm.output == noOperand && norm.operand == noOperand)
      failTask("a norm whose results are stored nowhere");
    for (int64_t weight : {norm.weight, norm.bias})
      if (weight != noOperand)
        checkIndex("weight", weight, size_t(weights));
    if (!std::isfinite(norm.epsilon) || norm.epsilon < 0)
      failTask("the epsilon of a norm is out of range");
    if (norm.output != noOperand && input)
      checkWidth(norm.output, kind, input->floats);
    if (norm.operand != noOperand)
      findBuffer(norm.operand, kind);
  }

  void checkTask(const ProductTask &product) {
    findBuffer(product.input, product.kind);
    checkIndex("weight", product.weight, size_t(weights));
    for (int64_t bias : {product.bias, product.partnerBias})
      if (bias != noOperand)
        checkIndex("weight", bias, size_t(weights));
    if (product.partnerBias != noOperand &&
        (product.bias == noOperand || product.gate == ProductGate::None))
      failTask("the partner has a bias, and the gate has none");
    if (product.firstColumn < 0 || product.endColumn > maxFloats ||
        product.firstColumn >= product.endColumn)
      return failTask("columns ", product.firstColumn, " to ",
                      product.endColumn, " are none");
    int64_t columns = product.endColumn - product.firstColumn;
    checkWidth(product.output, product.kind, columns);
    if (product.residual != noOperand)
      checkWidth(product.residual, product.kind, columns);
  }

  /// Returns the floats of all heads of a cache, or 0 after an error.
  int64_t cacheWidth(int64_t index) {
    if (!checkIndex("cache", index, program.caches.size()))
      return 0;
    const CacheShape &cache = program.caches[index];
    return cache.kvHeads * cache.headDim;
  }

  void checkTask(const AppendTask &append) {
    int64_t width = cacheWidth(append.cache);
    checkWidth(append.key, RecordKind::Rows, width);
    checkWidth(append.value, RecordKind::Rows, width);
  }

  void checkTask(const AttendTask &attend) {
    if (!checkIndex("cache", attend.cache, program.caches.size()) ||
        !checkIndex("attention", attend.attention, plan.attentions.size()))
      return;
    const CacheShape &cache = program.caches[attend.cache];
    int64_t heads = plan.attentions[attend.attention].heads;
    if (cache.kvHeads < 1 || heads % cache.kvHeads != 0)
      return failTask(heads, " heads attend to a cache of ", cache.kvHeads);
    checkWidth(attend.query, RecordKind::Rows, heads * cache.headDim);
    checkWidth(attend.output, RecordKind::Rows, heads * cache.headDim);
  }

  void checkTask(const ExchangeTask &exchange) {
    if (program.members < 2)
      return failTask("an exchange of a program without a group");
    const PlannedBuffer *input = findBuffer(exchange.input, exchange.kind);
    const PlannedBuffer *output = findBuffer(exchange.output, exchange.kind);
    const PlannedBuffer *scratch = findBuffer(exchange.scratch, exchange.kind);
    if (!input || !output || !scratch)
      return;
    bool sums = exchange.operation == ExchangeTask::Operation::Sum;
    if (sums ? output->floats != input->floats
             : output->floats < input->floats ||
                   output->floats / program.members > input->floats)
      failTask("an exchange makes records of ", output->floats,
               " floats from records of ", input->floats);
    if (scratch->floats / program.members < input->floats)
      failTask("scratch of ", scratch->floats, " floats for records of ",
               input->floats, " of ", program.members, " members");
  }

  void checkTask(const CheckpointTask &checkpoint) {
    for (int64_t buffer : checkpoint.buffers)
      checkIndex("buffer", buffer, plan.buffers.size());
  }

  void checkTask(const BarrierTask &) {}

  void checkTask(const EmbedTask &embed) {
    checkIndex("weight", embed.table, size_t(weights));
    findBuffer(embed.output, RecordKind::Rows);
    if (!embed.byPosition && !program.hasEmbedding)
      failTask("looks up tokens of a program that has none");
  }

  void checkTask(const OperandTask &operand) {
    findBuffer(operand.input, operand.kind);
    findBuffer(operand.output, operand.kind);
  }

  void checkTask(const ReceiveTask &receive) {
    if (program.hasEmbedding)
      return failTask("receives rows of a program that begins with tokens");
    checkWidth(receive.output, RecordKind::Rows, program.hiddenSize);
  }

  void checkTask(const SendTask &send) {
    if (program.hasOutput)
      return failTask("sends rows of a program that ends with logits");
    checkWidth(send.input, RecordKind::Rows, program.hiddenSize);
  }

  const ProgramShape &program;
  const StepPlan &plan;
  const int64_t weights;
  size_t task = 0;
  Status status;
};

} // namespace

RecordKind device::recordKindOf(const StepTask &task) {
  return std::visit(
      [](const auto &each) {
        if constexpr (requires { each.kind; })
          return each.kind;
        else
          return RecordKind::Rows;
      },
      task);
}

bool StepPlan::findsTokens() const {
  auto findsToken = [](const KernelArgument &argument) {
    return argument.kind == KernelArgument::Kind::GreedyTokens;
  };
  return std::ranges::any_of(tasks, [&](const StepTask &task) {
    const auto *loop = std::get_if<RowLoopTask>(&task);
    return loop && std::ranges::any_of(loop->arguments, findsToken);
  });
}

Status device::checkStepPlan(const ProgramShape &program, int64_t weights) {
  return PlanChecker(program, weights).check();
}
