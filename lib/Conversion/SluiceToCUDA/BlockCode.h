//===- BlockCode.h - pieces of code for a block of threads --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A block computes one row; its threads go over the columns in strides. As on
// the CPU everything is float32 and without fast-math flags, and the order of a
// sum follows from its length and the number of threads alone.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKCODE_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKCODE_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sluice::tocuda {

/// How threads exchange partial results.
constexpr int64_t warpThreads = 32;

/// The threads of a block that goes over `columns` columns: a power of two,
/// with some four columns each.
int64_t getThreads(int64_t columns, int64_t most);

/// Emits code that every thread of a block runs.
class BlockCode {
public:
  /// `thread` is the thread's number, an index; `shared` a memref of one number
  /// for each warp and value that reduce() will be given, null for none.
  BlockCode(mlir::ImplicitLocOpBuilder &b, int64_t threads, mlir::Value thread,
            mlir::Value shared)
      : b(b), threads(threads), thread(thread), shared(shared) {}

  mlir::Value index(int64_t value);
  mlir::Value addIndices(mlir::Value lhs, mlir::Value rhs);
  mlir::Value scaleIndex(mlir::Value index, int64_t factor);
  /// index / divisor and index % divisor.
  std::pair<mlir::Value, mlir::Value> divideIndex(mlir::Value index,
                                                  int64_t divisor);
  mlir::Value constant(double value);
  mlir::Value load(mlir::Value memref, mlir::ValueRange indices);
  void store(mlir::Value value, mlir::Value memref, mlir::ValueRange indices);

  using Body = llvm::function_ref<mlir::SmallVector<mlir::Value>(
      mlir::Value column, mlir::ValueRange carried)>;

  /// Goes over the numbers 0 .. count - 1, each by one thread: number c by
  /// thread c % threads, in ascending order.
  mlir::SmallVector<mlir::Value> forEach(int64_t count,
                                         mlir::ValueRange initial, Body body);
  void forEach(int64_t count, llvm::function_ref<void(mlir::Value)> body);

  /// Makes one of two threads' values.
  using Combine = llvm::function_ref<mlir::SmallVector<mlir::Value>(
      mlir::ValueRange lhs, mlir::ValueRange rhs)>;

  /// Combines the values (of the type in shared memory) of all threads, which
  /// every thread gets: over the lanes of a warp, then over the warps, each
  /// time those that are half as far apart. `combine` is commutative. Waits for
  /// all threads, once.
  mlir::SmallVector<mlir::Value> reduce(mlir::ValueRange values,
                                        Combine combine);

  /// The sums over all threads of each of the values, by reduce().
  mlir::SmallVector<mlir::Value> sum(mlir::ValueRange values);

  /// What any thread of the block wrote before is seen by all behind it.
  void barrier();

private:
  mlir::SmallVector<mlir::Value> reduceLanes(mlir::SmallVector<mlir::Value> of,
                                             int64_t lanes, Combine combine);

  mlir::ImplicitLocOpBuilder &b;
  int64_t threads;
  mlir::Value thread;
  mlir::Value shared;
  int64_t reduced = 0; // values that have their place in shared memory
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKCODE_H
