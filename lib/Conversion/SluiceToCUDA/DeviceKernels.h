//===- DeviceKernels.h - kernels for row loops --------------------------===//
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

/// A parameter of a kernel, in all cases an address.
struct KernelParameter {
  enum class Kind {
    Count,         // how many rows or outputs there are
    Buffer,        // the start of `buffer`
    OperandSums,   // of the blocks of the operand in `buffer`
    OperandScales, // of its rows
    Vector,        // a vector weight's start; `index` as WeightUses numbers it
    RopeTable,     // a table of all positions; `index` is the table's
    Positions,     // of the rows
    OutputRows,    // the row of each output
  };
  Kind kind;
  int64_t index = 0;
  mlir::Value buffer = {};

  bool operator==(const KernelParameter &) const = default;
};

/// A kernel and what it is to be launched with.
struct KernelLaunch {
  mlir::gpu::GPUFuncOp kernel;
  RowShape shape;
  llvm::SmallVector<KernelParameter> parameters;
};

/// What a kernel does with the memory behind a parameter.
enum class ParameterUse {
  Number,   // reads a number, or one for each row
  Rows,     // reads what kernels before it wrote, or passes it between threads
  Constant, // reads what no kernel writes
  Result,   // writes, and never reads
};

/// The kernels of a module, which its programs share.
class KernelModule {
public:
  explicit KernelModule(mlir::gpu::GPUModuleOp module)
      : module(module), symbols(module) {}

  /// The kernel of this signature; null where there is none yet.
  mlir::gpu::GPUFuncOp &operator[](llvm::StringRef signature) {
    return kernels[signature];
  }
  unsigned size() const { return kernels.size(); }
  mlir::SymbolRefAttr getName(mlir::gpu::GPUFuncOp kernel);

  /// A kernel to be made.
  struct Plan {
    mlir::Location loc;
    std::string name;
    /// Addresses, the first of which is that of the number of rows.
    llvm::ArrayRef<ParameterUse> parameters;
    RowShape shape;
    int64_t sharedWords; // numbers of 32 bits in shared memory
    mlir::Type word;     // which they are
  };

  /// What the code of a thread refers to.
  struct Frame {
    mlir::ValueRange parameters;
    mlir::Value rows; // index: how many there are; null before they are known
    mlir::Value row;  // index: the thread's
    mlir::Value part; // index: the block's number among those of its row
    BlockCode &code;
  };

  using Body =
      llvm::function_ref<void(mlir::ImplicitLocOpBuilder &b, Frame &frame)>;

  /// Makes a kernel whose threads do for a row that there is what `body` emits.
  /// What `early` emits they do before they wait for the kernel before, so of
  /// memory it may touch constants only.
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
