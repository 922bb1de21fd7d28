//===- StepBuilder.cpp - the builder of a program's step ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBuilder.h"

#include "RopeTables.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

namespace {

class StepBuilder {
public:
  StepBuilder(StepOp step, int64_t members, PlanTargetInterface target)
      : step(step), members(members), target(target),
        declarations(step.getBody()), b(step.getBody()) {}

  LogicalResult build(Operation *frame);

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(Operation *op);
  LogicalResult visitLayer(LayerOp op);
  void visitReceive(ReceiveOp op);
  void visitSend(SendOp op);
  void visitCheckpoint(CheckpointOp op);
  void visitEmbed(EmbedOp op);
  LogicalResult visitRope(RopeOp op);
  void visitLinear(LinearOp op);
  void visitAttend(AttendOp op);
  void visitAllReduce(AllReduceOp op);
  void visitAllGather(AllGatherOp op);
  void visitRowWise(Operation *op);

  /// Fills the body of a row loop. Receives the rows that are read and the
  /// weights, and returns the rows that are written.
  using Body = llvm::function_ref<SmallVector<Value>(ValueRange rows,
                                                     ValueRange weights)>;
  TaskRowsOp addRows(ValueDomain domain, ValueRange reads, ValueRange weights,
                     ValueRange writes, Body body, int64_t heads = 1);
  Value addBuffer(ValueDomain domain, int64_t width);
  Value addResult(Value value, ValueDomain domain);
  Value getParam(Value weight);
  FailureOr<Value> getTable(RopeOp op);
  void setLogits(Value logits);
  Value makeRotations(ValueRange weights, int64_t width);

  /// Returns the buffer of rows whose op visit() has seen before.
  Value bufferOf(Value value) const { return buffers.at(value); }
  ValueDomain domainOf(Value value) const {
    return cast<BufferType>(bufferOf(value).getType()).getDomain();
  }
  int64_t widthOf(Value buffer) const {
    return cast<BufferType>(buffer.getType()).getWidth();
  }
  std::optional<int64_t> getLayer() const { return layer; }
  IntegerAttr getLayerAttr() {
    return layer ? b.getI64IntegerAttr(*layer) : IntegerAttr();
  }

