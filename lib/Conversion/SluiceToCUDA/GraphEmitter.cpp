//===- GraphEmitter.cpp - the emitter of a step's launches ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphEmitter.h"

#include "lib/Conversion/StepPlanning/Programs.h"
#include "runtime/device/cuda/CudaProgramABI.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocuda;

static int64_t widthOf(Value buffer) {
  return cast<BufferType>(buffer.getType()).getWidth();
}

static bool isSend(TaskInterface task) {
  auto loop = dyn_cast<TaskRowsOp>(task.getOperation());
  return loop && isa<SendRowsOp>(loop.getBody().front().front());
}

void GraphEmitter::emit(StringRef name) {
  Location loc = planned.getLoc();
  auto module = cast<ModuleOp>(shared.symbols.getOp());
  ImplicitLocOpBuilder b(loc, module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto op = GraphOp::create(b, name);
  shared.symbols.insert(op);
  b.setInsertionPointToStart(&op.getBody().emplaceBlock());
  TaskInterface send;
  for (TaskInterface task : planned.getBody().getOps<TaskInterface>()) {
    if (isSend(task)) {
      send = task;
      continue;
    }
    b.setLoc(task.getLoc());
    markLayer(b, task.getTaskLayer());
    emitTask(b, task);
  }
  // The runtime takes the rows after all other tasks have ended.
  if (send) {
    b.setLoc(loc);
    emitTask(b, send);
  }
}

void GraphEmitter::markLayer(ImplicitLocOpBuilder &b,
                             std::optional<int64_t> index) {
  if (index != layer)
    GraphLayerOp::create(b,
                         index ? b.getI64IntegerAttr(*index) : IntegerAttr());
  layer = index;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value GraphEmitter::getBuffer(ImplicitLocOpBuilder &b, Value buffer,
                              int64_t part) {
  Value &address = buffers[{buffer, part}];
  if (!address)
    address =
        GraphValueOp::create(b, cast<BufferType>(buffer.getType()).getDomain(),
                             getPlace(buffer) + part);
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

Value GraphEmitter::getCount(ImplicitLocOpBuilder &b, ValueDomain domain) {
  return getMemory(b, domain == ValueDomain::Rows ? GraphMemory::Rows
                                                  : GraphMemory::Outputs);
}

Value GraphEmitter::getParameter(ImplicitLocOpBuilder &b,
                                 KernelParameter parameter,
                                 ValueDomain domain) {
  using Kind = KernelParameter::Kind;
  Value buffer = parameter.buffer;
  switch (parameter.kind) {
  case Kind::Count:
    return getCount(b, domain);
  case Kind::Buffer:
    return getBuffer(b, buffer);
  case Kind::OperandSums:
    return getBuffer(b, buffer, SLUICE_OPERAND_SUMS(widthOf(buffer)));
  case Kind::OperandScales:
    return getBuffer(b, buffer, SLUICE_OPERAND_SCALES(widthOf(buffer)));
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

void GraphEmitter::emitTask(ImplicitLocOpBuilder &b, TaskInterface task) {
  if (task.getTaskDomain() == ValueDomain::Outputs && !hasOutputs) {
    GraphSelectOutputsOp::create(b);
    hasOutputs = true;
  }
  llvm::TypeSwitch<Operation *>(task)
      .Case([&](TaskRowsOp op) {
        op.getRuntime() ? emitRuntimeRows(b, op) : emitRowLoop(b, op);
      })
      .Case([&](TaskProductOp op) { emitProduct(b, op); })
      .Case([&](TaskAppendOp op) { emitAppend(b, op); })
      .Case([&](TaskAttendOp op) { emitAttend(b, op); })
      .Case([&](TaskExchangeOp op) { emitExchange(b, op); })
      .Case([&](TaskCheckpointOp op) { emitCheckpoint(b, op); })
      .Case([&](TaskSampleOp op) { emitSample(b, op); })
      .Default([](Operation *) {
        llvm_unreachable("no task that is planned for a GPU");
      });
}

void GraphEmitter::emitRowLoop(ImplicitLocOpBuilder &b, TaskRowsOp loop) {
  KernelLaunch launch = kernels.getLaunch(loop);
  SmallVector<Value> words;
  for (KernelParameter parameter : launch.parameters)
    words.push_back(getParameter(b, parameter, loop.getDomain()));
  this->launch(b, launch.kernel, loop.getDomain(), launch.shape, words);
}

void GraphEmitter::launch(ImplicitLocOpBuilder &b, gpu::GPUFuncOp kernel,
                          ValueDomain domain, RowShape shape,
                          ValueRange words) {
  LaunchKernelOp::create(b, shared.kernels.getName(kernel), domain,
                         static_cast<int32_t>(shape.threads),
                         static_cast<int32_t>(shape.blocks), words);
  ++launches;
}

/// Emits a row loop for which the runtime has kernels, or that it executes
/// itself.
void GraphEmitter::emitRuntimeRows(ImplicitLocOpBuilder &b, TaskRowsOp loop) {
  Value buffer = loop.getWrites().empty() ? loop.getReads().front()
                                          : loop.getWrites().front();
  int64_t width = widthOf(buffer);
  llvm::TypeSwitch<Operation *>(&loop.getBody().front().front())
      .Case([&](ReceivedRowsOp) {
        GraphReceiveOp::create(b, getBuffer(b, buffer), width);
      })
      .Case([&](SendRowsOp) {
        GraphSendOp::create(b, getBuffer(b, buffer), width);
      })
      .Case([&](EmbedOp op) {
        int64_t weight = weights.getIndex(loop.getWeight(op.getTable()),
                                          WeightUseKind::Rows);
        GraphEmbedOp::create(b, weight, op.getBy(), getBuffer(b, buffer),
                             width);
      })
      .Case([&](ToOperandOp op) {
        auto kind = static_cast<OperandKind>(op.getOperand().getFormat());
        Value from = getBuffer(b, loop.getReads().front());
        GraphOperandOp::create(b, loop.getDomain(), kind, from,
                               getBuffer(b, buffer), width);
      })
      .Default([](Operation *) { llvm_unreachable("generated code"); });
}

/// Returns null if there is no vector.
Value GraphEmitter::getBias(ImplicitLocOpBuilder &b, Value vector) {
  if (!vector)
    return {};
  return getMemory(b, GraphMemory::Vector,
                   weights.getIndex(vector, WeightUseKind::Vector));
}

void GraphEmitter::emitProduct(ImplicitLocOpBuilder &b, TaskProductOp task) {
  bool transposed = task.getTransposed();
  int64_t weight = task.getPartner()
                       ? weights.getGatedIndex(task.getWeight(),
                                               task.getPartner(), transposed)
                       : weights.getIndex(task.getWeight(),
                                          WeightUseKind::Linear, transposed);
  Value bias = getBias(b, task.getBias());
  Value partnerBias = getBias(b, task.getPartnerBias());
  Value residual;
  if (task.getResidual())
    residual = getBuffer(b, task.getResidual());
  Value operand = getBuffer(b, task.getInput());
  Value output = getBuffer(b, task.getOutput());
  GraphLinearOp::create(b, task.getDomain(), weight, task.getFirstColumn(),
                        task.getEndColumn(), operand, bias, partnerBias,
                        residual, output, task.getGateAttr());
}

static int64_t getIndex(Value cache) {
  return static_cast<int64_t>(cache.getDefiningOp<CacheOp>().getIndex());
}

void GraphEmitter::emitAppend(ImplicitLocOpBuilder &b, TaskAppendOp task) {
  Value key = getBuffer(b, task.getKey());
  Value value = getBuffer(b, task.getValue());
  GraphAppendOp::create(b, getIndex(task.getCache()), key, value);
}

void GraphEmitter::emitAttend(ImplicitLocOpBuilder &b, TaskAttendOp task) {
  LLVM::GlobalOp parameters = shared.attention.get(b, task);
  Value query = getBuffer(b, task.getQuery());
  Value output = getBuffer(b, task.getOutput());
  GraphAttendOp::create(b, getIndex(task.getCache()), query, output,
                        parameters.getSymName());
}

void GraphEmitter::emitExchange(ImplicitLocOpBuilder &b, TaskExchangeOp task) {
  Value input = getBuffer(b, task.getInput());
  Value output = getBuffer(b, task.getOutput());
  Value scratch = getBuffer(b, task.getScratch());
  int64_t part = widthOf(task.getInput());
  if (task.getKind() == ExchangeKind::Sum)
    GraphAllReduceOp::create(b, task.getDomain(), input, output, part, scratch);
  else
    GraphAllGatherOp::create(b, task.getDomain(), input, part, output,
                             widthOf(task.getOutput()), scratch);
}

void GraphEmitter::emitCheckpoint(ImplicitLocOpBuilder &b,
                                  TaskCheckpointOp task) {
  SmallVector<Value> values;
  SmallVector<int64_t> floats;
  for (Value buffer : task.getBuffers()) {
    values.push_back(getBuffer(b, buffer));
    floats.push_back(cast<BufferType>(buffer.getType()).getFloats());
  }
  GraphCheckpointOp::create(b, values, floats);
}

void GraphEmitter::emitSample(ImplicitLocOpBuilder &b, TaskSampleOp task) {
  GreedyKernels greedy(shared.kernels, widthOf(task.getLogits()));
  Value count = getCount(b, ValueDomain::Outputs);
  Value logits = getBuffer(b, task.getLogits());
  Value tokens = getMemory(b, GraphMemory::GreedyTokens);
  Value parts = task.getParts() ? getBuffer(b, task.getParts()) : Value();
  launch(b, greedy.getSearch(b.getLoc()), ValueDomain::Outputs,
         greedy.getSearchShape(), {count, logits, parts ? parts : tokens});
  if (parts)
    launch(b, greedy.getMerge(b.getLoc()), ValueDomain::Outputs,
           greedy.getMergeShape(), {count, parts, tokens});
}
