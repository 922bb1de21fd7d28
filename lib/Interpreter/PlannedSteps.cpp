//===- PlannedSteps.cpp - execution of steps of the phase plan ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannedSteps.h"

#include "Evaluator.h"
#include "OpError.h"
#include "Survivors.h"
#include "sluice/Interpreter/Ops.h"

#include "llvm/ADT/TypeSwitch.h"

#include <deque>

using namespace sluice;
using namespace sluice::interpreter;

using mlir::Operation;
using mlir::Value;

namespace {

using Rows = std::shared_ptr<const RowData>;

/// Executes the step of one member, and stops at exchanges and checkpoints.
class StepExecution {
public:
  StepExecution(ir::StepOp step, const PartResult &input,
                Environment &environment)
      : step(step), environment(environment), batch(input.batch),
        received(input.rows), next(step.getBody().front().begin()) {}

  /// Executes tasks up to the next checkpoint or exchange and returns that op,
  /// or null at the end.
  Expected<Operation *> advance();

  /// Continues behind a checkpoint with the buffers that the checkpoint has
  /// moved.
  void leave(ir::TaskCheckpointOp checkpoint, const Survivors &survivors);

  const StepBatch &getBatch() const { return *batch; }
  const RowData &get(Value buffer) const { return *buffers.at(buffer); }
  bool has(Value buffer) const { return buffers.contains(buffer); }
  void set(Value buffer, Rows rows) { buffers[buffer] = std::move(rows); }

  /// Returns the step's result, once it is at its end.
  PartResult result() {
    return {batch, buffers.at(step.getResults().getBuffer())};
  }

private:
  Status execute(Operation *op);
  Status declare(ir::CacheOp op);
  Status declare(ir::ParamOp op);
  Status evalRows(ir::TaskRowsOp loop);
  void evalProduct(ir::TaskProductOp task);
  void evalAttention(ir::TaskAttendOp task);
  void set(Value buffer, RowData rows) {
    set(buffer, std::make_shared<const RowData>(std::move(rows)));
  }
  const WeightData *getWeight(Value param) const {
    return param ? weights.at(param) : nullptr;
  }

