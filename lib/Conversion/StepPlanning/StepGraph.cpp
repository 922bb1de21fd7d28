//===- StepGraph.cpp - a step as nodes over buffers -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepGraph.h"

#include "RopeTables.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

SmallVector<Value> Node::getVectorWeights() const {
  SmallVector<Value> weights;
  if (kind == Kind::Columns)
    llvm::copy_if(
        op->getOperands(), std::back_inserter(weights),
        [](Value operand) { return isVectorWeight(operand.getType()); });
  return weights;
}

namespace {

class StepGraphBuilder {
public:
  explicit StepGraphBuilder(const StepTarget &target) : target(target) {}
  LogicalResult build(Operation *frame);
  StepGraph graph;

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(Operation *op);
  LogicalResult visitLayer(LayerOp op);
  LogicalResult visitReceive(ReceiveOp op);
  LogicalResult visitSend(SendOp op);
  LogicalResult visitCheckpoint(CheckpointOp op);
  LogicalResult visitEmbed(EmbedOp op);
  LogicalResult visitSelect(SelectOutputsOp op);
  LogicalResult visitRope(RopeOp op);
  LogicalResult visitLinear(LinearOp op);
  LogicalResult visitAttend(AttendOp op);
  LogicalResult visitAllReduce(AllReduceOp op);
  LogicalResult visitAllGather(AllGatherOp op);
  LogicalResult visitRowWise(Operation *op, Node::Kind kind);

  unsigned addFloats(Domain domain, int64_t width);
  unsigned addResult(Value value, Domain domain);
  Node &addNode(Node::Kind kind, Operation *op, Domain domain);
  unsigned getOperand(LinearOp op, unsigned x, const OperandRecord &record);
  void forgetUncarried();
  void setLogits(Operation *op, Value logits);
  void carryAcrossCheckpoints();

  Domain domainOf(Value value) { return graph.buffers[bufferOf(value)].domain; }
  /// Of rows that visit() found to be computed before.
  unsigned bufferOf(Value value) { return buffers.at(value); }

  const StepTarget &target;
  int64_t members = 1; // of the frame's group
  DenseMap<Value, unsigned> buffers;
  /// Of a buffer of floats and a format.
  DenseMap<std::pair<unsigned, int64_t>, unsigned> operands;
  DenseMap<Attribute, int64_t> tables; // number of a #sluice.rope_table
  SmallVector<unsigned> tableBuffers;  // where the step computes them
};

} // namespace

//===----------------------------------------------------------------------===//
// Buffers and nodes
//===----------------------------------------------------------------------===//

unsigned StepGraphBuilder::addFloats(Domain domain, int64_t width) {
  graph.buffers.push_back({Buffer::Kind::Floats, domain, width, width});
  return graph.buffers.size() - 1;
}

unsigned StepGraphBuilder::addResult(Value value, Domain domain) {
  unsigned buffer = addFloats(domain, getWidth(value.getType()));
  buffers[value] = buffer;
  return buffer;
}

Node &StepGraphBuilder::addNode(Node::Kind kind, Operation *op, Domain domain) {
  graph.nodes.push_back({kind, op, domain, {}, {}});
  return graph.nodes.back();
}

unsigned StepGraphBuilder::getOperand(LinearOp op, unsigned x,
                                      const OperandRecord &record) {
  auto [entry, isNew] =
      operands.try_emplace({x, record.format}, graph.buffers.size());
  if (!isNew)
    return entry->second;
  Buffer source = graph.buffers[x];
  graph.buffers.push_back({Buffer::Kind::Operand, source.domain, source.width,
                           record.floatsPerRow, record.format});
  Node &node = addNode(Node::Kind::Operand, op, source.domain);
  node.inputs = {x};
  node.outputs = {entry->second};
  return entry->second;
}

