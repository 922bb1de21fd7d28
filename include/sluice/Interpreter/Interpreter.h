//===- Interpreter.h - executes a module of the phase model ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<Interpreter> interpreter = Interpreter::create(module);
//   StepBatch batch(/*rowLimit=*/2, /*outputLimit=*/1);
//   batch.add(/*sequence=*/0, /*position=*/0, /*token=*/5, false);
//   batch.add(0, 1, 6, true);
//   Expected<RowData> logits = interpreter->step(batch);  // [1][vocab]
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_INTERPRETER_INTERPRETER_H
#define SLUICE_INTERPRETER_INTERPRETER_H

#include "runtime/base/Status.h"
#include "runtime/core/StepBatch.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Interpreter/KVCache.h"
#include "sluice/Interpreter/RowData.h"
#include "sluice/Interpreter/WeightStore.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <memory>

namespace sluice::interpreter {

/// What executing a module needs beside its ops: weights, and one cache for
/// each layer that has one. Several programs over one module each have theirs.
struct Environment {
  explicit Environment(WeightStore weights) : weights(std::move(weights)) {}

  WeightStore weights;
  /// Keyed by the `sluice.layer` that the cache belongs to.
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<KVCache>> caches;
};

/// The oracle: executes a module op by op, as its ops are described. Naive,
/// float32, on one thread. Not thread-safe.
class Interpreter {
public:
  /// The module must be verified and outlive the interpreter. Errors: no model
  /// or several, ops of a phase that is not executed here, a file that is
  /// missing or not the one that was imported.
  static Expected<Interpreter> create(mlir::ModuleOp module);

  ir::ModelOp model() const { return modelOp; }

  /// Executes one step; returns logits[output][vocab]. A row continues its
  /// sequence, or goes back: then what the sequence had from that position on
  /// is gone. Errors, before anything is changed: an empty batch, tokens
  /// outside the vocabulary, positions outside the context or past the
  /// sequence's end. Errors of an op name it and its location.
  Expected<RowData> step(const StepBatch &batch);

  /// Drops a sequence and its caches.
  void erase(SequenceId sequence);

private:
  Interpreter(ir::ModelOp model, WeightStore weights)
      : modelOp(model), environment(std::move(weights)) {}

  Status checkBatch(const StepBatch &batch) const;

  ir::ModelOp modelOp;
  Environment environment;
  std::map<SequenceId, int64_t> lengths; // tokens cached
};

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_INTERPRETER_H
