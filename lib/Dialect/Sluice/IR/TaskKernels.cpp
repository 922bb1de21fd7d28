//===- TaskKernels.cpp - checks of the kernels that tasks name ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskKernels.h"

#include "KernelMemory.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// KernelAttr
//===----------------------------------------------------------------------===//

LogicalResult KernelAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 SymbolRefAttr function, int64_t threads,
                                 int64_t blocks) {
  bool isNested = !function.getNestedReferences().empty();
  // kernel_c1
  if (!isNested && (threads != 0 || blocks != 0))
    return emitError() << function
                       << " is a function of a CPU, which has no threads and "
                          "blocks";
  // kernel_c2
  if (isNested && (threads < 1 || blocks < 1))
    return emitError() << "the kernel " << function << " has " << threads
                       << " threads and " << blocks << " blocks";
  return success();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

template <typename Op> static bool contains(TaskRowsOp loop) {
  return llvm::any_of(loop.getRowOps(),
                      [](Operation &op) { return isa<Op>(op); });
}

SmallVector<KernelParameter> sluice::ir::getKernelParameters(TaskRowsOp loop) {
  using Kind = KernelParameter::Kind;
  SmallVector<KernelParameter> parameters = {{Kind::Count}};
  for (OpOperand &operand : loop->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    parameters.push_back({Kind::Operand, number});
    auto buffer = dyn_cast<BufferType>(operand.get().getType());
    OperandAttr format = buffer ? buffer.getOperand() : OperandAttr();
    if (format && format.getFormat() == OperandFormat::F16)
      parameters.append(
          {{Kind::OperandSums, number}, {Kind::OperandScales, number}});
  }
  if (contains<RotationsOp>(loop))
    parameters.push_back({Kind::Positions});
  if (contains<SelectOutputsOp>(loop))
    parameters.push_back({Kind::OutputRows});
  return parameters;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult verifyShape(Operation *task, KernelAttr kernel,
                                 gpu::GPUFuncOp function) {
  int64_t threads = kernel.getThreads(), blocks = kernel.getBlocks();
  if (threads < 32 || threads > 1024 || !llvm::isPowerOf2_64(threads))
    return task->emitOpError("has a kernel of ")
           << threads << " threads, not a power of two from 32 to 1024";
  DenseI32ArrayAttr known = function.getKnownBlockSizeAttr();
  if (known && known[0] != threads)
    return task->emitOpError("launches ")
           << kernel.getFunction() << " with " << threads
           << " threads, not its " << known[0];
  auto ofRow = function->getAttrOfType<IntegerAttr>(rowBlocksAttrName);
  if (int64_t wanted = ofRow ? ofRow.getInt() : 1; blocks != wanted)
    return task->emitOpError("launches ")
           << kernel.getFunction() << " with " << blocks
           << " blocks a row, not its " << wanted;
  return success();
}

/// Returns the floats of a record in the memory behind a kernel's parameter,
/// according to the parameter's views, or 0 if it has no view.
static int64_t getRecordFloats(Value parameter) {
  constexpr int64_t floatBits = 32;
  int64_t floats = 0;
  for (Operation *user : parameter.getUsers()) {
    auto view = dyn_cast<ViewOp>(user);
    if (!view)
      continue;
    auto type = cast<MemRefType>(view.getResult().getType());
    int64_t bits = type.getElementTypeBitWidth();
    for (int64_t size : type.getShape())
      bits *= ShapedType::isDynamic(size) ? 1 : size;
    floats = std::max<int64_t>(floats, llvm::divideCeil(bits, floatBits));
  }
  return floats;
}

static LogicalResult verifyGpuKernel(Operation *task, KernelAttr kernel,
                                     Operation *symbol,
                                     ArrayRef<TaskMemory> memory) {
  auto function = dyn_cast_or_null<gpu::GPUFuncOp>(symbol);
  if (!function && isa_and_nonnull<LLVM::LLVMFuncOp>(symbol)) // lowered
    return success();
  if (!function || !function.isKernel())
    return task->emitOpError("launches ")
           << kernel.getFunction() << ", which is not a kernel";
  if (function.getNumArguments() != memory.size() ||
      !llvm::all_of(function.getArgumentTypes(),
                    [](Type type) { return isa<LLVM::LLVMPointerType>(type); }))
    return task->emitOpError("launches ")
           << kernel.getFunction() << ", which does not take its "
           << memory.size() << " addresses";
  if (failed(verifyShape(task, kernel, function)))
    return failure();
  ParameterAccesses accesses(function);
  for (auto [number, given] : llvm::enumerate(memory)) {
    if (!given.isConstant && accesses.mayBeConstant(number))
      return task->emitOpError("gives memory that changes as the parameter ")
             << number << " of " << kernel.getFunction()
             << ", which reads it as a weight or table";
    if (int64_t floats = getRecordFloats(function.getArgument(number));
        given.floats != 0 && floats > given.floats)
      return task->emitOpError("gives records of ")
             << given.floats << " floats as the parameter " << number << " of "
             << kernel.getFunction() << ", which takes " << floats;
  }
  if (function.getBody().front().getOps<WaitForPriorOp>().empty())
    return task->emitOpError("launches ")
           << kernel.getFunction()
           << ", which does not wait for the kernel before";
  return success();
}

LogicalResult sluice::ir::verifyKernel(Operation *task, KernelAttr kernel,
                                       ArrayRef<TaskMemory> memory,
                                       SymbolTableCollection &symbols) {
  SymbolRefAttr name = kernel.getFunction();
  if (!kernel.isForGpu()) {
    if (isa_and_nonnull<FunctionOpInterface>(
            symbols.lookupNearestSymbolFrom(task, name)))
      return success();
    return task->emitOpError() << "has the kernel " << name
                               << ", which is no function of the module";
  }
  auto module = symbols.lookupNearestSymbolFrom<gpu::GPUModuleOp>(
      task, name.getRootReference());
  if (!module) // it has been lowered
    return success();
  return verifyGpuKernel(task, kernel,
                         symbols.lookupNearestSymbolFrom(task, name), memory);
}
