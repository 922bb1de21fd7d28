//===- RowEmitter.h - the body of a row loop ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWEMITTER_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWEMITTER_H

#include "RuntimeCalls.h"
#include "VectorCode.h"
#include "lib/Conversion/StepPlanning/StepSchedule.h"

namespace sluice::tocpu {

using namespace planning;

/// What the code of a row kernel refers to.
struct RowOperands {
  mlir::Value step;                                 // !llvm.ptr
  llvm::DenseMap<unsigned, mlir::Value> pointers;   // of buffers
  llvm::DenseMap<unsigned, mlir::Value> rows;       // memref<?xNxf32> of them
  llvm::DenseMap<mlir::Value, mlir::Value> vectors; // memref<Nxf32> of weights
  /// The i64 by which the runtime knows a node's table.
  llvm::DenseMap<const Node *, mlir::Value> numbers;
};

/// Emits what is done for one row.
class RowEmitter {
public:
  RowEmitter(mlir::ImplicitLocOpBuilder &b, const StepGraph &graph,
             const llvm::BitVector &inRegisters, RuntimeCalls &runtime,
             const RowOperands &operands, int64_t lanes)
      : b(b), code(b, lanes), graph(graph), inRegisters(inRegisters),
        runtime(runtime), operands(operands) {}

  /// Emits the items of a row loop for the row `row`, an index.
  void emit(llvm::ArrayRef<LoopItem> items, mlir::Value row);

private:
  /// Scalars, as vectors of equal lanes, that a node's passes have left for
  /// its next ones.
  struct Scalars {
    mlir::Value mean;
    mlir::Value inverse; // of the root of the mean square
  };
  /// The values of the columns at hand, by buffer.
  using Registers = llvm::DenseMap<unsigned, mlir::Value>;

  // RowOps.cpp: nodes with loops of their own, and calls.
  void emitNode(const Node &node);
  void emitCall(const Node &node);
  void emitSplit(const Node &node);
  void emitConcat(const Node &node);
  void emitRope(const Node &node);
  void rotateHalves(const Node &node, mlir::Value head);
  void rotateInterleaved(const Node &node, mlir::Value head);
  void copy(mlir::Value source, mlir::Value from, mlir::Value target,
            mlir::Value to, int64_t count);
  std::pair<mlir::Value, mlir::Value> rotate(mlir::Value x0, mlir::Value x1,
                                             mlir::Value cos, mlir::Value sin);

  // ColumnLoops.cpp
  void emitColumns(const LoopItem &item);
  mlir::Value emitPass(const ColumnPass &pass, Registers &registers,
                       mlir::Value column, mlir::Value mask,
                       mlir::Value carried);
  mlir::Value emitMap(const ColumnPass &pass, Registers &registers,
                      mlir::Value column, mlir::Value mask);
  mlir::Value emitReduce(const ColumnPass &pass, mlir::Value x,
                         mlir::Value mask, mlir::Value sum);
  void finishReduction(const ColumnPass &pass, mlir::Value sum);
  mlir::Value read(unsigned buffer, Registers &registers, mlir::Value column,
                   mlir::Value mask);
  mlir::Value readWeight(mlir::Value weight, mlir::Value column,
                         mlir::Value mask);

  mlir::ImplicitLocOpBuilder &b;
  VectorCode code;
  const StepGraph &graph;
  const llvm::BitVector &inRegisters;
  RuntimeCalls &runtime;
  const RowOperands &operands;
  mlir::Value row;
  llvm::DenseMap<const Node *, Scalars> scalars;
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWEMITTER_H
