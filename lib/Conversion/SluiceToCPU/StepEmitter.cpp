//===- StepEmitter.cpp - the step function --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepEmitter.h"

#include "lib/Conversion/StepPlanning/Programs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocpu;

func::FuncOp StepEmitter::createFunction(Location loc, StringRef name) {
  auto module = cast<ModuleOp>(symbols.getOp());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(
      builder, loc, name, RuntimeCalls::getStepType(module.getContext()));
  symbols.insert(function);
  auto arguments = function.addEntryBlock()->getArguments();
  step = {arguments[0], arguments[1], arguments[2], arguments[3],
          arguments[4], arguments[5], arguments[6], arguments[7]};
  return function;
}

void StepEmitter::emit(StringRef name) {
  func::FuncOp function = createFunction(planned.getLoc(), name);
  ImplicitLocOpBuilder b(planned.getLoc(), function.getContext());
  if (planned.countCheckpoints() > 0) {
    exit = function.addBlock();
    b.setInsertionPointToStart(exit);
    func::ReturnOp::create(b);
  }
  b.setInsertionPointToStart(&function.getBody().front());
  for (Operation &op : planned.getBody().front()) {
    if (!isa<TaskInterface, BarrierOp>(op))
      continue;
    b.setLoc(op.getLoc());
    emitTask(b, &op);
  }
  func::ReturnOp::create(b);
}