  StepOp step;
  int64_t members;
  PlanTargetInterface target;
  OpBuilder declarations;       // at the end of the step's declarations
  OpBuilder b;                  // at the end of its tasks
  Location loc = step.getLoc(); // of the current op
  std::optional<int64_t> layer; // of the current op
  DenseMap<Value, Value> buffers;
  DenseMap<Attribute, Value> params; // by the weight's name
  DenseMap<Attribute, Value> tables; // by their parameters
  DenseMap<Value, Value> rotations;  // of tables, if steps have them
  Value results;
  int64_t layers = 0, firstLayer = 0, hiddenSize = 0, caches = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Declarations and row loops
//===----------------------------------------------------------------------===//

Value StepBuilder::addBuffer(ValueDomain domain, int64_t width) {
  auto type = BufferType::get(b.getContext(), domain, width, OperandAttr());
  return BufferOp::create(declarations, loc, type, IntegerAttr());
}

Value StepBuilder::addResult(Value value, ValueDomain domain) {
  Value buffer = addBuffer(domain, getWidth(value.getType()));
  buffers[value] = buffer;
  return buffer;
}

/// Returns the value of a weight in the step.
Value StepBuilder::getParam(Value weight) {
  auto op = weight.getDefiningOp<ParamOp>();
  Value &param = params[op.getWeightAttr()];
  if (!param)
    param = ParamOp::create(declarations, op.getLoc(), op.getType(),
                            op.getWeightAttr());
  return param;
}

TaskRowsOp StepBuilder::addRows(ValueDomain domain, ValueRange reads,
                                ValueRange weights, ValueRange writes,
                                Body body, int64_t heads) {
  auto task = TaskRowsOp::create(b, loc, domain, reads, weights, writes,
                                 getLayer(), heads);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&task.getBody().front());
  SmallVector<Value> rows =
      body(task.getRowArguments(), task.getWeightArguments());
  TaskYieldOp::create(b, loc, rows);
  Operation &op = task.getBody().front().front();
  task.setRuntime(!target.isGenerated(&op));
  return task;
}

void StepBuilder::setLogits(Value logits) {
  Value buffer = bufferOf(logits);
  results = buffer;
  if (domainOf(logits) == ValueDomain::Outputs)
    return;
  // The runtime reads the logits of outputs only, so these are selected.
  results = addBuffer(ValueDomain::Outputs, widthOf(buffer));
  addRows(ValueDomain::Outputs, buffer, {}, results,
          [&](ValueRange rows, ValueRange) -> SmallVector<Value> {
            return {SelectOutputsOp::create(b, loc, rows[0].getType(), rows[0],
                                            step.getBatch())};
          });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult StepBuilder::visitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult StepBuilder::visit(Operation *op) {
  for (Value operand : op->getOperands())
    if (isRows(operand.getType()) && !buffers.contains(operand))
      return op->emitError("uses rows that nothing in its step computes");
  loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ParamOp, LayerCacheOp, YieldOp>([](auto) { return success(); })
      .Case([&](LayerOp op) { return visitLayer(op); })
      .Case([&](RopeOp op) { return visitRope(op); })
      .Case([&](ReturnOp op) {
        setLogits(op.getLogits());
        return success();
      })
      .Case([&](ReceiveOp op) { return visitReceive(op), success(); })
      .Case([&](SendOp op) { return visitSend(op), success(); })
      .Case([&](CheckpointOp op) { return visitCheckpoint(op), success(); })
      .Case([&](EmbedOp op) { return visitEmbed(op), success(); })
      .Case([&](LinearOp op) { return visitLinear(op), success(); })
      .Case([&](AttendOp op) { return visitAttend(op), success(); })
      .Case([&](AllReduceOp op) { return visitAllReduce(op), success(); })
      .Case([&](AllGatherOp op) { return visitAllGather(op), success(); })
      .Case<SelectOutputsOp, ColumnCopyOpInterface, ColumnOpInterface>(
          [&](auto op) { return visitRowWise(op), success(); })
      .Default([&](Operation *op) {
        return op->emitError() << "'" << op->getName()
                               << "' has no lowering to " << target.getTitle();
      });
}

LogicalResult StepBuilder::visitLayer(LayerOp op) {
  layer = static_cast<int64_t>(op.getIndex());
  if (layers++ == 0)
    firstLayer = *layer;
  Block &body = op.getBody().front();
  buffers[body.getArgument(0)] = bufferOf(op.getInput());
  if (failed(visitBlock(body)))
    return failure();
  auto yield = cast<YieldOp>(body.getTerminator());
  buffers[op.getResult()] = bufferOf(yield.getValue());
  layer.reset();
  return success();
}

void StepBuilder::visitReceive(ReceiveOp op) {
  if (!op.getRows())
    return;
  Type type = op.getRows().getType();
  hiddenSize = getWidth(type);
  addRows(ValueDomain::Rows, {}, {}, addResult(op.getRows(), ValueDomain::Rows),
          [&](ValueRange, ValueRange) -> SmallVector<Value> {
            return {ReceivedRowsOp::create(b, loc, type, step.getBatch())};
          });
}

void StepBuilder::visitSend(SendOp op) {
  auto channel =
      SymbolTable::lookupNearestSymbolFrom<ChannelOp>(op, op.getChannelAttr());
  if (channel.getFrame().getKind() != FrameKind::Rows)
    return setLogits(op.getRows());
  results = bufferOf(op.getRows());
  addRows(ValueDomain::Rows, results, {}, {},
          [&](ValueRange rows, ValueRange) -> SmallVector<Value> {
            SendRowsOp::create(b, loc, rows[0], step.getBatch());
            return {};
          });
}

/// --sluice-carry-rows chooses the buffers that it moves.
void StepBuilder::visitCheckpoint(CheckpointOp op) {
  TaskCheckpointOp::create(b, loc, ValueRange(), getLayerAttr());
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    buffers[result] = bufferOf(input);
}

void StepBuilder::visitEmbed(EmbedOp op) {
  if (hiddenSize == 0)
    hiddenSize = getWidth(op.getResult().getType());
  addRows(ValueDomain::Rows, {}, getParam(op.getTable()),
          addResult(op.getResult(), ValueDomain::Rows),
          [&](ValueRange, ValueRange weights) -> SmallVector<Value> {
            return {EmbedOp::create(b, loc, op.getType(), step.getBatch(),
                                    weights[0], op.getBy())};
          });
}

FailureOr<Value> StepBuilder::getTable(RopeOp op) {
  FailureOr<RopeTableAttr> parameters = computeRopeTable(op);
  if (failed(parameters))
    return failure();
  Value &table = tables[*parameters];
  if (!table) {
    auto type = RopeTableType::get(b.getContext(), op.getRotaryDim());
    table = RopeTableOp::create(declarations, loc, type, *parameters);
  }
  return table;
}

/// Emits rotations in the body of a row loop.
Value StepBuilder::makeRotations(ValueRange weights, int64_t width) {
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, width}, b.getF32Type());
  return RotationsOp::create(b, loc, type, step.getBatch(), weights[0]);
}

