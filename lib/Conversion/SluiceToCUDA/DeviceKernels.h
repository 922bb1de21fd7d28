//===- DeviceKernels.h - the kernels of row loops -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H

#include "BlockCode.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"

namespace sluice::tocuda {

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
  /// Returns what a task says of its kernel. `heads` is as in Plan.
  ir::KernelAttr getAttribute(mlir::gpu::GPUFuncOp kernel, RowShape shape,
                              int64_t heads = 1);

  /// Describes a kernel to be made.
  struct Plan {
    mlir::Location loc;
    std::string name;
    /// The uses of the addresses; the first is the address of the number of
    /// rows.
    llvm::ArrayRef<ParameterUse> parameters;
    RowShape shape;
    /// The number of equal parts of a row, each of which the kernel treats as a
    /// row of its own. If there are several, the shape has one block.
    int64_t heads = 1;
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

/// Returns the kernel of a row loop. Equal row loops share one, which is made
/// for the first of them.
ir::KernelAttr getRowKernel(KernelModule &kernels, ir::TaskRowsOp loop);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H
