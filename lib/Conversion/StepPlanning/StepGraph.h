//===- StepGraph.h - a step as nodes over buffers -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first form a model takes on its way to code: layers are flattened, and
// what the ops only imply is spelled out: activations become the operands that
// products take, rotations read tables of cosines, attention first appends to
// the cache. Every tensor has become a buffer, one record for each row. Where
// targets differ in what is implied, a StepTarget says so.
//
// At a checkpoint rows leave, and what is used behind it is moved together in
// place: its results are the buffers of its operands, with fewer rows. What the
// graph added is carried along where the target says so, so that a step from
// which nothing leaves computes nothing twice, and else made anew behind it.
//
// Why not linalg on tensors and one-shot bufferisation: a step has no control
// flow but its early end, and each value is written once, so that liveness is a
// matter of intervals (ArenaPlan.h); the arena's layout (offsets in units of
// rows whose number is known at run time only, one region for all threads) is
// nothing that bufferisation would produce, and what threads may touch between
// barriers has to be known per value anyway (BarrierPlacement.h).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_STEPGRAPH_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_STEPGRAPH_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace sluice::planning {

/// Which rows a value has: all of the step's, or those whose logits are asked
/// for; in both cases those that have not left at a checkpoint.
enum class Domain { Rows, Outputs };

/// Where a value of the step lives.
struct Buffer {
  enum class Kind {
    Floats,  // floats[row][width]
    Operand, // what products take of `width` features
    Cache,   // a layer's cache: the runtime's memory, not the arena's
  };
  Kind kind;
  Domain domain;
  int64_t width;
  int64_t floatsPerRow; // of a row's record; 0 for a cache
  int64_t format = 0;   // of an operand: as its target numbers them
};

/// One thing to do. Inputs and outputs are indices of buffers; weights stay
/// operands of `op`.
struct Node {
  enum class Kind {
    // Each row by itself.
    Receive,       // () -> x
    Embed,         // () -> x
    SelectOutputs, // (x) -> y
    RopeTable,     // () -> table; `index` is the table's
    Operand,       // (x) -> operand; its format is the buffer's
    SplitQKV,      // (x) -> q, k, v
    Rope,          // (x, table?) -> y; `index` is the table's
    Concat,        // (x, ...) -> y
    Columns,       // norm, activation, gate, add, biases: (x, ...) -> y
    RowOperand,    // (x) -> operand, in the row loop that makes x; `index`
                   // passes over the row come before that which writes it
    Send,          // (x) -> ()
    // The runtime's.
    Linear,      // (x or operand) -> y
    GatedLinear, // (x or operand) -> y: a gate, and the two products before it
    Append,      // (k, v) -> cache; `index` is the cache's
    Attend,      // (q, k?, v?, cache) -> y; `index` is the cache's
    // Where the members of a group meet; `scratch` is as wide as what all of
    // them bring.
    AllReduce, // (x) -> (y, scratch)
    AllGather, // (x) -> (y, scratch)
    // A barrier by itself, at which the step may end.
    Checkpoint, // (x, ...) -> (x, ...): all that is used behind it
  };
  Kind kind;
  mlir::Operation *op;
  Domain domain;
  llvm::SmallVector<unsigned, 4> inputs;
  llvm::SmallVector<unsigned, 3> outputs;
  int64_t index = 0;

  /// The vectors among the weights that its code reads, in order, once for each
  /// use: norms' and biases of Columns; of the others none.
  llvm::SmallVector<mlir::Value> getVectorWeights() const;
};

/// What a product takes instead of rows of floats.
struct OperandRecord {
  int64_t format;       // as the target numbers them
  int64_t floatsPerRow; // of a record, for the features that were asked about
};

/// The rules of those who execute steps. Stateless.
class StepTarget {
public:
  virtual ~StepTarget() = default;

  /// As errors name it: "a CPU".
  virtual llvm::StringRef getName() const = 0;
  /// The records that a product of `features` features takes, nothing where
  /// it takes rows of floats; or what is wrong with the product, on its op.
  virtual mlir::FailureOr<std::optional<OperandRecord>>
  getOperand(ir::LinearOp op, int64_t features) const = 0;
  /// Whether a step computes a row's cosines and sines once, as a record of
  /// its own. If not, rotations read a table of all positions.
  virtual bool computesRopeTables() const = 0;
  /// Whether attention reads the step's own keys and values beside the cache.
  virtual bool attendsToStep() const = 0;
  /// Whether checkpoints move this buffer, in its place, with its rows.
  virtual bool isCarried(const Buffer &buffer) const = 0;
  /// Whether such nodes are generated code, which row loops are made of.
  virtual bool isInRowLoops(Node::Kind kind) const = 0;
  /// Whether all sums over rows in a row loop must be of rows of one width:
  /// where the order of a sum follows from who shares the loop.
  virtual bool sumsOneWidth() const = 0;
};

/// The step of a model or worker. Nodes stand in an order in which they can be
/// executed.
struct StepGraph {
  std::vector<Node> nodes;
  std::vector<Buffer> buffers;
  /// Buffer in the domain Outputs; none where rows are sent on.
  std::optional<unsigned> logits;
  bool hasEmbedding = false; // rows come as tokens, not as activations
  int64_t hiddenSize = 0;
  int64_t firstLayer = 0;
  int64_t layers = 0;
  int64_t checkpoints = 0;
  llvm::SmallVector<mlir::Type> caches;          // !sluice.cache, by index
  llvm::SmallVector<mlir::Attribute> ropeTables; // #sluice.rope_table, by index
};

/// Builds the graph of a `sluice.model` or `sluice.worker`; reports on the op
/// that it cannot take.
mlir::FailureOr<StepGraph> buildStepGraph(mlir::Operation *frame,
                                          const StepTarget &target);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_STEPGRAPH_H