void StepEmitter::emitTask(ImplicitLocOpBuilder &b, Operation *task) {
  llvm::TypeSwitch<Operation *>(task)
      .Case([&](BarrierOp) { runtime.barrier(b, step); })
      .Case([&](TaskRowsOp op) { emitRowLoop(b, op); })
      .Case([&](TaskProductOp op) { emitProduct(b, op); })
      .Case([&](TaskAppendOp op) { emitAppend(b, op); })
      .Case([&](TaskAttendOp op) { emitAttend(b, op); })
      .Case([&](TaskExchangeOp op) { emitExchange(b, op); })
      .Case([&](TaskCheckpointOp op) { emitCheckpoint(b, op); })
      .Default([](Operation *) {
        llvm_unreachable("no task that is planned for a CPU");
      });
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// A buffer's start, as ProgramABI.h says.
Value StepEmitter::getPointer(ImplicitLocOpBuilder &b, Value buffer) {
  Value &pointer = pointers[buffer];
  if (pointer)
    return pointer;
  int64_t place = getPlace(buffer);
  auto scale = [&](int64_t floats, Value capacity) -> Value {
    return arith::MulIOp::create(b, makeNumber(b, floats), capacity);
  };
  Value offset;
  if (cast<BufferType>(buffer.getType()).getDomain() == ValueDomain::Rows)
    offset = scale(place, step.rowCapacity);
  else
    offset = arith::AddIOp::create(
        b,
        scale(static_cast<int64_t>(*planned.getRowFloats()), step.rowCapacity),
        scale(place, step.outputCapacity));
  pointer = LLVM::GEPOp::create(b, step.arena.getType(), b.getF32Type(),
                                step.arena, offset);
  return pointer;
}

Value StepEmitter::getVector(ImplicitLocOpBuilder &b, int64_t weight) {
  Value &vector = vectors[weight];
  if (!vector)
    vector = runtime.vector(b, step.step, makeNumber(b, weight));
  return vector;
}

std::pair<Value, Value> StepEmitter::getShare(ImplicitLocOpBuilder &b,
                                              ValueDomain domain) {
  std::pair<Value, Value> &share = shares[domain];
  if (share.first)
    return share;
  Value rows = getRows(domain);
  // rows * thread / threads: no two threads' shares differ by more than one.
  auto bound = [&](Value thread) -> Value {
    Value product = arith::MulIOp::create(b, rows, thread);
    Value row = arith::DivUIOp::create(b, product, step.threads);
    return arith::IndexCastOp::create(b, b.getIndexType(), row);
  };
  Value next = arith::AddIOp::create(b, step.thread, makeNumber(b, 1));
  share = {bound(step.thread), bound(next)};
  return share;
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// Moves what is used later, as far as the checkpoint has moved rows.
void StepEmitter::moveRows(ImplicitLocOpBuilder &b, ValueRange buffers) {
  for (Value buffer : buffers) {
    auto type = cast<BufferType>(buffer.getType());
    runtime.moveRows(b, step, getPointer(b, buffer), type.getFloats(),
                     type.getDomain() == ValueDomain::Outputs);
  }
  if (!buffers.empty())
    runtime.barrier(b, step);
}

void StepEmitter::emitCheckpoint(ImplicitLocOpBuilder &b,
                                 TaskCheckpointOp task) {
  Value living = runtime.checkpoint(b, step);
  auto compare = [&](arith::CmpIPredicate predicate, Value other) {
    return arith::CmpIOp::create(b, predicate, living, other);
  };
  Value isOver = compare(arith::CmpIPredicate::eq, makeNumber(b, 0));
  Block *next = b.createBlock(exit);
  b.setInsertionPointToEnd(next->getPrevNode());
  cf::CondBranchOp::create(b, isOver, exit, next);

  b.setInsertionPointToStart(next);
  // Before the branch, so that what follows can use them too.
  for (Value buffer : task.getBuffers())
    getPointer(b, buffer);
  Value hasFewer = compare(arith::CmpIPredicate::ne, step.rows);
  auto branch = scf::IfOp::create(b, b.getI64Type(), hasFewer,
                                  /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  moveRows(b, task.getBuffers());
  scf::YieldOp::create(b, runtime.outputs(b, step));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, step.outputs);
  b.setInsertionPointAfter(branch);
  step.rows = living;
  step.outputs = branch.getResult(0);
  shares.clear();
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

Value StepEmitter::getArgument(ImplicitLocOpBuilder &b,
                               KernelArgument argument) {
  switch (argument.kind) {
  case KernelArgument::Kind::Step:
    return step.step;
  case KernelArgument::Kind::Buffer:
    return getPointer(b, argument.buffer);
  case KernelArgument::Kind::Vector:
    return getVector(b, argument.index);
  case KernelArgument::Kind::Number:
    return makeNumber(b, argument.index);
  }
  llvm_unreachable("covered switch");
}

void StepEmitter::emitRowLoop(ImplicitLocOpBuilder &b, TaskRowsOp loop) {
  KernelCall call = kernels.getCall(loop);
  SmallVector<Value> operands;
  for (KernelArgument argument : call.arguments)
    operands.push_back(getArgument(b, argument));
  auto [begin, end] = getShare(b, loop.getDomain());
  operands.append({begin, end});
  func::CallOp::create(b, call.function, operands);
}

Value StepEmitter::getCache(ImplicitLocOpBuilder &b, Value cache) {
  auto index = static_cast<int64_t>(cache.getDefiningOp<CacheOp>().getIndex());
  return makeNumber(b, index);
}

void StepEmitter::emitProduct(ImplicitLocOpBuilder &b, TaskProductOp task) {
  Value input = getPointer(b, task.getInput());
  int64_t weight = weights.getIndex(task.getWeight(), WeightUseKind::Linear,
                                    task.getTransposed());
  Value bias;
  if (Value vector = task.getBias())
    bias = getVector(b, weights.getIndex(vector, WeightUseKind::Vector));
  else
    bias = LLVM::ZeroOp::create(b, step.arena.getType());
  Value index = makeNumber(b, weight);
  runtime.linear(b, step, index, input, bias, getPointer(b, task.getOutput()),
                 task.getFirstColumn(), task.getEndColumn(),
                 getRows(task.getDomain()));
}

void StepEmitter::emitAppend(ImplicitLocOpBuilder &b, TaskAppendOp task) {
  Value key = getPointer(b, task.getKey());
  Value value = getPointer(b, task.getValue());
  runtime.append(b, step, getCache(b, task.getCache()), key, value);
}

void StepEmitter::emitAttend(ImplicitLocOpBuilder &b, TaskAttendOp task) {
  Value query = getPointer(b, task.getQuery());
  Value key = getPointer(b, task.getKey());
  Value value = getPointer(b, task.getValue());
  Value cache = getCache(b, task.getCache());
  Value parameters = LLVM::AddressOfOp::create(b, attention.get(b, task));
  runtime.attend(b, step, cache, query, key, value,
                 getPointer(b, task.getOutput()), parameters);
}

void StepEmitter::emitExchange(ImplicitLocOpBuilder &b, TaskExchangeOp task) {
  auto widthOf = [](Value buffer) {
    return cast<BufferType>(buffer.getType()).getWidth();
  };
  Value input = getPointer(b, task.getInput());
  Value output = getPointer(b, task.getOutput());
  Value scratch = getPointer(b, task.getScratch());
  runtime.meet(b, step, task.getKind() == ExchangeKind::Gather, input, output,
               scratch, widthOf(task.getInput()), widthOf(task.getOutput()),
               getRows(task.getDomain()));
}