LogicalResult StepBuilder::visitRope(RopeOp op) {
  FailureOr<Value> table = getTable(op);
  if (failed(table))
    return failure();
  auto width = static_cast<int64_t>(op.getRotaryDim());
  SmallVector<Value> reads = {bufferOf(op.getInput())}, weights;
  if (target.computesRotations()) {
    Value &computed = rotations[*table];
    if (!computed) {
      computed = addBuffer(ValueDomain::Rows, width);
      addRows(ValueDomain::Rows, {}, *table, computed,
              [&](ValueRange, ValueRange tables) -> SmallVector<Value> {
                return {makeRotations(tables, width)};
              });
    }
    reads.push_back(computed);
  } else {
    weights.push_back(*table);
  }
  addRows(ValueDomain::Rows, reads, weights,
          addResult(op.getResult(), ValueDomain::Rows),
          [&](ValueRange rows, ValueRange tables) -> SmallVector<Value> {
            Value by = tables.empty() ? rows[1] : makeRotations(tables, width);
            return {RotateOp::create(b, loc, rows[0].getType(), rows[0], by,
                                     op.getStyle(), op.getHeads(),
                                     op.getHeadDim())};
          });
  return success();
}

void StepBuilder::visitLinear(LinearOp op) {
  ValueDomain domain = domainOf(op.getInput());
  Value bias = op.getBias() ? getParam(op.getBias()) : Value();
  Value weight = getParam(op.getWeight());
  Value output = addResult(op.getResult(), domain);
  TaskProductOp::create(
      b, loc, ValueDomainAttr::get(b.getContext(), domain),
      bufferOf(op.getInput()), weight, bias, /*partner=*/Value(),
      /*partner_bias=*/Value(), /*residual=*/Value(), output,
      op.getTransposedAttr(), op.getColumnsBeginAttr(), op.getColumnsEndAttr(),
      ActivationKindAttr(), getLayerAttr());
}

void StepBuilder::visitAttend(AttendOp op) {
  // A layer has a cache of its own and one attention: layer_c4, layer_c6.
  Value cache = CacheOp::create(declarations, loc, op.getCache().getType(),
                                b.getI64IntegerAttr(caches++));
  Value key = bufferOf(op.getKey()), value = bufferOf(op.getValue());
  TaskAppendOp::create(b, loc, key, value, cache, getLayerAttr());
  if (!target.attendsToStep())
    key = value = Value();
  // A worker is one member, so it has one first head.
  IntegerAttr firstHead;
  if (auto first = op.getFirstHeads())
    firstHead = b.getI64IntegerAttr(first->front());
  Value query = bufferOf(op.getQuery());
  TaskAttendOp::create(b, loc, query, key, value, cache,
                       addResult(op.getResult(), ValueDomain::Rows),
                       op.getHeadsAttr(), op.getScaleAttr(), op.getWindowAttr(),
                       op.getSoftcapAttr(), op.getAlibiAttr(),
                       op.getAllHeadsAttr(), firstHead, getLayerAttr());
}

void StepBuilder::visitAllReduce(AllReduceOp op) {
  Value input = bufferOf(op.getInput());
  ValueDomain domain = domainOf(op.getInput());
  int64_t width = widthOf(input);
  bool hasBiases = !op.getBiases().empty();
  Value sum =
      hasBiases ? addBuffer(domain, width) : addResult(op.getResult(), domain);
  Value scratch = addBuffer(domain, members * width);
  TaskExchangeOp::create(b, loc, ExchangeKind::Sum, domain, input, sum, scratch,
                         getLayerAttr());
  if (!hasBiases)
    return;
  // Each member adds the biases itself, in a row loop with the ops that follow.
  auto biases = llvm::to_vector(op.getBiases());
  llvm::SmallSetVector<Value, 4> weights;
  for (Value bias : biases)
    weights.insert(getParam(bias));
  addRows(domain, sum, weights.getArrayRef(), addResult(op.getResult(), domain),
          [&](ValueRange rows, ValueRange arguments) -> SmallVector<Value> {
            SmallVector<Value> vectors;
            for (Value bias : biases) {
              auto place = llvm::find(weights, getParam(bias));
              vectors.push_back(arguments[place - weights.begin()]);
            }
            return {
                AddBiasOp::create(b, loc, rows[0].getType(), rows[0], vectors)};
          });
}

