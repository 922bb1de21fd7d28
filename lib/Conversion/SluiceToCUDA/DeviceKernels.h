//===- DeviceKernels.h - the kernels of row loops -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H

#include "BlockCode.h"
#include "lib/Conversion/StepPlanning/WeightUses.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"

namespace sluice::tocuda {

using namespace planning;

/// A parameter of a kernel; each is an address.
struct KernelParameter {
  enum class Kind {
    Count,         // the number of rows or outputs
    Buffer,        // the start of `buffer`
    OperandSums,   // sums of the blocks of the operand in `buffer`
    OperandScales, // scales of the rows of the operand in `buffer`
    Vector, // the start of a vector weight; `index` is its number in WeightUses
    RopeTable,  // a table of all positions; `index` is the table's number
    Positions,  // the positions of the rows
    OutputRows, // the row of each output
  };
  Kind kind;
  int64_t index = 0;
  mlir::Value buffer = {};

  bool operator==(const KernelParameter &) const = default;
};

/// A kernel and the arguments of its launch.
struct KernelLaunch {
  mlir::gpu::GPUFuncOp kernel;
  RowShape shape;
  llvm::SmallVector<KernelParameter> parameters;
};

/// What a kernel does with the memory behind a parameter.
enum class ParameterUse {
  Number,   // reads one number, or one for each row
  Rows,     // reads what earlier kernels wrote, or passes data between threads
  Constant, // reads what no kernel writes
  Result,   // writes and never reads
};

/// The kernels of a module, which its programs share.
class KernelModule {
public:
  explicit KernelModule(mlir::gpu::GPUModuleOp module)
      : module(module), symbols(module) {}

  /// Returns the kernel of this signature, or null if it has not been made yet.
  mlir::gpu::GPUFuncOp &operator[](llvm::StringRef signature) {
    return kernels[signature];
  }
  unsigned size() const { return kernels.size(); }
  mlir::SymbolRefAttr getName(mlir::gpu::GPUFuncOp kernel);

  /// Describes a kernel to be made.
  struct Plan {
    mlir::Location loc;
    std::string name;
    /// The uses of the addresses; the first is the address of the number of
    /// rows.
    llvm::ArrayRef<ParameterUse> parameters;
    RowShape shape;
    int64_t sharedWords; // 32-bit numbers in shared memory
    mlir::Type word;     // their type
  };

  /// The values that a thread's code refers to.
  struct Frame {
    mlir::ValueRange parameters;
    mlir::Value rows; // index: the number of rows; null before it is known
    mlir::Value row;  // index: the thread's row
    mlir::Value part; // index: the block's number among the blocks of its row
    BlockCode &code;
  };

  using Body =
      llvm::function_ref<void(mlir::ImplicitLocOpBuilder &b, Frame &frame)>;

  /// Makes a kernel whose threads run the code of `body` if their row exists.
  /// They run the code of `early` before they wait for the previous kernel, so
  /// that code may access only constants in memory.
  mlir::gpu::GPUFuncOp create(const Plan &plan, Body early, Body body);

private:
  mlir::gpu::GPUModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::gpu::GPUFuncOp> kernels;
};

/// Finds or makes the kernel of each row loop of a step.
class DeviceKernels {
public:
  DeviceKernels(KernelModule &kernels, WeightUses &weights)
      : kernels(kernels), weights(weights) {}

  KernelLaunch getLaunch(ir::TaskRowsOp loop);

private:
  llvm::SmallVector<KernelParameter> getParameters(ir::TaskRowsOp loop,
                                                   mlir::Operation *op);
  llvm::SmallVector<KernelParameter> getParameters(ir::TaskRowsOp loop);
  mlir::gpu::GPUFuncOp create(ir::TaskRowsOp loop, const KernelLaunch &launch);

  KernelModule &kernels;
  WeightUses &weights;
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H
