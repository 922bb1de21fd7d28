//===- RowEmitter.h - the emitter of a row loop's body --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWEMITTER_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWEMITTER_H

#include "RuntimeCalls.h"
#include "VectorCode.h"
#include "lib/Planning/RowLoops.h"

namespace sluice::tocpu {

using namespace planning;

/// The values that a row kernel's code refers to.
struct RowOperands {
  mlir::Value step;                                  // !llvm.ptr
  llvm::DenseMap<mlir::Value, mlir::Value> pointers; // of buffers
  llvm::DenseMap<mlir::Value, mlir::Value> rows; // memref<?xNxf32>, of buffers
  llvm::DenseMap<mlir::Value, mlir::Value> vectors; // memref<Nxf32>, of weights
  llvm::DenseMap<mlir::Value, mlir::Value> tables;  // !llvm.ptr, of weights
};

/// Emits the work on one row.
class RowEmitter {
public:
  RowEmitter(mlir::ImplicitLocOpBuilder &b, ir::TaskRowsOp loop,
             RuntimeCalls &runtime, const RowOperands &operands, int64_t lanes)
      : b(b), code(b, lanes), loop(loop), runtime(runtime), operands(operands) {
  }

  /// Emits the body of the loop for the row `row`, an index.
  void emit(mlir::Value row);

private:
  /// The current columns of rows.
  using Registers = llvm::DenseMap<mlir::Value, mlir::Value>;

  /// Return the memory of rows that have a buffer.
  mlir::Value getPointer(mlir::Value rows) const {
    return operands.pointers.at(loop.getBuffer(rows));
  }
  mlir::Value getMemory(mlir::Value rows) const {
    return operands.rows.at(loop.getBuffer(rows));
  }

  // RowOps.cpp: ops with loops of their own, and calls.
  void emitOp(mlir::Operation *op);
  void emitCall(mlir::Operation *op);
  void emitCopies(ir::ColumnCopyOpInterface op);
  void emitRotate(ir::RotateOp op);
  void rotateHalves(ir::RotateOp op, mlir::Value head);
  void rotateInterleaved(ir::RotateOp op, mlir::Value head);
  void copy(mlir::Value source, mlir::Value from, mlir::Value target,
            mlir::Value to, int64_t count);
  std::pair<mlir::Value, mlir::Value> rotate(mlir::Value x0, mlir::Value x1,
                                             mlir::Value cos, mlir::Value sin);

  // ColumnLoops.cpp
  void emitColumns(const LoopItem &item);
  mlir::Value emitPass(const ColumnPass &pass, Registers &registers,
                       mlir::Value column, mlir::Value mask,
                       mlir::Value carried);
  mlir::Value emitMap(ir::ColumnOpInterface op, Registers &registers,
                      mlir::Value column, mlir::Value mask);
  mlir::Value emitReduce(const ColumnPass &pass, mlir::Value x,
                         mlir::Value mask, mlir::Value sum);
  void finishReduction(const ColumnPass &pass, mlir::Value sum);
  mlir::Value read(mlir::Value rows, Registers &registers, mlir::Value column,
                   mlir::Value mask);
  mlir::Value readWeight(mlir::Value weight, mlir::Value column,
                         mlir::Value mask);

  mlir::ImplicitLocOpBuilder &b;
  VectorCode code;
  mutable ir::TaskRowsOp loop;
  RuntimeCalls &runtime;
  const RowOperands &operands;
  mlir::Value row;
  /// The scalars that an op's passes have computed, as vectors of equal lanes.
  llvm::DenseMap<mlir::Operation *, mlir::SmallVector<mlir::Value>> scalars;
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWEMITTER_H
