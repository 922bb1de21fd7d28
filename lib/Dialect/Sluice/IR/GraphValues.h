//===- GraphValues.h - the memory that work of a graph touches ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_GRAPHVALUES_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_GRAPHVALUES_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/SmallBitVector.h"

namespace sluice::ir {

/// All values of the arena are rows of whole cache lines.
constexpr int64_t arenaUnit = 16;

/// A value of the arena that work is given, by the floats of its record among
/// those of its domain.
struct GivenValue {
  ValueDomain domain;
  int64_t begin, end;

  bool overlaps(const GivenValue &other) const {
    return domain == other.domain && begin < other.end && other.begin < end;
  }
};

/// An operand of work, and the floats of each record that it takes.
struct WorkOperand {
  mlir::Value address;
  int64_t floats;

  /// Nothing for an address that is no value's.
  std::optional<GivenValue> getValue() const;
};

/// What a launch gives for a parameter of its kernel: as wide as the kernel's
/// views of it.
WorkOperand getWorkOperand(mlir::Value word, mlir::Value parameter);

/// What a meeting of `members` takes.
constexpr llvm::StringLiteral meetingOperands = "input, output and scratch";
llvm::SmallVector<WorkOperand> getWorkOperands(GraphAllReduceOp op,
                                               int64_t members);
llvm::SmallVector<WorkOperand> getWorkOperands(GraphAllGatherOp op,
                                               int64_t members);

/// What a checkpoint moves.
llvm::SmallVector<WorkOperand> getWorkOperands(GraphCheckpointOp op);

/// That no two operands of a meeting, or of a checkpoint, lie in the same
/// memory; `names` says in an error what they are.
mlir::LogicalResult verifyApart(mlir::Operation *op,
                                llvm::ArrayRef<WorkOperand> operands,
                                llvm::StringRef names);

/// What a kernel does with the memory behind its parameters.
class ParameterAccesses {
public:
  explicit ParameterAccesses(mlir::gpu::GPUFuncOp kernel);

  /// Whether the memory behind a memref or pointer is that of a parameter that
  /// is `llvm.noalias` and that the kernel certainly only reads.
  bool isConstant(mlir::Value memory) const;

  /// Whether LLVM may take the memory of this parameter for one that nobody
  /// writes: it is `llvm.noalias`, and is read by what may be its memref, but
  /// written by none that is.
  bool mayBeConstant(unsigned parameter) const;

private:
  /// Parameters, and whether there is access to memory that may be anybody's.
  struct Accessed {
    llvm::SmallBitVector parameters;
    bool unknown = false;
  };
  void add(mlir::Value memory, Accessed &accessed);
  void addEffects(mlir::Operation *op);
  bool isNoAlias(unsigned parameter) const;

  mlir::gpu::GPUFuncOp kernel;
  Accessed read, written;
};

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_GRAPHVALUES_H
