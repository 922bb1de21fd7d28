//===- BlockCode.h - code that all threads of a block run -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads of one block, or of several blocks, compute one row. They take
// its columns in vectors of up to four adjacent columns: 16 bytes, the most
// that a thread can load at once. As on the CPU, everything is float32 without
// fast-math flags, and the order of a sum depends on its length alone.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKCODE_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKCODE_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sluice::tocuda {

/// The threads of a warp, which exchange partial results through registers.
constexpr int64_t warpThreads = 32;

/// The threads that compute a row; determined by the row's width.
struct RowShape {
  int64_t threads; // of a block; a power of two
  int64_t blocks;

  int64_t getWorkers() const { return threads * blocks; }
  /// Returns how many turns a thread has if `count` items are shared by all
  /// threads.
  int64_t countTurns(int64_t count) const;
  /// Whether a thread does all its turns at once, and not in a loop.
  bool isUnrolled(int64_t count) const { return countTurns(count) <= maxTurns; }

  /// The most turns whose inputs are loaded at the same time.
  static constexpr int64_t maxTurns = 4;
};

/// Returns the shape of one block that goes over `columns` columns, with about
/// eight columns for each thread. It has up to 1024 threads of 64 registers
/// each, or 512 threads for more than 16,384 columns.
RowShape getBlockShape(int64_t columns);

/// Returns the shape for work in which threads are independent: up to 32 blocks
/// of up to 128 threads, with four columns for each thread if that is enough.
/// One row then occupies many of the device's multiprocessors.
RowShape getSpreadShape(int64_t columns);

/// Returns the columns of a vector for rows whose parts have these widths: 4, 2
/// or 1, the largest that divides each width. Every vector is aligned to its
/// size.
int64_t getLanes(llvm::ArrayRef<int64_t> widths);

/// A thread's work in one turn of a loop.
struct Turn {
  /// The number of the item; 0 if there is no item left.
  mlir::Value number;
  /// Whether there is an item; null if there always is.
  mlir::Value isThere;
};

/// Emits code that every thread runs.
class BlockCode {
public:
  /// `thread` is the thread's number in its block, and `worker` its number
  /// among all threads of the row; both are of type index. `shared` is a memref
  /// with one number for each warp and value that reduce() will receive, or
  /// null if there are none.
  BlockCode(mlir::ImplicitLocOpBuilder &b, RowShape shape, mlir::Value thread,
            mlir::Value worker, mlir::Value shared)
      : b(b), shape(shape), thread(thread), worker(worker), shared(shared) {}

  mlir::Value index(int64_t value);
  mlir::Value getThread() const { return thread; }
  mlir::Value addIndices(mlir::Value lhs, mlir::Value rhs);
  mlir::Value scaleIndex(mlir::Value index, int64_t factor);
  /// Returns index / divisor and index % divisor.
  std::pair<mlir::Value, mlir::Value> divideIndex(mlir::Value index,
                                                  int64_t divisor);
  /// Returns a vector of equal constants, or of equal values.
  mlir::Value constant(double value, int64_t lanes);
  mlir::Value broadcast(mlir::Value scalar, int64_t lanes);

  mlir::Value load(mlir::Value memref, mlir::ValueRange indices);
  void store(mlir::Value value, mlir::Value memref, mlir::ValueRange indices);
  /// Loads a vector from where the indices point, which is aligned to its size.
  mlir::Value loadLanes(mlir::Value memref, mlir::ValueRange indices,
                        int64_t lanes);
  /// Emits `body` for the threads that satisfy the condition, or for all if it
  /// is null.
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body);
  /// Returns whether an index is a multiple of a number.
  mlir::Value isMultiple(mlir::Value index, int64_t of);
  /// Stores a vector if the turn has an item.
  void storeLanes(const Turn &turn, mlir::Value vector, mlir::Value memref,
                  mlir::ValueRange indices);

  /// Receives and returns the values that are carried from turn to turn.
  using Body = llvm::function_ref<mlir::SmallVector<mlir::Value>(
      llvm::ArrayRef<Turn> turns, mlir::ValueRange carried)>;

  /// Divides the numbers 0 .. count - 1 among the threads: worker n % workers
  /// has number n. A worker takes its numbers in ascending order. `body`
  /// receives several turns at once, so that it can load all their inputs
  /// before it computes: all turns if the shape's isUnrolled() is true,
  /// otherwise the next turns of a loop.
  mlir::SmallVector<mlir::Value> forEach(int64_t count,
                                         mlir::ValueRange initial, Body body);
  void forEach(int64_t count,
               llvm::function_ref<void(llvm::ArrayRef<Turn>)> body);

  /// Returns `value` if the turn has an item, otherwise `otherwise`.
  mlir::Value select(const Turn &turn, mlir::Value value,
                     mlir::Value otherwise);

  /// Combines the values of two threads.
  using Combine = llvm::function_ref<mlir::SmallVector<mlir::Value>(
      mlir::ValueRange lhs, mlir::ValueRange rhs)>;

  /// Combines the lanes of vectors: halves, until one lane is left.
  mlir::SmallVector<mlir::Value> combineLanes(mlir::ValueRange vectors,
                                              Combine combine);

  /// Returns the sum over 2^k adjacent lanes of a warp, in each of them. It
  /// adds neighbours, then neighbouring pairs, and so on.
  mlir::Value sumNeighbours(mlir::Value value, int64_t lanes);

  /// Combines the values of all threads, which have the type in shared memory,
  /// and returns the result to every thread. Combines first the lanes of a
  /// warp, then the warps, with a distance that halves each time. `combine` is
  /// commutative. Waits once for all threads. For one block only.
  mlir::SmallVector<mlir::Value> reduce(mlir::ValueRange values,
                                        Combine combine);

  /// After it, all threads of the block see what any of them wrote before.
  void barrier();

private:
  Turn makeTurn(mlir::Value number, bool isSure, int64_t count);
  /// Returns the value of the lane whose number differs by `distance`, a power
  /// of two.
  mlir::Value shuffle(mlir::Value value, int64_t distance);
  mlir::SmallVector<mlir::Value> reduceWarp(mlir::SmallVector<mlir::Value> of,
                                            int64_t lanes, Combine combine);

  mlir::ImplicitLocOpBuilder &b;
  RowShape shape;
  mlir::Value thread;
  mlir::Value worker;
  mlir::Value shared;
  int64_t reduced = 0; // values with a place in shared memory
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKCODE_H
