//===- SluiceOps.h - ops of the dialect sluice ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEOPS_H
#define SLUICE_DIALECT_SLUICE_IR_SLUICEOPS_H

#include "sluice/Dialect/Sluice/IR/SluiceDialect.h"
#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sluice::ir {

/// The longest tree of guesses, and the most guesses for one row's next token.
constexpr int64_t maxGuessDepth = 1024, maxGuessWidth = 64;
/// The longest that a stretch between checkpoints may be allowed: a day, in
/// microseconds.
constexpr int64_t maxLatencyMicros = 86'400'000'000;
/// Products are cut where the columns of micro-kernels' panels end.
constexpr int64_t columnUnit = 16;

/// Of a generated kernel: how many blocks compute a row, where these are
/// several.
constexpr llvm::StringLiteral rowBlocksAttrName = "sluice.row_blocks";

/// What ops have effects on. Rejected guesses are undone in the cache, and rows
/// in flight that died are dropped; what the user has seen cannot be undone.
struct CacheResource : mlir::SideEffects::Resource::Base<CacheResource> {
  llvm::StringRef getName() final { return "Cache"; }
};
/// What the members of a group have in common: they meet in one order.
struct GroupResource : mlir::SideEffects::Resource::Base<GroupResource> {
  llvm::StringRef getName() final { return "Group"; }
};
/// Rows in flight, and what is confirmed of their request.
struct RunResource : mlir::SideEffects::Resource::Base<RunResource> {
  llvm::StringRef getName() final { return "Run"; }
};
struct UserResource : mlir::SideEffects::Resource::Base<UserResource> {
  llvm::StringRef getName() final { return "User"; }
};

/// Of ops that stand in a `sluice.graph`: they append work of the device, or
/// give the address of something there.
template <typename ConcreteOp>
class BelongsInGraph
    : public mlir::OpTrait::TraitBase<ConcreteOp, BelongsInGraph> {};

/// Says of a task whose layer of the model it is.
constexpr llvm::StringLiteral taskLayerAttrName = "layer";

/// The records of a buffer, or the positions of a cache, that one thread of a
/// task accesses.
enum class AccessExtent {
  Rows,    // those of its share of the rows
  Outputs, // those of its share of the outputs
  All,     // any
};

/// What a task reads or writes in memory.
struct MemoryAccess {
  mlir::Value memory; // a buffer or a cache
  AccessExtent extent;
  bool writes;
};

class PlanTargetInterface;

/// Fewest and most members of a tensor-parallel group.
constexpr int64_t minMembers = 2, maxMembers = 256;

/// The `sluice.model`, `sluice.stage` or `sluice.worker` that the op stands in;
/// null in none.
mlir::Operation *getFrame(mlir::Operation *op);

/// How many members execute a frame together; 1: it is of no group. Of a
/// worker: of its group.
int64_t getMembers(mlir::Operation *frame);

/// Whether a `sluice.model`, `sluice.stage` or `sluice.worker` takes a batch:
/// rows of any sequences, and not the chunk of one.
bool isFused(mlir::Operation *frame);

/// Checks that it does; the error says which pass comes first.
mlir::LogicalResult requireFused(mlir::Operation *frame);

/// Bytes of one row of every operand and result of `op` that is rows.
int64_t getOperandAndResultBytesPerRow(mlir::Operation *op);

} // namespace sluice::ir

#include "sluice/Dialect/Sluice/IR/SluiceInterfaces.h.inc"

#define GET_OP_CLASSES
#include "sluice/Dialect/Sluice/IR/SluiceOps.h.inc"

#include "sluice/Dialect/Sluice/IR/SluicePlanTarget.h.inc"

namespace sluice::ir {

/// The `sluice.worker` that a stage of a pipeline is, or the first one of the
/// `sluice.group` that it is; null where `stage` is neither.
WorkerOp getFirstWorker(mlir::Operation *stage);

/// All workers of a `sluice.group`, in order.
llvm::SmallVector<WorkerOp> getWorkers(GroupOp group);

} // namespace sluice::ir

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEOPS_H
