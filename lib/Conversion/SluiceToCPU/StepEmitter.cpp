//===- StepEmitter.cpp - the step function --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sluice::ir;
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

unsigned StepEmitter::emit(Location loc, StringRef name,
                           ArrayRef<unsigned> intervals) {
  func::FuncOp function = createFunction(loc, name);
  ImplicitLocOpBuilder b(loc, function.getContext());
  if (graph.checkpoints > 0) {
    exit = function.addBlock();
    b.setInsertionPointToStart(exit);
    func::ReturnOp::create(b);
  }
  b.setInsertionPointToStart(&function.getBody().front());
  unsigned interval = 0, barriers = 0;
  bool isOrdered = false; // by the checkpoint before
  for (auto [task, taskInterval] : llvm::zip_equal(schedule.tasks, intervals)) {
    b.setLoc(task.nodes.front()->op->getLoc());
    if (taskInterval != interval && !isOrdered && !task.isCheckpoint()) {
      runtime.barrier(b, step);
      ++barriers;
    }
    interval = taskInterval;
    isOrdered = task.isCheckpoint();
    if (task.isRowLoop())
      emitRowLoop(b, task);
    else if (task.isCheckpoint())
      emitCheckpoint(b, *task.nodes.front());
    else
      emitCall(b, *task.nodes.front());
  }
  func::ReturnOp::create(b);
  return barriers;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// A buffer's start, as ProgramABI.h says.
Value StepEmitter::getPointer(ImplicitLocOpBuilder &b, unsigned buffer) {
  Value &pointer = pointers[buffer];
  if (pointer)
    return pointer;
  Domain domain = graph.buffers[buffer].domain;
  int64_t place = layout[domain].offsets[buffer];
  auto scale = [&](int64_t floats, Value capacity) -> Value {
    return arith::MulIOp::create(b, makeNumber(b, floats), capacity);
  };
  Value offset;
  if (domain == Domain::Rows)
    offset = scale(place, step.rowCapacity);
  else
    offset = arith::AddIOp::create(
        b, scale(layout.rows.floatsPerRow, step.rowCapacity),
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
                                              Domain domain) {
  std::pair<Value, Value> &share = shares[domain];
  if (share.first)
    return share;
  Value rows = domain == Domain::Rows ? step.rows : step.outputs;
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
void StepEmitter::moveRows(ImplicitLocOpBuilder &b, const Node &node) {
  for (unsigned index : node.inputs) {
    const Buffer &buffer = graph.buffers[index];
    runtime.moveRows(b, step, getPointer(b, index), buffer.floatsPerRow,
                     buffer.domain == Domain::Outputs);
  }
  if (!node.inputs.empty())
    runtime.barrier(b, step);
}

void StepEmitter::emitCheckpoint(ImplicitLocOpBuilder &b, const Node &node) {
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
  for (unsigned buffer : node.inputs)
    getPointer(b, buffer);
  Value hasFewer = compare(arith::CmpIPredicate::ne, step.rows);
  auto branch = scf::IfOp::create(b, b.getI64Type(), hasFewer,
                                  /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  moveRows(b, node);
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
    return getPointer(b, argument.index);
  case KernelArgument::Kind::Vector:
    return getVector(b, argument.index);
  case KernelArgument::Kind::Number:
    return makeNumber(b, argument.index);
  }
  llvm_unreachable("covered switch");
}

void StepEmitter::emitRowLoop(ImplicitLocOpBuilder &b, const Task &task) {
  KernelCall call = kernels.getCall(task);
  SmallVector<Value> operands;
  for (KernelArgument argument : call.arguments)
    operands.push_back(getArgument(b, argument));
  auto [begin, end] = getShare(b, task.domain);
  operands.append({begin, end});
  func::CallOp::create(b, call.function, operands);
}

void StepEmitter::emitCall(ImplicitLocOpBuilder &b, const Node &node) {
  SmallVector<Value> inputs;
  for (unsigned input : node.inputs)
    if (graph.buffers[input].kind != Buffer::Kind::Cache)
      inputs.push_back(getPointer(b, input));
  auto output = [&] { return getPointer(b, node.outputs.front()); };
  Value rows = node.domain == Domain::Rows ? step.rows : step.outputs;

  if (node.kind == Node::Kind::AllReduce || node.kind == Node::Kind::AllGather)
    return runtime.meet(b, step, node.kind == Node::Kind::AllGather, inputs[0],
                        output(), getPointer(b, node.outputs[1]),
                        graph.buffers[node.inputs.front()].width,
                        graph.buffers[node.outputs.front()].width, rows);
  if (auto linear = dyn_cast<LinearOp>(node.op)) {
    int64_t weight = weights.getIndex(linear.getWeight(), WeightUseKind::Linear,
                                      linear.getTransposed());
    Value bias;
    if (Value vector = linear.getBias())
      bias = getVector(b, weights.getIndex(vector, WeightUseKind::Vector));
    else
      bias = LLVM::ZeroOp::create(b, step.arena.getType());
    runtime.linear(b, step, makeNumber(b, weight), inputs[0], bias, output(),
                   linear.getFirstColumn(), linear.getEndColumn(), rows);
    return;
  }
  Value cache = makeNumber(b, node.index);
  if (node.kind == Node::Kind::Append) {
    runtime.append(b, step, cache, inputs[0], inputs[1]);
    return;
  }
  Value parameters =
      LLVM::AddressOfOp::create(b, attention.get(b, cast<AttendOp>(node.op)));
  runtime.attend(b, step, cache, inputs[0], inputs[1], inputs[2], output(),
                 parameters);
}
