//===- DeviceKernels.cpp - kernels for row loops ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"

#include "BlockEmitter.h"
#include "lib/Conversion/StepPlanning/TaskSignature.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

using Kind = KernelParameter::Kind;

/// Threads of a row's block, at most.
static constexpr int64_t mostThreads = 512;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

SmallVector<KernelParameter> DeviceKernels::getParameters(const Node &node) {
  SmallVector<KernelParameter> parameters;
  if (node.kind == Node::Kind::SelectOutputs)
    parameters.push_back({Kind::OutputRows, 0});
  if (node.kind == Node::Kind::Rope)
    parameters.append({{Kind::Positions, 0}, {Kind::RopeTable, node.index}});
  if (node.kind == Node::Kind::Columns)
    for (Value operand : node.op->getOperands())
      if (isVectorWeight(operand.getType()))
        parameters.push_back(
            {Kind::Vector, weights.getIndex(operand, WeightUseKind::Vector)});
  for (ArrayRef<unsigned> buffers :
       {ArrayRef<unsigned>(node.inputs), ArrayRef<unsigned>(node.outputs)})
    for (unsigned buffer : buffers)
      if (!schedule.inRegisters[buffer])
        parameters.push_back({Kind::Buffer, buffer});
  return parameters;
}

SmallVector<KernelParameter> DeviceKernels::getParameters(const Task &task) {
  SmallVector<KernelParameter> parameters = {{Kind::Count, 0}};
  for (const Node *node : task.nodes)
    for (KernelParameter parameter : getParameters(*node))
      if (!llvm::is_contained(parameters, parameter))
        parameters.push_back(parameter);
  return parameters;
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

/// The columns of a task's widest item.
static int64_t getWidth(const Task &task, const StepGraph &graph) {
  int64_t width = 1;
  for (const LoopItem &item : task.items) {
    width = std::max(width, item.width);
    if (item.node)
      for (unsigned output : item.node->outputs)
        width = std::max(width, graph.buffers[output].width);
  }
  return width;
}

KernelLaunch DeviceKernels::getLaunch(const Task &task) {
  KernelLaunch launch;
  launch.parameters = getParameters(task);
  launch.threads = getThreads(getWidth(task, graph), mostThreads);
  auto getPlaces = [&](const Node &node) {
    return findPlaces<KernelParameter>(getParameters(node), launch.parameters);
  };
  gpu::GPUFuncOp &kernel =
      kernels[getSignature(task, graph, schedule, getPlaces)];
  if (!kernel)
    kernel = create(task, launch.threads, launch.parameters);
  launch.kernel = kernel;
  return launch;
}

//===----------------------------------------------------------------------===//
// Making a kernel
//===----------------------------------------------------------------------===//

/// Gives the code names for the memory behind its parameters.
static BlockOperands bindOperands(ImplicitLocOpBuilder &b, const Task &task,
                                  ArrayRef<KernelParameter> parameters,
                                  ValueRange addresses, Value rows,
                                  const StepGraph &graph, WeightUses &weights) {
  BlockOperands operands;
  auto view = [&](Value address, ArrayRef<int64_t> shape, Type element) {
    SmallVector<Value> sizes;
    if (ShapedType::isDynamic(shape.front()))
      sizes.push_back(rows);
    return ViewOp::create(b, MemRefType::get(shape, element), address, sizes);
  };
  constexpr int64_t any = ShapedType::kDynamic;
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  DenseMap<int64_t, Value> vectors;
  for (auto [parameter, address] : llvm::zip_equal(parameters, addresses)) {
    int64_t index = parameter.index;
    switch (parameter.kind) {
    case Kind::Count:
      break;
    case Kind::Buffer:
      operands.rows[index] =
          view(address, {any, graph.buffers[index].width}, f32);
      break;
    case Kind::Vector:
      vectors[index] = address;
      break;
    case Kind::RopeTable: {
      auto table = cast<RopeTableAttr>(graph.ropeTables[index]);
      int64_t rotary = 2 * table.getInverse().size();
      operands.ropeTables[index] = view(address, {any, rotary}, f32);
      break;
    }
    case Kind::Positions:
      operands.positions = view(address, {any}, i32);
      break;
    case Kind::OutputRows:
      operands.outputRows = view(address, {any}, i32);
      break;
    }
  }
  for (const Node *node : task.nodes) {
    if (node->kind != Node::Kind::Columns)
      continue;
    for (Value operand : node->op->getOperands()) {
      if (!isVectorWeight(operand.getType()) ||
          operands.vectors.contains(operand))
        continue;
      auto shape = cast<RankedTensorType>(operand.getType()).getShape();
      int64_t index = weights.getIndex(operand, WeightUseKind::Vector);
      operands.vectors[operand] = view(vectors.at(index), shape, f32);
    }
  }
  return operands;
}

gpu::GPUFuncOp DeviceKernels::create(const Task &task, int64_t threads,
                                     ArrayRef<KernelParameter> parameters) {
  MLIRContext *context = task.nodes.front()->op->getContext();
  SmallVector<Location> locations;
  std::string name = "rows";
  for (const Node *node : task.nodes) {
    locations.push_back(node->op->getLoc());
    name += "_" + getMnemonic(*node).str();
  }
  int64_t warps = threads / warpThreads;
  int64_t sharedWords =
      warps > 1 ? warps * BlockEmitter::countSums(task.items) : 0;
  return kernels.create(
      FusedLoc::get(context, locations), name, parameters.size(), threads,
      sharedWords, Float32Type::get(context),
      [&](ImplicitLocOpBuilder &b, ValueRange addresses, Value rows, Value row,
          Value thread, Value shared) {
        BlockOperands operands =
            bindOperands(b, task, parameters, addresses, rows, graph, weights);
        BlockCode code(b, threads, thread, shared);
        BlockEmitter(b, code, graph, schedule.inRegisters, operands)
            .emit(task.items, row);
      });
}
