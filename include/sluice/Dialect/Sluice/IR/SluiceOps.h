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

namespace mlir {
class ImplicitLocOpBuilder;
} // namespace mlir

namespace sluice::ir {

/// The greatest depth of a tree of guesses, and the most guesses for the token
/// after one row.
constexpr int64_t maxGuessDepth = 1024, maxGuessWidth = 64;
/// The greatest value of an option that limits a stretch between checkpoints: a
/// day, in microseconds.
constexpr int64_t maxLatencyMicros = 86'400'000'000;
/// A product may be cut only at multiples of so many columns, where the panels
/// of the micro-kernels end.
constexpr int64_t columnUnit = 16;

/// Names the attribute of a generated kernel that says how many thread blocks
/// compute one row. A kernel with one block for each row does not have it.
constexpr llvm::StringLiteral rowBlocksAttrName = "sluice.row_blocks";

/// The resources that ops have side effects on. Effects on the cache and on
/// rows in flight can be undone when guesses are rejected; effects that the
/// user has seen cannot.
struct CacheResource : mlir::SideEffects::Resource::Base<CacheResource> {
  llvm::StringRef getName() final { return "Cache"; }
};
/// Stands for the members' meeting in collectives, which all members of a group
/// must execute in the same order.
struct GroupResource : mlir::SideEffects::Resource::Base<GroupResource> {
  llvm::StringRef getName() final { return "Group"; }
};
/// Stands for the rows in flight and the confirmed part of their requests.
struct RunResource : mlir::SideEffects::Resource::Base<RunResource> {
  llvm::StringRef getName() final { return "Run"; }
};
struct UserResource : mlir::SideEffects::Resource::Base<UserResource> {
  llvm::StringRef getName() final { return "User"; }
};

/// Names the attribute of a task that holds the number of the model's layer
/// that the task belongs to.
constexpr llvm::StringLiteral taskLayerAttrName = "layer";

/// The records of a buffer, or the positions of a cache, that one thread of a
/// task accesses.
enum class AccessExtent {
  Rows,    // those of the thread's share of the rows
  Outputs, // those of the thread's share of the outputs
  All,     // any
};

/// A copy of columns of rows: of each group g, the columns from `from + g *
/// fromStep` of `source` on to those from `to + g * toStep` of `target` on.
struct ColumnCopy {
  mlir::Value source, target;
  int64_t columns = 0; ///< of a group
  int64_t from = 0, fromStep = 0;
  int64_t to = 0, toStep = 0;
};

/// The copies that an op consists of, each made for each of the groups.
struct ColumnCopies {
  int64_t groups = 1;
  llvm::SmallVector<ColumnCopy> copies;
};

/// An access of a task to memory.
struct MemoryAccess {
  mlir::Value memory; // a buffer or a cache
  AccessExtent extent;
  bool writes;
};

class PlanTargetInterface;

/// The records of all buffers have places that are multiples of so many floats,
/// which is a cache line.
constexpr int64_t arenaUnit = 16;

/// The fewest and the most members of a tensor-parallel group.
constexpr int64_t minMembers = 2, maxMembers = 256;

/// Returns the `sluice.model`, `sluice.stage` or `sluice.worker` that contains
/// the op, or null.
mlir::Operation *getFrame(mlir::Operation *op);

/// Returns the number of members that execute a frame together: for a worker,
/// the members of its group. Returns 1 for a frame without a group.
int64_t getMembers(mlir::Operation *frame);

/// Returns whether a `sluice.model`, `sluice.stage` or `sluice.worker` takes a
/// batch (rows of any sequences) rather than a chunk (rows of one sequence).
bool isFused(mlir::Operation *frame);

/// Checks that the frame takes a batch. The error names the pass to run first.
mlir::LogicalResult requireFused(mlir::Operation *frame);

/// Returns the bytes of one row, summed over the operands and results of `op`
/// that are rows.
int64_t getOperandAndResultBytesPerRow(mlir::Operation *op);

} // namespace sluice::ir

#include "sluice/Dialect/Sluice/IR/SluiceInterfaces.h.inc"

#define GET_OP_CLASSES
#include "sluice/Dialect/Sluice/IR/SluiceOps.h.inc"

#include "sluice/Dialect/Sluice/IR/SluicePlanTarget.h.inc"

namespace sluice::ir {

/// Returns `stage` if it is a `sluice.worker`, its first worker if it is a
/// `sluice.group`, and null otherwise.
WorkerOp getFirstWorker(mlir::Operation *stage);

/// Returns the workers of a `sluice.group`, in order.
llvm::SmallVector<WorkerOp> getWorkers(GroupOp group);

/// A parameter of the kernel of a row loop on a GPU; each is an address.
struct KernelParameter {
  enum class Kind {
    Count,         // of the number of rows or outputs
    Operand,       // of the operand `operand` of the task
    OperandSums,   // of the sums of the blocks of an operand of products
    OperandScales, // of the scales of the rows of such an operand
    Positions,     // of the positions of the rows
    OutputRows,    // of the row of each output
  };
  Kind kind;
  unsigned operand = 0; // if it is of one
};

/// Returns the parameters of a row loop's kernel on a GPU, in order.
llvm::SmallVector<KernelParameter> getKernelParameters(TaskRowsOp loop);

/// Returns how a task uses a weight that it has as an operand.
WeightUseAttr getWeightUse(TaskInterface task, mlir::Value weight);

/// Returns the uses of weights by the tasks of a step, each once, in the order
/// in which the tasks first need them. These are the numbers of the weights in
/// an executable. A tied table has two uses: rows of it are looked up, and it
/// is a matrix of products.
llvm::SmallVector<mlir::Attribute> listWeightUses(StepOp step);

} // namespace sluice::ir

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEOPS_H
