//===- BlockCode.h - pieces of code for a block of threads --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The threads of a block, or of some blocks, compute one row. Its columns are
// taken in vectors of up to four that lie side by side: 16 bytes, what a thread
// can load at once. As on the CPU everything is float32 and without fast-math
// flags, and the order of a sum follows from its length alone.
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

/// The threads that compute a row. Follows from the row's width.
struct RowShape {
  int64_t threads; // of a block, a power of two
  int64_t blocks;

  int64_t getWorkers() const { return threads * blocks; }
  /// How many turns a thread has where each of `count` things is one thread's.
  int64_t countTurns(int64_t count) const;
  /// Whether it has them all at once, and not in a loop.
  bool isUnrolled(int64_t count) const { return countTurns(count) <= maxTurns; }

  /// As much of a thread's share as is asked for at once.
  static constexpr int64_t maxTurns = 4;
};

/// For one block that goes over `columns` columns: so many threads that each
/// has some eight of them, up to 1024, of which each has 64 registers; 512 for
/// more than 16,384 columns.
RowShape getBlockShape(int64_t columns);

/// For what no thread has to know of another one: so many blocks of 128 threads
/// that each has four columns, up to 32. One row then occupies many of the
/// device's multiprocessors.
RowShape getSpreadShape(int64_t columns);

/// The columns of a vector, of rows whose parts have these widths: as many as
/// divide each of them, up to four, so that all vectors lie at multiples of
/// their size.
int64_t getLanes(llvm::ArrayRef<int64_t> widths);

/// What is done by a thread in one turn of a loop.
struct Turn {
  /// The number of what is done; 0 where there is nothing left.
  mlir::Value number;
  /// Whether there was something left; null: always.
  mlir::Value isThere;
};

/// Emits code that every thread runs.
class BlockCode {
public:
  /// `thread` is the thread's number in its block and `worker` among all of a
  /// row, both an index; `shared` a memref of one number for each warp and
  /// value that reduce() will be given, null for none.
  BlockCode(mlir::ImplicitLocOpBuilder &b, RowShape shape, mlir::Value thread,
            mlir::Value worker, mlir::Value shared)
      : b(b), shape(shape), thread(thread), worker(worker), shared(shared) {}

  mlir::Value index(int64_t value);
  mlir::Value getThread() const { return thread; }
  mlir::Value addIndices(mlir::Value lhs, mlir::Value rhs);
  mlir::Value scaleIndex(mlir::Value index, int64_t factor);
  /// index / divisor and index % divisor.
  std::pair<mlir::Value, mlir::Value> divideIndex(mlir::Value index,
                                                  int64_t divisor);
  /// A vector of equal constants, and of equal values.
  mlir::Value constant(double value, int64_t lanes);
  mlir::Value broadcast(mlir::Value scalar, int64_t lanes);

  mlir::Value load(mlir::Value memref, mlir::ValueRange indices);
  void store(mlir::Value value, mlir::Value memref, mlir::ValueRange indices);
  /// A vector from where the indices point, which is a multiple of its size.
  mlir::Value loadLanes(mlir::Value memref, mlir::ValueRange indices,
                        int64_t lanes);
  /// Emits `body` for threads that have the condition; null: for all.
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body);
  /// Whether an index is a multiple of a number.
  mlir::Value isMultiple(mlir::Value index, int64_t of);
  /// Stores a vector, if the turn is there.
  void storeLanes(const Turn &turn, mlir::Value vector, mlir::Value memref,
                  mlir::ValueRange indices);

  /// Takes and returns values that go from turn to turn.
  using Body = llvm::function_ref<mlir::SmallVector<mlir::Value>(
      llvm::ArrayRef<Turn> turns, mlir::ValueRange carried)>;

  /// Goes over the numbers 0 .. count - 1, each by one thread: number n by
  /// worker n % workers, in ascending order. `body` is given some turns at
  /// once, so that it can ask for all that they need before it computes: all of
  /// them, or, where the shape's isUnrolled() says no, the next ones of a loop.
  mlir::SmallVector<mlir::Value> forEach(int64_t count,
                                         mlir::ValueRange initial, Body body);
  void forEach(int64_t count,
               llvm::function_ref<void(llvm::ArrayRef<Turn>)> body);

  /// `value` if the turn is there, else `otherwise`.
  mlir::Value select(const Turn &turn, mlir::Value value,
                     mlir::Value otherwise);

  /// Makes one of two threads' values.
  using Combine = llvm::function_ref<mlir::SmallVector<mlir::Value>(
      mlir::ValueRange lhs, mlir::ValueRange rhs)>;

  /// Combines the lanes of vectors: the halves, until one is left.
  mlir::SmallVector<mlir::Value> combineLanes(mlir::ValueRange vectors,
                                              Combine combine);

  /// The sum over 2^k lanes of a warp that lie side by side, in each of them:
  /// of neighbours, then of neighbouring pairs, and so on.
  mlir::Value sumNeighbours(mlir::Value value, int64_t lanes);

  /// Combines the values (of the type in shared memory) of all threads, which
  /// every thread gets: over the lanes of a warp, then over the warps, each
  /// time those that are half as far apart. `combine` is commutative. Waits for
  /// all threads, once. In one block only.
  mlir::SmallVector<mlir::Value> reduce(mlir::ValueRange values,
                                        Combine combine);

  /// What any thread of the block wrote before is seen by all behind it.
  void barrier();

private:
  Turn makeTurn(mlir::Value number, bool isSure, int64_t count);
  /// The value of the lane whose number differs by `distance`, a power of two.
  mlir::Value shuffle(mlir::Value value, int64_t distance);
  mlir::SmallVector<mlir::Value> reduceWarp(mlir::SmallVector<mlir::Value> of,
                                            int64_t lanes, Combine combine);

  mlir::ImplicitLocOpBuilder &b;
  RowShape shape;
  mlir::Value thread;
  mlir::Value worker;
  mlir::Value shared;
  int64_t reduced = 0; // values that have their place in shared memory
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKCODE_H
