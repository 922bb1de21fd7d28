//===- GraphValues.h - the memory that ops of a graph access --------------===//
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

/// The records of all values in the arena have a multiple of so many floats,
/// which is a cache line.
constexpr int64_t arenaUnit = 16;

/// A value in the arena that is an operand of work: the range of floats that
/// its record has within the record of its domain.
struct GivenValue {
  ValueDomain domain;
  int64_t begin, end;

  bool overlaps(const GivenValue &other) const {
    return domain == other.domain && begin < other.end && other.begin < end;
  }
};

/// An operand of work, and the number of floats that the work accesses in each
/// record.
struct WorkOperand {
  mlir::Value address;
  int64_t floats;

  /// Returns nothing if the address is not that of a value.
  std::optional<GivenValue> getValue() const;
};

/// Returns the operand of a launch for a parameter of its kernel. It is as wide
/// as the kernel's widest view of the parameter.
WorkOperand getWorkOperand(mlir::Value word, mlir::Value parameter);

/// These return the operands of a collective of `members` members.
constexpr llvm::StringLiteral meetingOperands = "input, output and scratch";
llvm::SmallVector<WorkOperand> getWorkOperands(GraphAllReduceOp op,
                                               int64_t members);
llvm::SmallVector<WorkOperand> getWorkOperands(GraphAllGatherOp op,
                                               int64_t members);

/// Returns the values that a checkpoint moves.
llvm::SmallVector<WorkOperand> getWorkOperands(GraphCheckpointOp op);

/// Checks that no two operands of a collective or of a checkpoint overlap in
/// memory. `names` describes the operands in the error.
mlir::LogicalResult verifyApart(mlir::Operation *op,
                                llvm::ArrayRef<WorkOperand> operands,
                                llvm::StringRef names);

/// Says how a kernel accesses the memory behind its parameters.
class ParameterAccesses {
public:
  explicit ParameterAccesses(mlir::gpu::GPUFuncOp kernel);

  /// Returns whether a memref or pointer lies in the memory of a parameter that
  /// is `llvm.noalias` and that the kernel is known only to read.
  bool isConstant(mlir::Value memory) const;

  /// Returns whether LLVM may treat the memory of this parameter as constant:
  /// the parameter is `llvm.noalias`, an access through it or through unknown
  /// memory may read it, and no access is known to write it.
  bool mayBeConstant(unsigned parameter) const;

private:
  /// The parameters whose memory is accessed, and whether memory of unknown
  /// origin is accessed, too.
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
