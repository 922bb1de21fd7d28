//===- BlockEmitter.h - the body of a row kernel ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKEMITTER_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKEMITTER_H

#include "BlockCode.h"
#include "lib/Conversion/StepPlanning/StepSchedule.h"

#include "llvm/ADT/BitVector.h"

namespace sluice::tocuda {

using namespace planning;

/// What the code of a kernel refers to.
struct BlockOperands {
  llvm::DenseMap<unsigned, mlir::Value> rows; // memref<?xNxf32> of buffers
  llvm::DenseMap<mlir::Value, mlir::Value> vectors; // memref<Nxf32> of weights
  llvm::DenseMap<int64_t, mlir::Value> ropeTables;  // memref<?xRxf32>
  mlir::Value positions;                            // memref<?xi32>
  mlir::Value outputRows;                           // memref<?xi32>
};

/// Emits what is done for one row by the threads of a block.
class BlockEmitter {
public:
  BlockEmitter(mlir::ImplicitLocOpBuilder &b, BlockCode &code,
               const StepGraph &graph, const llvm::BitVector &inRegisters,
               const BlockOperands &operands)
      : b(b), code(code), graph(graph), inRegisters(inRegisters),
        operands(operands) {}

  /// Emits the items of a row loop for the row `row`, an index.
  void emit(llvm::ArrayRef<LoopItem> items, mlir::Value row);

  /// How many sums over a row the items have.
  static int64_t countSums(llvm::ArrayRef<LoopItem> items);

private:
  /// Scalars that a node's passes have left for its next ones.
  struct Scalars {
    mlir::Value mean;
    mlir::Value inverse; // of the root of the mean square
  };
  /// The values of the column at hand, by buffer.
  using Registers = llvm::DenseMap<unsigned, mlir::Value>;

  // BlockOps.cpp: nodes with loops of their own.
  void emitNode(const Node &node);
  void emitSelect(const Node &node);
  void emitSplit(const Node &node);
  void emitConcat(const Node &node);
  void emitRope(const Node &node);
  void copyRest(const Node &node);
  mlir::Value loadIndex(mlir::Value numbers);

  void orderItem(const LoopItem &item);

  // BlockColumns.cpp
  void emitColumns(const LoopItem &item);
  mlir::Value emitPass(const ColumnPass &pass, Registers &registers,
                       mlir::Value column, mlir::Value carried);
  mlir::Value emitMap(const ColumnPass &pass, Registers &registers,
                      mlir::Value column);
  mlir::Value emitReduce(const ColumnPass &pass, mlir::Value x,
                         mlir::Value sum);
  void finishReduction(const ColumnPass &pass, mlir::Value sum);
  mlir::Value read(unsigned buffer, Registers &registers, mlir::Value column);

  mlir::ImplicitLocOpBuilder &b;
  BlockCode &code;
  const StepGraph &graph;
  const llvm::BitVector &inRegisters;
  const BlockOperands &operands;
  mlir::Value row;
  llvm::DenseMap<const Node *, Scalars> scalars;
  /// Buffers that were written since the last barrier, and whether column c was
  /// by the thread that has column c in all loops over columns.
  llvm::DenseMap<unsigned, bool> written;
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKEMITTER_H
