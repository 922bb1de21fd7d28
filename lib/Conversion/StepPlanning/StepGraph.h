//===- StepGraph.h - a step as nodes over buffers -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first form a model takes on its way to code: layers are flattened, and
// what the ops only imply is spelled out: activations are quantised for
// quantised weights, rotations read tables of cosines, attention first appends
// to the cache. Every tensor has become a buffer, one record for each row.
//
// At a checkpoint rows leave, and what is used behind it is moved together in
// place: its results are the buffers of its operands, with fewer rows. Copies
// and tables that the graph added are carried along, so that a step from which
// nothing leaves computes nothing twice.
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
    Floats,    // floats[row][width]
    Quantized, // what sluice_quantize_rows writes for `width` features
    Cache,     // a layer's cache: the runtime's memory, not the arena's
  };
  Kind kind;
  Domain domain;
  int64_t width;

  /// Floats of a row's record; 0 for a cache.
  int64_t getFloatsPerRow() const;
};

/// One thing to do. Inputs and outputs are indices of buffers; weights stay
/// operands of `op`.
struct Node {
  enum class Kind {
    // By rows, in a row loop.
    Receive,       // () -> x
    Embed,         // () -> x
    SelectOutputs, // (x) -> y
    RopeTable,     // () -> table; `index` is the table's
    Quantize,      // (x) -> q
    SplitQKV,      // (x) -> q, k, v
    Rope,          // (x, table) -> y
    Concat,        // (x, ...) -> y
    Columns,       // norm, activation, gate, add: (x, ...) -> y
    Send,          // (x) -> ()
    // Shared out by the runtime.
    Linear, // (x or q) -> y
    Append, // (k, v) -> cache; `index` is the cache's
    Attend, // (q, k, v, cache) -> y; `index` is the cache's
    // A barrier by itself, at which the step may end.
    Checkpoint, // (x, ...) -> (x, ...): all that is used behind it
  };
  Kind kind;
  mlir::Operation *op;
  Domain domain;
  llvm::SmallVector<unsigned, 4> inputs;
  llvm::SmallVector<unsigned, 3> outputs;
  int64_t index = 0;

  bool isRowWise() const { return kind < Kind::Linear; }
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
mlir::FailureOr<StepGraph> buildStepGraph(mlir::Operation *frame);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_STEPGRAPH_H