void StepBuilder::visitAllGather(AllGatherOp op) {
  Value input = bufferOf(op.getInput());
  ValueDomain domain = domainOf(op.getInput());
  Value all = addResult(op.getResult(), domain);
  Value scratch = addBuffer(domain, members * widthOf(input));
  TaskExchangeOp::create(b, loc, ExchangeKind::Gather, domain, input, all,
                         scratch, getLayerAttr());
}

/// Copies an op into the body of a row loop over `heads` heads, or over whole
/// rows if that is 1. The copy computes one head and has no heads of its own.
static Operation *cloneForHead(OpBuilder &b, Operation *op,
                               const IRMapping &mapping, int64_t heads) {
  IRMapping values = mapping;
  Operation *copy = b.clone(*op, values);
  if (auto columns = dyn_cast<ColumnOpInterface>(copy))
    columns.setHeadCount(1);
  for (Value result : copy->getResults())
    result.setType(RankedTensorType::get(
        {ShapedType::kDynamic, getWidth(result.getType()) / heads},
        b.getF32Type()));
  return copy;
}

/// Copies the op into a row loop of its own.
void StepBuilder::visitRowWise(Operation *op) {
  llvm::SmallSetVector<Value, 4> reads, weights;
  // The domain is that of all inputs: select_outputs_c2.
  ValueDomain domain = ValueDomain::Rows;
  for (Value operand : op->getOperands()) {
    if (isRows(operand.getType())) {
      domain = domainOf(operand);
      reads.insert(bufferOf(operand));
    } else if (!isStepRows(operand.getType())) {
      weights.insert(getParam(operand));
    }
  }
  if (isa<SelectOutputsOp>(op))
    domain = ValueDomain::Outputs;
  auto columns = dyn_cast<ColumnOpInterface>(op);
  const int64_t heads = columns ? columns.countHeads() : 1;
  SmallVector<Value> writes;
  for (Value result : op->getResults())
    writes.push_back(addResult(result, domain));
  addRows(
      domain, reads.getArrayRef(), weights.getArrayRef(), writes,
      [&](ValueRange rows, ValueRange arguments) -> SmallVector<Value> {
        IRMapping mapping;
        for (Value operand : op->getOperands()) {
          if (isRows(operand.getType()))
            mapping.map(
                operand,
                rows[llvm::find(reads, bufferOf(operand)) - reads.begin()]);
          else if (isStepRows(operand.getType()))
            mapping.map(operand, step.getBatch());
          else
            mapping.map(operand,
                        arguments[llvm::find(weights, getParam(operand)) -
                                  weights.begin()]);
        }
        return llvm::to_vector_of<Value>(
            cloneForHead(b, op, mapping, heads)->getResults());
      },
      heads);
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

LogicalResult StepBuilder::build(Operation *frame) {
  // Declarations come first, then tasks; everything is inserted before the end.
  auto end = ResultsOp::create(b, loc, addBuffer(ValueDomain::Rows, 1));
  Operation *placeholder = end.getBuffer().getDefiningOp();
  declarations.setInsertionPoint(placeholder);
  b.setInsertionPoint(end);
  if (failed(visitBlock(frame->getRegion(0).front())))
    return failure();
  end.getBufferMutable().assign(results);
  if (Value logits = step.getLogits(); logits && target.samples()) {
    loc = step.getLoc();
    int64_t floats = target.getSampleFloats(widthOf(logits));
    Value parts = floats ? addBuffer(ValueDomain::Outputs, floats) : Value();
    TaskSampleOp::create(b, loc, logits, parts, ArrayAttr(), IntegerAttr());
  }
  placeholder->erase();
  step.setHiddenSize(hiddenSize);
  step.setLayers(layers);
  step.setFirstLayer(firstLayer);
  return success();
}

FailureOr<StepOp> sluice::planning::buildStep(const ProgramSource &source,
                                              StringRef name,
                                              FlatSymbolRefAttr counterpart,
                                              PlanTargetInterface target) {
  if (failed(requireFused(source.frame)))
    return failure();
  OpBuilder b(source.frame);
  auto number = [&](int64_t value) { return b.getI64IntegerAttr(value); };
  auto step = StepOp::create(
      b, source.frame->getLoc(), b.getStringAttr(name), target,
      source.architecture, source.modelName, source.vocabSize,
      source.contextLength, b.getDenseI64ArrayAttr(source.eosTokens), number(0),
      number(0), number(0), number(source.members), source.stepRows,
      source.costs, source.rank, counterpart, /*row_floats=*/IntegerAttr(),
      /*output_floats=*/IntegerAttr());
  Block &body = step.getBody().emplaceBlock();
  body.addArgument(BatchType::get(b.getContext()), step.getLoc());
  if (failed(StepBuilder(step, source.members, target).build(source.frame)))
    return failure();
  return step;
}
