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
// Why not linalg on tensors and one-shot bufferisation: a step has no control
// flow and each value is written once, so that liveness is a matter of
// intervals (ArenaPlan.h); the arena's layout (offsets in units of rows whose
// number is known at run time only, one region for all threads) is nothing that
// bufferisation would produce, and what threads may touch between barriers has
// to be known per value anyway (BarrierPlacement.h).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_STEPGRAPH_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_STEPGRAPH_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/SmallVector.h"

namespace sluice::tocpu {

/// Which rows a value has: all of the step's, or those whose logits are asked
/// for.
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
    Embed,         // () -> x
    SelectOutputs, // (x) -> y
    RopeTable,     // () -> table; `index` is the table's
    Quantize,      // (x) -> q
    SplitQKV,      // (x) -> q, k, v
    Rope,          // (x, table) -> y
    Columns,       // norm, activation, gate, add: (x, ...) -> y
    // Shared out by the runtime.
    Linear, // (x or q) -> y
    Append, // (k, v) -> cache; `index` is the cache's
    Attend, // (q, k, v, cache) -> y; `index` is the cache's
  };
  Kind kind;
  mlir::Operation *op;
  Domain domain;
  llvm::SmallVector<unsigned, 4> inputs;
  llvm::SmallVector<unsigned, 3> outputs;
  int64_t index = 0;

  bool isRowWise() const { return kind < Kind::Linear; }
};

/// A model's step. Nodes stand in an order in which they can be executed.
struct StepGraph {
  std::vector<Node> nodes;
  std::vector<Buffer> buffers;
  unsigned logits = 0; // buffer, in the domain Outputs
  int64_t hiddenSize = 0;
  int64_t layers = 0;
  llvm::SmallVector<mlir::Type> caches;          // !sluice.cache, by index
  llvm::SmallVector<mlir::Attribute> ropeTables; // #sluice.rope_table, by index
};

/// Builds the graph of a model; reports on the op that it cannot take.
mlir::FailureOr<StepGraph> buildStepGraph(ir::ModelOp model);

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_STEPGRAPH_H