  ir::StepOp step;
  Environment &environment;
  const StepBatch *batch;
  Rows received;
  mlir::Block::iterator next;
  llvm::DenseMap<Value, Rows> buffers;
  llvm::DenseMap<Value, const WeightData *> weights;
  llvm::DenseMap<Value, KVCache *> caches;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

Status StepExecution::declare(ir::CacheOp op) {
  std::unique_ptr<KVCache> &cache = environment.caches[{op, 0}];
  ir::CacheType type = op.getType();
  if (!cache)
    cache = std::make_unique<KVCache>(type.getKvHeads(), type.getHeadDim());
  caches[op] = cache.get();
  return {};
}

Status StepExecution::declare(ir::ParamOp op) {
  Expected<const WeightData *> weight = environment.weights.get(op.getWeight());
  if (!weight)
    return weight.status();
  weights[op] = *weight;
  return {};
}

/// Returns the same numbers as rows of another width: whole rows as their
/// heads, or heads as whole rows.
static Rows viewAs(const Rows &rows, int64_t width) {
  if (rows->width() == width)
    return rows;
  std::span<const float> elements = rows->elements();
  return std::make_shared<const RowData>(
      width, std::vector<float>(elements.begin(), elements.end()));
}

static int64_t getWidth(Value buffer) {
  return llvm::cast<ir::BufferType>(buffer.getType()).getWidth();
}

Status StepExecution::evalRows(ir::TaskRowsOp loop) {
  Scope scope;
  scope.set(step.getBatch(), batch);
  for (auto [buffer, argument] :
       llvm::zip_equal(loop.getReads(), loop.getRowArguments()))
    scope.set(argument, Held(viewAs(buffers.at(buffer),
                                    ir::getWidth(argument.getType()))));
  for (auto [weight, argument] :
       llvm::zip_equal(loop.getWeights(), loop.getWeightArguments()))
    if (const WeightData *data = weights.lookup(weight))
      scope.set(argument, data);
  for (Operation &op : loop.getRowOps()) {
    if (auto receive = llvm::dyn_cast<ir::ReceivedRowsOp>(op))
      scope.set(receive.getResult(), Held(received));
    else if (!llvm::isa<ir::SendRowsOp>(op))
      SLUICE_RETURN_IF_ERROR(evalOp(&op, scope, environment, 0));
  }
  for (auto [buffer, rows] :
       llvm::zip_equal(loop.getWrites(), loop.getYield().getRows()))
    set(buffer, viewAs(std::get<Rows>(scope.get(rows)), getWidth(buffer)));
  return {};
}

void StepExecution::evalProduct(ir::TaskProductOp task) {
  const RowData &input = get(task.getInput());
  Columns columns{task.getFirstColumn(), task.getEndColumn()};
  RowData output =
      evalLinear(input, *getWeight(task.getWeight()), getWeight(task.getBias()),
                 task.getTransposed(), columns);
  if (task.getGate())
    output = evalGate(*task.getGate(), output,
                      evalLinear(input, *getWeight(task.getPartner()),
                                 getWeight(task.getPartnerBias()),
                                 task.getTransposed(), columns));
  if (task.getResidual())
    output = evalAdd(output, get(task.getResidual()));
  set(task.getOutput(), std::move(output));
}

void StepExecution::evalAttention(ir::TaskAttendOp task) {
  AttendParams params;
  params.heads = static_cast<int64_t>(task.getHeads());
  params.allHeads =
      static_cast<int64_t>(task.getAllHeads().value_or(task.getHeads()));
  params.firstHead = static_cast<int64_t>(task.getFirstHead().value_or(0));
  params.scale = task.getScale().convertToDouble();
  if (task.getWindow())
    params.window = static_cast<int64_t>(*task.getWindow());
  if (std::optional<llvm::APFloat> softcap = task.getSoftcap())
    params.softcap = softcap->convertToDouble();
  if (std::optional<llvm::APFloat> alibi = task.getAlibi())
    params.alibi = alibi->convertToDouble();
  set(task.getOutput(),
      evalAttend(get(task.getQuery()), *caches.at(task.getCache()), *batch,
                 params, *environment.pages));
}

Status StepExecution::execute(Operation *op) {
  if (auto task = llvm::dyn_cast<ir::TaskInterface>(op))
    for (const ir::MemoryAccess &access : task.getAccesses())
      if (!access.writes &&
          llvm::isa<ir::BufferType>(access.memory.getType()) &&
          !has(access.memory))
        return opError(op, "reads a buffer that has no records here");
  return llvm::TypeSwitch<Operation *, Status>(op)
      .Case([&](ir::CacheOp op) { return declare(op); })
      .Case([&](ir::ParamOp op) { return declare(op); })
      .Case([&](ir::TaskRowsOp op) { return evalRows(op); })
      .Case([&](ir::TaskProductOp op) {
        evalProduct(op);
        return Status();
      })
      .Case([&](ir::TaskAppendOp op) {
        evalAppend(get(op.getKey()), get(op.getValue()),
                   *caches.at(op.getCache()), *batch, *environment.pages);
        return Status();
      })
      .Case([&](ir::TaskAttendOp op) {
        evalAttention(op);
        return Status();
      })
      // Buffers, tables and barriers need nothing here, and neither does
      // sampling, since the logits are the result.
      .Default([](Operation *) { return Status(); });
}

Expected<Operation *> StepExecution::advance() {
  for (; !llvm::isa<ir::ResultsOp>(*next); ++next) {
    if (llvm::isa<ir::TaskCheckpointOp, ir::TaskExchangeOp>(*next))
      return &*next++;
    SLUICE_RETURN_IF_ERROR(execute(&*next));
  }
  return static_cast<Operation *>(nullptr);
}

void StepExecution::leave(ir::TaskCheckpointOp checkpoint,
                          const Survivors &survivors) {
  llvm::DenseMap<Value, Rows> left;
  bool keepsOutputs = step.getPlanTarget().keepsOutputs();
  for (auto &[buffer, rows] : buffers) {
    bool isOfOutputs =
        llvm::cast<ir::BufferType>(buffer.getType()).getDomain() ==
        ir::ValueDomain::Outputs;
    if (llvm::is_contained(checkpoint.getBuffers(), buffer) ||
        (keepsOutputs && isOfOutputs))
      left[buffer] = std::make_shared<const RowData>(
          keepRecords(*rows, survivors, isOfOutputs));
  }
  buffers = std::move(left);
  batch = survivors.after;
}

//===----------------------------------------------------------------------===//
// Members and stages
//===----------------------------------------------------------------------===//

/// Executes an exchange for all members of a group.
static Status evalExchange(std::deque<StepExecution> &members,
                           std::span<Operation *const> ops) {
  std::vector<const RowData *> inputs;
  for (auto [member, op] : llvm::zip_equal(members, ops)) {
    auto task = llvm::dyn_cast_or_null<ir::TaskExchangeOp>(op);
    if (!task)
      return opError(ops.front(), "the members of its group do not meet here: "
                                  "another one is at another task");
    if (!member.has(task.getInput()))
      return opError(op, "reads a buffer that has no records here");
    inputs.push_back(&member.get(task.getInput()));
  }
  auto first = llvm::cast<ir::TaskExchangeOp>(ops.front());
  int64_t width =
      llvm::cast<ir::BufferType>(first.getOutput().getType()).getWidth();
  Rows result = std::make_shared<const RowData>(
      first.getKind() == ir::ExchangeKind::Sum ? evalAllReduce(inputs, {})
                                               : evalAllGather(inputs, width));
  for (auto [member, op] : llvm::zip_equal(members, ops))
    member.set(llvm::cast<ir::TaskExchangeOp>(op).getOutput(), result);
  return {};
}

/// Executes the steps of all members of a stage.
static Expected<PartResult> evalStage(std::span<Operation *const> steps,
                                      const PartResult &input,
                                      Environment &environment) {
  std::deque<StepExecution> members;
  for (Operation *step : steps)
    members.emplace_back(llvm::cast<ir::StepOp>(step), input, environment);
  while (true) {
    std::vector<Operation *> ops;
    for (StepExecution &member : members) {
      Expected<Operation *> op = member.advance();
      if (!op)
        return op.status();
      ops.push_back(*op);
    }
    if (!ops.front())
      return members.front().result();
    if (!llvm::isa<ir::TaskCheckpointOp>(ops.front())) {
      SLUICE_RETURN_IF_ERROR(evalExchange(members, ops));
      continue;
    }
    Survivors survivors =
        findSurvivors(members.front().getBatch(), environment);
    for (auto [member, op] : llvm::zip_equal(members, ops)) {
      auto checkpoint = llvm::dyn_cast_or_null<ir::TaskCheckpointOp>(op);
      if (!checkpoint)
        return opError(ops.front(), "the members of its group do not meet "
                                    "here: another one is at another task");
      member.leave(checkpoint, survivors);
    }
  }
}

Expected<PartResult>
sluice::interpreter::evalSteps(const std::vector<Operation *> &steps,
                               const StepBatch &batch,
                               Environment &environment) {
  PartResult current{&batch, nullptr};
  for (auto step = steps.begin(); step != steps.end();) {
    auto members =
        static_cast<size_t>(llvm::cast<ir::StepOp>(*step).getMembers());
    Expected<PartResult> next =
        evalStage({&*step, members}, current, environment);
    if (!next)
      return next;
    current = next.take();
    step += static_cast<ptrdiff_t>(members);
  }
  return current;
}
