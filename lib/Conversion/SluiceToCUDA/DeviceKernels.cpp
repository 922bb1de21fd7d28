//===- DeviceKernels.cpp - kernels for row loops ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"

#include "BlockEmitter.h"
#include "lib/Conversion/StepPlanning/TaskSignature.h"
#include "runtime/device/cuda/kernels/KernelABI.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

using Kind = KernelParameter::Kind;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

SmallVector<KernelParameter> DeviceKernels::getParameters(const Node &node) {
  SmallVector<KernelParameter> parameters;
  if (node.kind == Node::Kind::SelectOutputs)
    parameters.push_back({Kind::OutputRows, 0});
  if (node.kind == Node::Kind::Rope)
    parameters.append({{Kind::Positions, 0}, {Kind::RopeTable, node.index}});
  for (Value weight : node.getVectorWeights())
    parameters.push_back(
        {Kind::Vector, weights.getIndex(weight, WeightUseKind::Vector)});
  for (ArrayRef<unsigned> buffers :
       {ArrayRef<unsigned>(node.inputs), ArrayRef<unsigned>(node.outputs)})
    for (unsigned buffer : buffers)
      if (!schedule.inRegisters[buffer])
        parameters.push_back({Kind::Buffer, buffer});
  if (node.kind == Node::Kind::RowOperand && node.index > 0)
    parameters.append({{Kind::OperandSums, node.outputs.front()},
                       {Kind::OperandScales, node.outputs.front()}});
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

KernelLaunch DeviceKernels::getLaunch(const Task &task) {
  KernelLaunch launch;
  launch.parameters = getParameters(task);
  launch.shape = getShape(task, graph, schedule.inRegisters);
  auto getPlaces = [&](const Node &node) {
    return findPlaces<KernelParameter>(getParameters(node), launch.parameters);
  };
  gpu::GPUFuncOp &kernel =
      kernels[getSignature(task, graph, schedule, getPlaces)];
  if (!kernel)
    kernel = create(task, launch);
  launch.kernel = kernel;
  return launch;
}

//===----------------------------------------------------------------------===//
// Making a kernel
//===----------------------------------------------------------------------===//

/// Gives the code names for the vector weights behind its parameters.
static void bindVectors(ImplicitLocOpBuilder &b, const Task &task,
                        ArrayRef<KernelParameter> parameters,
                        ValueRange addresses, WeightUses &weights,
                        BlockOperands &operands) {
  for (const Node *node : task.nodes)
    for (Value weight : node->getVectorWeights()) {
      if (operands.vectors.contains(weight))
        continue;
      KernelParameter parameter{
          Kind::Vector, weights.getIndex(weight, WeightUseKind::Vector)};
      auto place = llvm::find(parameters, parameter) - parameters.begin();
      auto shape = cast<RankedTensorType>(weight.getType()).getShape();
      operands.vectors[weight] =
          ViewOp::create(b, MemRefType::get(shape, b.getF32Type()),
                         addresses[place], ValueRange());
    }
}

/// The numbers of operand rows. Those of f32 are the rows themselves.
static Type getElement(Builder &b, const Buffer &operand) {
  bool isHalf = static_cast<OperandKind>(operand.format) == OperandKind::F16;
  return isHalf ? Type(b.getF16Type()) : b.getBF16Type();
}

/// Gives it names for the rest.
static void bindRows(ImplicitLocOpBuilder &b,
                     ArrayRef<KernelParameter> parameters,
                     const KernelModule::Frame &frame, const StepGraph &graph,
                     BlockOperands &operands) {
  auto view = [&](Value address, ArrayRef<int64_t> shape, Type element) {
    return ViewOp::create(b, MemRefType::get(shape, element), address,
                          frame.rows);
  };
  constexpr int64_t any = ShapedType::kDynamic;
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  for (auto [parameter, address] :
       llvm::zip_equal(parameters, frame.parameters)) {
    int64_t index = parameter.index;
    switch (parameter.kind) {
    case Kind::Count:
    case Kind::Vector:
      break;
    case Kind::Buffer: {
      const Buffer &buffer = graph.buffers[index];
      if (buffer.kind == Buffer::Kind::Operand)
        operands.operandRows[index].rows =
            view(address, {any, buffer.width}, getElement(b, buffer));
      else
        operands.rows[index] = view(address, {any, buffer.width}, f32);
      break;
    }
    case Kind::OperandSums:
      operands.operandRows[index].sums = view(
          address,
          {any, graph.buffers[index].width / sluice::cuda::operandBlock}, f32);
      break;
    case Kind::OperandScales:
      operands.operandRows[index].scales = view(address, {any}, f32);
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
}

/// What a row loop does with each of its parameters.
static SmallVector<ParameterUse> getUses(const Task &task,
                                         ArrayRef<KernelParameter> parameters) {
  auto reads = [&](unsigned buffer) {
    return llvm::any_of(task.nodes, [&](const Node *node) {
      return llvm::is_contained(node->inputs, buffer);
    });
  };
  return llvm::map_to_vector(parameters, [&](const KernelParameter &parameter) {
    switch (parameter.kind) {
    case Kind::Buffer:
      return reads(parameter.index) ? ParameterUse::Rows : ParameterUse::Result;
    case Kind::Vector:
    case Kind::RopeTable:
      return ParameterUse::Constant;
    case Kind::OperandSums:
    case Kind::OperandScales:
      return ParameterUse::Result;
    default:
      return ParameterUse::Number;
    }
  });
}

gpu::GPUFuncOp DeviceKernels::create(const Task &task,
                                     const KernelLaunch &launch) {
  MLIRContext *context = task.nodes.front()->op->getContext();
  SmallVector<Location> locations;
  std::string name = "rows";
  for (const Node *node : task.nodes) {
    locations.push_back(node->op->getLoc());
    name += "_" + getMnemonic(*node).str();
  }
  int64_t warps = launch.shape.threads / warpThreads;
  SmallVector<ParameterUse> uses = getUses(task, launch.parameters);
  BlockOperands operands;
  std::optional<BlockEmitter> emitter;
  HeldRows held = findHeld(task, graph, launch.shape);
  return kernels.create(
      {.loc = FusedLoc::get(context, locations),
       .name = name,
       .parameters = uses,
       .shape = launch.shape,
       .sharedWords = warps > 1 ? warps * countReductions(task.items) : 0,
       .word = Float32Type::get(context)},
      [&](ImplicitLocOpBuilder &b, KernelModule::Frame &frame) {
        bindVectors(b, task, launch.parameters, frame.parameters, weights,
                    operands);
        emitter.emplace(b, frame.code, graph, schedule.inRegisters, held,
                        operands);
        emitter->emitEarly(task.items);
      },
      [&](ImplicitLocOpBuilder &b, KernelModule::Frame &frame) {
        bindRows(b, launch.parameters, frame, graph, operands);
        emitter->emit(task.items, frame.row);
      });
}
