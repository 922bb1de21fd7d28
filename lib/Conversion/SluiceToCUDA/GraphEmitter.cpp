//===- GraphEmitter.cpp - the list of a step ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphEmitter.h"

#include "runtime/device/cuda/CudaProgramABI.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

static ValueDomain toValueDomain(Domain domain) {
  return domain == Domain::Rows ? ValueDomain::Rows : ValueDomain::Outputs;
}

void GraphEmitter::emit(Location loc, StringRef name) {
  auto module = cast<ModuleOp>(shared.symbols.getOp());
  ImplicitLocOpBuilder b(loc, module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto op = GraphOp::create(b, name);
  shared.symbols.insert(op);
  b.setInsertionPointToStart(&op.getBody().emplaceBlock());
  const Node *send = nullptr;
  for (const Task &task : schedule.tasks) {
    b.setLoc(task.nodes.front()->op->getLoc());
    if (task.nodes.front()->kind == Node::Kind::Send) {
      send = task.nodes.front();
      continue;
    }
    markLayer(b, task.nodes.front()->op->getParentOfType<LayerOp>());
    emitTask(b, task);
  }
  b.setLoc(loc);
  // The runtime takes the rows when all else has ended.
  if (send)
    emitCall(b, *send);
  if (graph.logits) {
    markLayer(b, LayerOp());
    emitGreedyTokens(b);
  }
}

/// What is emitted from here on is of the layer; null: of none.
void GraphEmitter::markLayer(ImplicitLocOpBuilder &b, LayerOp op) {
  IntegerAttr index = op ? op.getIndexAttr() : IntegerAttr();
  if (index != layer)
    GraphLayerOp::create(b, index);
  layer = index;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value GraphEmitter::getBuffer(ImplicitLocOpBuilder &b, unsigned buffer,
                              int64_t part) {
  Value &address = buffers[{buffer, part}];
  if (!address) {
    Domain domain = graph.buffers[buffer].domain;
    address = GraphValueOp::create(b, toValueDomain(domain),
                                   layout[domain].offsets[buffer] + part);
  }
  return address;
}

Value GraphEmitter::getMemory(ImplicitLocOpBuilder &b, GraphMemory memory,
                              std::optional<int64_t> index) {
  Value &address =
      memories[{static_cast<unsigned>(memory), index.value_or(-1)}];
  if (!address) {
    IntegerAttr number = index ? b.getI64IntegerAttr(*index) : IntegerAttr();
    address = GraphAddressOp::create(b, memory, number);
  }
  return address;
}

Value GraphEmitter::getCount(ImplicitLocOpBuilder &b, Domain domain) {
  return getMemory(b, domain == Domain::Rows ? GraphMemory::Rows
                                             : GraphMemory::Outputs);
}

Value GraphEmitter::getParameter(ImplicitLocOpBuilder &b,
                                 KernelParameter parameter, Domain domain) {
  using Kind = KernelParameter::Kind;
  auto getWidth = [&] { return graph.buffers[parameter.index].width; };
  switch (parameter.kind) {
  case Kind::Count:
    return getCount(b, domain);
  case Kind::Buffer:
    return getBuffer(b, parameter.index);
  case Kind::OperandSums:
    return getBuffer(b, parameter.index, SLUICE_OPERAND_SUMS(getWidth()));
  case Kind::OperandScales:
    return getBuffer(b, parameter.index, SLUICE_OPERAND_SCALES(getWidth()));
  case Kind::Vector:
    return getMemory(b, GraphMemory::Vector, parameter.index);
  case Kind::RopeTable:
    return getMemory(b, GraphMemory::RopeTable, parameter.index);
  case Kind::Positions:
    return getMemory(b, GraphMemory::Positions);
  case Kind::OutputRows:
    return getMemory(b, GraphMemory::OutputRows);
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void GraphEmitter::emitTask(ImplicitLocOpBuilder &b, const Task &task) {
  if (task.domain == Domain::Outputs && !hasOutputs) {
    GraphSelectOutputsOp::create(b);
    hasOutputs = true;
  }
  if (task.isRowLoop())
    return emitRowLoop(b, task);
  if (task.isCheckpoint())
    return emitCheckpoint(b, *task.nodes.front());
  emitCall(b, *task.nodes.front());
}

void GraphEmitter::emitRowLoop(ImplicitLocOpBuilder &b, const Task &task) {
  KernelLaunch launch = kernels.getLaunch(task);
  SmallVector<Value> words;
  for (KernelParameter parameter : launch.parameters)
    words.push_back(getParameter(b, parameter, task.domain));
  this->launch(b, launch.kernel, task.domain, launch.shape, words);
}

void GraphEmitter::launch(ImplicitLocOpBuilder &b, gpu::GPUFuncOp kernel,
                          Domain domain, RowShape shape, ValueRange words) {
  LaunchKernelOp::create(b, shared.kernels.getName(kernel),
                         toValueDomain(domain),
                         static_cast<int32_t>(shape.threads),
                         static_cast<int32_t>(shape.blocks), words);
  ++launches;
}

void GraphEmitter::emitCall(ImplicitLocOpBuilder &b, const Node &node) {
  auto input = [&](unsigned i) { return getBuffer(b, node.inputs[i]); };
  auto output = [&] { return getBuffer(b, node.outputs.front()); };
  unsigned first =
      node.outputs.empty() ? node.inputs.front() : node.outputs.front();
  int64_t width = graph.buffers[first].width;
  ValueDomain domain = toValueDomain(node.domain);

  switch (node.kind) {
  case Node::Kind::Receive:
    GraphReceiveOp::create(b, output(), width);
    return;
  case Node::Kind::Send:
    GraphSendOp::create(b, input(0), width);
    return;
  case Node::Kind::Embed: {
    auto embed = cast<EmbedOp>(node.op);
    GraphEmbedOp::create(
        b, weights.getIndex(embed.getTable(), WeightUseKind::Rows),
        embed.getBy(), output(), width);
    return;
  }
  case Node::Kind::Operand: {
    auto kind = static_cast<OperandKind>(graph.buffers[first].format);
    Value from = input(0);
    GraphOperandOp::create(b, domain, kind, from, output(), width);
    return;
  }
  case Node::Kind::Linear:
    return emitLinear(b, node);
  case Node::Kind::GatedLinear:
    return emitGatedLinear(b, node);
  case Node::Kind::Append: {
    Value key = input(0);
    GraphAppendOp::create(b, node.index, key, input(1));
    return;
  }
  case Node::Kind::Attend: {
    LLVM::GlobalOp parameters =
        shared.attention.get(b, cast<AttendOp>(node.op));
    Value query = input(0);
    GraphAttendOp::create(b, node.index, query, output(),
                          parameters.getSymName());
    return;
  }
  case Node::Kind::AllReduce:
  case Node::Kind::AllGather:
    return emitMeeting(b, node);
  default:
    llvm_unreachable("in row loops, or a checkpoint");
  }
}

/// Null where the product has none.
Value GraphEmitter::getBias(ImplicitLocOpBuilder &b, LinearOp product) {
  Value vector = product.getBias();
  if (!vector)
    return {};
  return getMemory(b, GraphMemory::Vector,
                   weights.getIndex(vector, WeightUseKind::Vector));
}

void GraphEmitter::emitLinear(ImplicitLocOpBuilder &b, const Node &node) {
  auto linear = cast<LinearOp>(node.op);
  int64_t weight = weights.getIndex(linear.getWeight(), WeightUseKind::Linear,
                                    linear.getTransposed());
  Value bias = getBias(b, linear), residual;
  if (node.inputs.size() > 1)
    residual = getBuffer(b, node.inputs[1]);
  Value operand = getBuffer(b, node.inputs[0]);
  Value output = getBuffer(b, node.outputs[0]);
  GraphLinearOp::create(b, toValueDomain(node.domain), weight,
                        linear.getFirstColumn(), linear.getEndColumn(), operand,
                        bias, /*partner_bias=*/{}, residual, output,
                        /*gate=*/{});
}

void GraphEmitter::emitGatedLinear(ImplicitLocOpBuilder &b, const Node &node) {
  auto op = cast<GateOp>(node.op);
  auto gate = op.getGate().getDefiningOp<LinearOp>();
  auto partner = op.getInput().getDefiningOp<LinearOp>();
  int64_t weight = weights.getGatedIndex(gate.getWeight(), partner.getWeight(),
                                         gate.getTransposed());
  Value bias = getBias(b, gate), partnerBias = getBias(b, partner);
  Value operand = getBuffer(b, node.inputs[0]);
  Value output = getBuffer(b, node.outputs[0]);
  GraphLinearOp::create(b, toValueDomain(node.domain), weight,
                        gate.getFirstColumn(), gate.getEndColumn(), operand,
                        bias, partnerBias, /*residual=*/{}, output,
                        ActivationKindAttr::get(b.getContext(), op.getKind()));
}

void GraphEmitter::emitMeeting(ImplicitLocOpBuilder &b, const Node &node) {
  ValueDomain domain = toValueDomain(node.domain);
  Value input = getBuffer(b, node.inputs[0]);
  Value output = getBuffer(b, node.outputs[0]);
  Value scratch = getBuffer(b, node.outputs[1]);
  int64_t part = graph.buffers[node.inputs[0]].width;
  if (node.kind == Node::Kind::AllReduce)
    GraphAllReduceOp::create(b, domain, input, output, part, scratch);
  else
    GraphAllGatherOp::create(b, domain, input, part, output,
                             graph.buffers[node.outputs[0]].width, scratch);
}

void GraphEmitter::emitCheckpoint(ImplicitLocOpBuilder &b, const Node &node) {
  SmallVector<Value> values;
  SmallVector<int64_t> floats;
  for (unsigned buffer : node.inputs) {
    values.push_back(getBuffer(b, buffer));
    floats.push_back(graph.buffers[buffer].floatsPerRow);
  }
  GraphCheckpointOp::create(b, values, floats);
}

void GraphEmitter::emitGreedyTokens(ImplicitLocOpBuilder &b) {
  GreedyKernels greedy(shared.kernels, graph.buffers[*graph.logits].width);
  Value count = getCount(b, Domain::Outputs);
  Value logits = getBuffer(b, *graph.logits);
  Value tokens = getMemory(b, GraphMemory::GreedyTokens);
  Value parts = greedyParts ? getBuffer(b, *greedyParts) : Value();
  launch(b, greedy.getSearch(b.getLoc()), Domain::Outputs,
         greedy.getSearchShape(), {count, logits, parts ? parts : tokens});
  if (parts)
    launch(b, greedy.getMerge(b.getLoc()), Domain::Outputs,
           greedy.getMergeShape(), {count, parts, tokens});
}