/// What a checkpoint does not carry is made anew behind it.
void StepGraphBuilder::forgetUncarried() {
  for (auto [key, buffer] : llvm::make_early_inc_range(operands))
    if (!target.isCarried(graph.buffers[buffer]))
      operands.erase(key);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult StepGraphBuilder::visitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult StepGraphBuilder::visit(Operation *op) {
  using Kind = Node::Kind;
  for (Value operand : op->getOperands())
    if (isRows(operand.getType()) && !buffers.contains(operand))
      return op->emitError("uses rows that nothing in its step computes");
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ParamOp, LayerCacheOp, YieldOp>([](auto) { return success(); })
      .Case([&](LayerOp layer) { return visitLayer(layer); })
      .Case([&](ReturnOp ret) {
        setLogits(ret, ret.getLogits());
        return success();
      })
      .Case([&](ReceiveOp receive) { return visitReceive(receive); })
      .Case([&](SendOp send) { return visitSend(send); })
      .Case([&](CheckpointOp point) { return visitCheckpoint(point); })
      .Case([&](EmbedOp embed) { return visitEmbed(embed); })
      .Case([&](SelectOutputsOp select) { return visitSelect(select); })
      .Case([&](RopeOp rope) { return visitRope(rope); })
      .Case([&](LinearOp linear) { return visitLinear(linear); })
      .Case([&](AttendOp attend) { return visitAttend(attend); })
      .Case([&](SplitQKVOp) { return visitRowWise(op, Kind::SplitQKV); })
      .Case([&](ConcatOp) { return visitRowWise(op, Kind::Concat); })
      .Case<RmsNormOp, LayerNormOp, ActivationOp, GateOp, AddOp>(
          [&](auto) { return visitRowWise(op, Kind::Columns); })
      .Case([&](AllReduceOp reduce) { return visitAllReduce(reduce); })
      .Case([&](AllGatherOp gather) { return visitAllGather(gather); })
      .Default([&](Operation *op) {
        return op->emitError() << "'" << op->getName()
                               << "' has no lowering to " << target.getName();
      });
}

LogicalResult StepGraphBuilder::visitLayer(LayerOp op) {
  if (graph.layers++ == 0)
    graph.firstLayer = static_cast<int64_t>(op.getIndex());
  Block &body = op.getBody().front();
  buffers[body.getArgument(0)] = bufferOf(op.getInput());
  if (failed(visitBlock(body)))
    return failure();
  auto yield = cast<YieldOp>(body.getTerminator());
  buffers[op.getResult()] = bufferOf(yield.getValue());
  return success();
}

void StepGraphBuilder::setLogits(Operation *op, Value logits) {
  unsigned buffer = bufferOf(logits);
  graph.logits = buffer;
  if (domainOf(logits) == Domain::Outputs)
    return;
  // The runtime reads the logits of outputs, whoever computed more.
  unsigned selected = addFloats(Domain::Outputs, graph.buffers[buffer].width);
  Node &node = addNode(Node::Kind::SelectOutputs, op, Domain::Outputs);
  node.inputs = {buffer};
  node.outputs = {selected};
  graph.logits = selected;
}

LogicalResult StepGraphBuilder::visitReceive(ReceiveOp op) {
  if (!op.getRows())
    return success();
  Node &node = addNode(Node::Kind::Receive, op, Domain::Rows);
  node.outputs = {addResult(op.getRows(), Domain::Rows)};
  graph.hiddenSize = getWidth(op.getRows().getType());
  return success();
}

LogicalResult StepGraphBuilder::visitSend(SendOp op) {
  auto channel =
      SymbolTable::lookupNearestSymbolFrom<ChannelOp>(op, op.getChannelAttr());
  if (channel.getFrame().getKind() != FrameKind::Rows) {
    setLogits(op, op.getRows());
    return success();
  }
  Node &node = addNode(Node::Kind::Send, op, Domain::Rows);
  node.inputs = {bufferOf(op.getRows())};
  return success();
}

LogicalResult StepGraphBuilder::visitCheckpoint(CheckpointOp op) {
  ++graph.checkpoints;
  addNode(Node::Kind::Checkpoint, op, Domain::Rows);
  forgetUncarried();
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    buffers[result] = bufferOf(input);
  return success();
}

LogicalResult StepGraphBuilder::visitEmbed(EmbedOp op) {
  Node &node = addNode(Node::Kind::Embed, op, Domain::Rows);
  node.outputs = {addResult(op.getResult(), Domain::Rows)};
  graph.hasEmbedding = true;
  if (graph.hiddenSize == 0)
    graph.hiddenSize = getWidth(op.getResult().getType());
  return success();
}

LogicalResult StepGraphBuilder::visitSelect(SelectOutputsOp op) {
  Node &node = addNode(Node::Kind::SelectOutputs, op, Domain::Outputs);
  node.inputs = {bufferOf(op.getInput())};
  node.outputs = {addResult(op.getResult(), Domain::Outputs)};
  return success();
}

LogicalResult StepGraphBuilder::visitRope(RopeOp op) {
  FailureOr<RopeTableAttr> table = computeRopeTable(op);
  if (failed(table))
    return failure();
  auto [entry, isNew] = tables.try_emplace(*table, graph.ropeTables.size());
  if (isNew) {
    graph.ropeTables.push_back(*table);
    if (target.computesRopeTables()) {
      tableBuffers.push_back(addFloats(Domain::Rows, op.getRotaryDim()));
      Node &node = addNode(Node::Kind::RopeTable, op, Domain::Rows);
      node.outputs = {tableBuffers.back()};
      node.index = entry->second;
    }
  }
  Node &node = addNode(Node::Kind::Rope, op, Domain::Rows);
  node.inputs = {bufferOf(op.getInput())};
  if (target.computesRopeTables())
    node.inputs.push_back(tableBuffers[entry->second]);
  node.index = entry->second;
  node.outputs = {addResult(op.getResult(), Domain::Rows)};
  return success();
}

LogicalResult StepGraphBuilder::visitLinear(LinearOp op) {
  unsigned x = bufferOf(op.getInput());
  FailureOr<std::optional<OperandRecord>> record =
      target.getOperand(op, graph.buffers[x].width);
  if (failed(record))
    return failure();
  if (*record)
    x = getOperand(op, x, **record);
  Domain domain = domainOf(op.getInput());
  Node &node = addNode(Node::Kind::Linear, op, domain);
  node.inputs = {x};
  node.outputs = {addResult(op.getResult(), domain)};
  return success();
}

LogicalResult StepGraphBuilder::visitAttend(AttendOp op) {
  // A layer has a cache of its own and attends once: layer_c4, layer_c6.
  int64_t index = graph.caches.size();
  graph.caches.push_back(op.getCache().getType());
  unsigned cache = graph.buffers.size();
  graph.buffers.push_back({Buffer::Kind::Cache, Domain::Rows, 0, 0});
  unsigned k = bufferOf(op.getKey());
  unsigned v = bufferOf(op.getValue());

  Node &append = addNode(Node::Kind::Append, op, Domain::Rows);
  append.inputs = {k, v};
  append.outputs = {cache};
  append.index = index;

  Node &attend = addNode(Node::Kind::Attend, op, Domain::Rows);
  attend.inputs = {bufferOf(op.getQuery())};
  if (target.attendsToStep())
    attend.inputs.append({k, v});
  attend.inputs.push_back(cache);
  attend.outputs = {addResult(op.getResult(), Domain::Rows)};
  attend.index = index;
  return success();
}

LogicalResult StepGraphBuilder::visitAllReduce(AllReduceOp op) {
  unsigned x = bufferOf(op.getInput());
  Domain domain = domainOf(op.getInput());
  int64_t width = graph.buffers[x].width;
  bool hasBiases = !op.getBiases().empty();
  unsigned sum =
      hasBiases ? addFloats(domain, width) : addResult(op.getResult(), domain);
  unsigned scratch = addFloats(domain, members * width);
  Node &meeting = addNode(Node::Kind::AllReduce, op, domain);
  meeting.inputs = {x};
  meeting.outputs = {sum, scratch};
  if (!hasBiases)
    return success();
  // Each member adds them by itself, in a loop with what follows.
  unsigned result = addResult(op.getResult(), domain);
  Node &biases = addNode(Node::Kind::Columns, op, domain);
  biases.inputs = {sum};
  biases.outputs = {result};
  return success();
}

LogicalResult StepGraphBuilder::visitAllGather(AllGatherOp op) {
  unsigned x = bufferOf(op.getInput());
  Domain domain = domainOf(op.getInput());
  unsigned all = addResult(op.getResult(), domain);
  unsigned scratch = addFloats(domain, members * graph.buffers[x].width);
  Node &meeting = addNode(Node::Kind::AllGather, op, domain);
  meeting.inputs = {x};
  meeting.outputs = {all, scratch};
  return success();
}

LogicalResult StepGraphBuilder::visitRowWise(Operation *op, Node::Kind kind) {
  SmallVector<unsigned, 4> inputs;
  // That of all inputs: select_outputs_c2.
  Domain domain = Domain::Rows;
  for (Value operand : op->getOperands()) {
    if (!isRows(operand.getType()))
      continue; // a weight
    domain = domainOf(operand);
    inputs.push_back(bufferOf(operand));
  }
  SmallVector<unsigned, 3> outputs;
  for (Value result : op->getResults())
    outputs.push_back(addResult(result, domain));
  Node &node = addNode(kind, op, domain);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return success();
}

/// Gives each checkpoint the buffers that are used behind it, whether the op
/// passed them or the graph added them.
void StepGraphBuilder::carryAcrossCheckpoints() {
  llvm::BitVector usedLater(graph.buffers.size());
  if (graph.logits)
    usedLater.set(*graph.logits);
  for (Node &node : llvm::reverse(graph.nodes)) {
    if (node.kind == Node::Kind::Checkpoint) {
      for (unsigned buffer : usedLater.set_bits())
        if (target.isCarried(graph.buffers[buffer]))
          node.inputs.push_back(buffer);
      node.outputs.assign(node.inputs.begin(), node.inputs.end());
      continue;
    }
    for (unsigned output : node.outputs)
      usedLater.reset(output);
    for (unsigned input : node.inputs)
      usedLater.set(input);
  }
}

LogicalResult StepGraphBuilder::build(Operation *frame) {
  members = getMembers(frame);
  if (failed(visitBlock(frame->getRegion(0).front())))
    return failure();
  carryAcrossCheckpoints();
  return success();
}

FailureOr<StepGraph>
sluice::planning::buildStepGraph(Operation *frame, const StepTarget &target) {
  StepGraphBuilder builder(target);
  if (failed(builder.build(frame)))
    return failure();
  return std::move(builder.graph);
}
