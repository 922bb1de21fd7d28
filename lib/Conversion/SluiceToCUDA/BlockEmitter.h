//===- BlockEmitter.h - the emitter of a row kernel's body ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKEMITTER_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKEMITTER_H

#include "BlockCode.h"
#include "HeldRows.h"
#include "ThreadOrder.h"

namespace sluice::tocuda {

/// Where operand rows go that a kernel makes (OperandLayout.h).
struct OperandMemory {
  mlir::Value rows;   // memref<?xNxbf16> or memref<?xNxf16>
  mlir::Value sums;   // f16 only: memref<?x(N/32)xf32>
  mlir::Value scales; // f16 only: memref<?xf32>
};

/// The values that a kernel's code refers to.
struct BlockOperands {
  llvm::DenseMap<mlir::Value, mlir::Value> rows; // memref<?xNxf32> of buffers
  llvm::DenseMap<mlir::Value, mlir::Value> vectors; // memref<Nxf32> of weights
  llvm::DenseMap<mlir::Value, mlir::Value> ropeTables;    // memref<?xRxf32>
  llvm::DenseMap<mlir::Value, OperandMemory> operandRows; // of buffers
  mlir::Value positions;                                  // memref<?xi32>
  mlir::Value outputRows;                                 // memref<?xi32>
};

/// Emits the work of a row's threads on the row.
class BlockEmitter {
public:
  BlockEmitter(mlir::ImplicitLocOpBuilder &b, BlockCode &code,
               ir::TaskRowsOp loop, const HeldRows &held,
               const BlockOperands &operands)
      : b(b), code(code), loop(loop), items(formItems(loop)), held(held),
        operands(operands), order(loop) {}

  /// Emits the part of a row loop that needs no rows: loads weights into free
  /// registers.
  void emitEarly();
  /// Emits the body of the loop for the row `row`, an index.
  void emit(mlir::Value row);

private:
  /// One vector for each turn.
  using Turns = llvm::SmallVector<mlir::Value>;
  /// Returns the number of the first column of a vector.
  using ToColumn = llvm::function_ref<mlir::Value(mlir::Value number)>;

  /// Returns the memory of rows that have a buffer.
  mlir::Value getMemory(mlir::Value rows) {
    return operands.rows.at(loop.getBuffer(rows));
  }

  // BlockOps.cpp: ops with loops of their own.
  void emitOp(mlir::Operation *op);
  void emitSelect(ir::SelectOutputsOp op);
  void emitCopies(ir::ColumnCopyOpInterface op);
  void emitRotate(ir::RotateOp op);
  void copyRest(ir::RotateOp op);
  mlir::Value loadIndex(mlir::Value numbers);
  Turns copyTurns(llvm::ArrayRef<Turn> turns, int64_t lanes, mlir::Value source,
                  mlir::Value sourceRow, ToColumn from, mlir::Value target,
                  ToColumn to);
  void copy(int64_t columns, int64_t lanes, mlir::Value source, ToColumn from,
            mlir::Value target, ToColumn to);

  // BlockColumns.cpp
  void emitColumns(const LoopItem &item);
  void loadInputs(const LoopItem &item, llvm::ArrayRef<Turn> turns);
  void loadWeights(const LoopItem &item, llvm::ArrayRef<Turn> turns);
  mlir::Value emitPass(const ColumnPass &pass, const Turn &turn, size_t number,
                       mlir::Value carried);
  mlir::Value emitMap(ir::ColumnOpInterface op, size_t turn);
  llvm::SmallVector<mlir::Value> getScalars(mlir::Operation *op);
  mlir::Value emitReduce(const ColumnPass &pass, mlir::Value x,
                         mlir::Value sum);
  void finishReduction(const ColumnPass &pass, mlir::Value result);

  // BlockOperands.cpp
  mlir::Value emitLargest(mlir::Value x, mlir::Value largest);
  mlir::Value larger(mlir::Value lhs, mlir::Value rhs);
  void finishLargest(ir::ToOperandOp op, mlir::Value largest);
  void emitOperand(ir::ToOperandOp op, const Turn &turn, mlir::Value x);
  void emitBlockSums(const OperandMemory &memory, const Turn &turn,
                     mlir::Value rounded);

  mlir::ImplicitLocOpBuilder &b;
  BlockCode &code;
  ir::TaskRowsOp loop;
  const llvm::SmallVector<LoopItem> items;
  const HeldRows &held;
  const BlockOperands &operands;
  mlir::Value row;
  int64_t lanes = 0; // of the current loop over columns
  /// The scalars that an op's passes have computed: of a norm what its sums
  /// come to, of a `to_operand` the factor of its row.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> scalars;
  /// The thread's columns of rows and of vector weights.
  llvm::DenseMap<mlir::Value, Turns> registers;
  llvm::DenseMap<mlir::Value, Turns> weights;
  ThreadOrder order;
};

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_BLOCKEMITTER_H
