//===- RowKernels.cpp - functions for row loops ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernels.h"

#include "RowEmitter.h"
#include "lib/Conversion/StepPlanning/TaskSignature.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocpu;

using ArgumentKind = KernelArgument::Kind;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

SmallVector<KernelArgument> RowKernels::getArguments(const Node &node) {
  SmallVector<KernelArgument> arguments;
  switch (node.kind) {
  case Node::Kind::Embed: {
    Value table = cast<EmbedOp>(node.op).getTable();
    arguments = {
        {ArgumentKind::Step, 0},
        {ArgumentKind::Number, weights.getIndex(table, WeightUseKind::Rows)}};
    break;
  }
  case Node::Kind::RopeTable:
    arguments = {{ArgumentKind::Step, 0}, {ArgumentKind::Number, node.index}};
    break;
  case Node::Kind::Receive:
  case Node::Kind::Send:
  case Node::Kind::SelectOutputs:
  case Node::Kind::Operand:
    arguments = {{ArgumentKind::Step, 0}};
    break;
  case Node::Kind::Columns:
    for (Value weight : node.getVectorWeights())
      arguments.push_back({ArgumentKind::Vector,
                           weights.getIndex(weight, WeightUseKind::Vector)});
    break;
  default:
    break;
  }
  for (ArrayRef<unsigned> buffers :
       {ArrayRef<unsigned>(node.inputs), ArrayRef<unsigned>(node.outputs)})
    for (unsigned buffer : buffers)
      if (!schedule.inRegisters[buffer])
        arguments.push_back({ArgumentKind::Buffer, buffer});
  return arguments;
}

SmallVector<KernelArgument> RowKernels::getArguments(const Task &task) {
  SmallVector<KernelArgument> arguments;
  for (const Node *node : task.nodes)
    for (KernelArgument argument : getArguments(*node))
      if (!llvm::is_contained(arguments, argument))
        arguments.push_back(argument);
  return arguments;
}

KernelCall RowKernels::getCall(const Task &task) {
  KernelCall call;
  call.arguments = getArguments(task);
  auto getPlaces = [&](const Node &node) {
    return findPlaces<KernelArgument>(getArguments(node), call.arguments);
  };
  func::FuncOp &function =
      kernels[getSignature(task, graph, schedule, getPlaces)];
  if (!function)
    function = create(task, call.arguments);
  call.function = function;
  return call;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Fills in what the body refers to: pointers as they are passed, and views of
/// them that have rows and columns.
static RowOperands bindOperands(ImplicitLocOpBuilder &b, const Task &task,
                                ArrayRef<KernelArgument> arguments,
                                Block &entry, const StepGraph &graph,
                                WeightUses &weights) {
  RowOperands operands;
  Value end = entry.getArguments().back();
  DenseMap<int64_t, Value> numbers, vectors;
  for (auto [argument, value] : llvm::zip(arguments, entry.getArguments())) {
    switch (argument.kind) {
    case ArgumentKind::Step:
      operands.step = value;
      break;
    case ArgumentKind::Number:
      numbers[argument.index] = value;
      break;
    case ArgumentKind::Vector:
      vectors[argument.index] = value;
      break;
    case ArgumentKind::Buffer: {
      operands.pointers[argument.index] = value;
      const Buffer &buffer = graph.buffers[argument.index];
      if (buffer.kind != Buffer::Kind::Floats)
        break;
      auto type =
          MemRefType::get({ShapedType::kDynamic, buffer.width}, b.getF32Type());
      operands.rows[argument.index] = ViewOp::create(b, type, value, end);
      break;
    }
    }
  }

  for (const Node *node : task.nodes) {
    if (node->kind == Node::Kind::RopeTable)
      operands.numbers[node] = numbers.at(node->index);
    if (auto embed = dyn_cast<EmbedOp>(node->op))
      operands.numbers[node] =
          numbers.at(weights.getIndex(embed.getTable(), WeightUseKind::Rows));
    for (Value weight : node->getVectorWeights()) {
      if (operands.vectors.contains(weight))
        continue;
      auto shape = cast<RankedTensorType>(weight.getType()).getShape();
      auto type = MemRefType::get(shape, b.getF32Type());
      int64_t index = weights.getIndex(weight, WeightUseKind::Vector);
      operands.vectors[weight] =
          ViewOp::create(b, type, vectors.at(index), ValueRange());
    }
  }
  return operands;
}

func::FuncOp RowKernels::create(const Task &task,
                                ArrayRef<KernelArgument> arguments) {
  MLIRContext *context = symbols.getOp()->getContext();
  SmallVector<Location> locations;
  std::string name = "rows";
  for (const Node *node : task.nodes) {
    locations.push_back(node->op->getLoc());
    name += "_" + getMnemonic(*node).str();
  }
  ImplicitLocOpBuilder b(FusedLoc::get(context, locations), context);

  SmallVector<Type> inputs;
  for (KernelArgument argument : arguments) {
    if (argument.kind == ArgumentKind::Number)
      inputs.push_back(b.getI64Type());
    else
      inputs.push_back(LLVM::LLVMPointerType::get(context));
  }
  inputs.append(2, b.getIndexType());
  b.setInsertionPointToEnd(cast<ModuleOp>(symbols.getOp()).getBody());
  auto function = func::FuncOp::create(b, name, b.getFunctionType(inputs, {}));
  function.setPrivate();
  function->setAttr("llvm.linkage",
                    LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  // Called from many layers; inlined, their code would be as many copies.
  function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
  symbols.insert(function);

  Block &entry = *function.addEntryBlock();
  b.setInsertionPointToStart(&entry);
  RowOperands operands =
      bindOperands(b, task, arguments, entry, graph, weights);
  Value begin = entry.getArgument(arguments.size());
  Value end = entry.getArgument(arguments.size() + 1);
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, begin, end, one);
  func::ReturnOp::create(b);
  b.setInsertionPointToStart(loop.getBody());
  RowEmitter(b, graph, schedule.inRegisters, runtime, operands, lanes)
      .emit(task.items, loop.getInductionVar());
  return function;
}
