//===- DeviceKernels.h - kernels for row loops --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H

#include "lib/Conversion/StepPlanning/StepSchedule.h"
#include "lib/Conversion/StepPlanning/WeightUses.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"

namespace sluice::tocuda {

using namespace planning;

/// A parameter of a kernel, in all cases an address.
struct KernelParameter {
  enum class Kind {
    Count,      // how many rows or outputs there are
    Buffer,     // a buffer's start; `index` is the buffer
    Vector,     // a vector weight's start; `index` as WeightUses numbers it
    RopeTable,  // a table of all positions; `index` is the table's
    Positions,  // of the rows
    OutputRows, // the row of each output
  };
  Kind kind;
  int64_t index;

  bool operator==(const KernelParameter &) const = default;
};

/// A kernel and what it is to be launched with.
struct KernelLaunch {
  mlir::gpu::GPUFuncOp kernel;
  int64_t threads;
  llvm::SmallVector<KernelParameter> parameters;
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

  /// Emits for `row`, an index, what a block of `threads` threads, of which
  /// `thread` is one, does for it. `shared` is shared memory, or null.
  using Body = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &b,
                                       mlir::ValueRange parameters,
                                       mlir::Value rows, mlir::Value row,
                                       mlir::Value thread, mlir::Value shared)>;

  /// Makes a kernel of `parameters` addresses, the first of which is that of
  /// the number of rows, and of `sharedWords` numbers of the type `word` in
  /// shared memory.
  mlir::gpu::GPUFuncOp create(mlir::Location loc, llvm::StringRef name,
                              unsigned parameters, int64_t threads,
                              int64_t sharedWords, mlir::Type word, Body body);

private:
  mlir::gpu::GPUModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::gpu::GPUFuncOp> kernels;
};

/// Finds or makes the kernel of each row loop of a step.
class DeviceKernels {
public:
  DeviceKernels(KernelModule &kernels, const StepGraph &graph,
                const StepSchedule &schedule, WeightUses &weights)
      : kernels(kernels), graph(graph), schedule(schedule), weights(weights) {}

  KernelLaunch getLaunch(const Task &task);

  /// The kernel that finds the token of greatest logit. Its parameters are the
  /// count, the logits and the tokens.
  std::pair<mlir::gpu::GPUFuncOp, int64_t> getGreedy(mlir::Location loc,
                                                     int64_t vocabulary);

private:
  llvm::SmallVector<KernelParameter> getParameters(const Node &node);
  llvm::SmallVector<KernelParameter> getParameters(const Task &task);
  mlir::gpu::GPUFuncOp create(const Task &task, int64_t threads,
                              llvm::ArrayRef<KernelParameter> parameters);

  KernelModule &kernels;
  const StepGraph &graph;
  const StepSchedule &schedule;
  WeightUses &weights;
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_DEVICEKERNELS_H
