//===- Interpreter.h - executes a module before it is lowered -------------===//
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

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::interpreter {

/// What executing a module needs beside its ops: weights, and one cache for
/// each layer that has one. Several programs over one module each have theirs.
struct Environment {
  explicit Environment(WeightStore weights) : weights(std::move(weights)) {}

  WeightStore weights;
  /// Keyed by the `sluice.layer` that the cache belongs to, and by the number
  /// of the group's member, 0 where there is no group.
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>,
                 std::unique_ptr<KVCache>>
      caches;

  /// Asked at each `sluice.checkpoint` which rows of the batch are alive, one
  /// number for each; none: all are. For tests: here, nobody cancels.
  std::function<std::vector<uint8_t>(const StepBatch &)> alive;
  /// What checkpoints have left of the step's batch, the newest last.
  std::vector<std::unique_ptr<StepBatch>> batches;
};

/// What a model says of itself, in whatever phase it is.
struct ModelInfo {
  int64_t vocabSize = 0;
  int64_t contextLength = 0;
  std::vector<int64_t> eosTokens;
};

/// The oracle: executes a module op by op, as its ops are described. Naive,
/// float32, on one thread. Not thread-safe.
///
/// In the phase `model` it executes the model; in `pipeline` the stages, one
/// after the other; in `program` the workers of all ranks in this process, each
/// whenever its channel holds a frame and the next one has room; in `plan` the
/// tasks of the steps, stage by stage. The members of a tensor-parallel group
/// take turns, from one collective to the next.
class Interpreter {
public:
  /// Executes the module's target. The module must be verified and outlive the
  /// interpreter. Errors: no model or several, ops of a phase that is not
  /// executed here, a file that is missing or not the one that was imported.
  static Expected<Interpreter> create(mlir::ModuleOp module);

  /// Executes the draft that the module's `sluice.speculate` names; nullopt
  /// where there is none.
  static Expected<std::optional<Interpreter>>
  createDraft(mlir::ModuleOp module);

  const ModelInfo &info() const { return modelInfo; }

  /// Whether a step can have rows of several sequences: the module's steps take
  /// a `!sluice.batch`, not the `!sluice.chunk` of one.
  bool isFused() const {
    // Only batches go between ranks.
    return llvm::isa<ir::GroupOp>(parts.front()) || ir::isFused(parts.front());
  }

  /// Executes one step; returns logits[output][vocab]. A row continues its
  /// sequence, or goes back: then what the sequence had from that position on
  /// is gone. Errors, before anything is changed: an empty batch, rows of
  /// several sequences where the step is not fused, tokens outside the
  /// vocabulary, positions outside the context or past the sequence's end.
  /// Errors of an op name it and its location.
  Expected<RowData> step(const StepBatch &batch);

  /// Drops a sequence and its caches.
  void erase(SequenceId sequence);

  /// See Environment::alive.
  void
  setAlive(std::function<std::vector<uint8_t>(const StepBatch &)> function) {
    environment.alive = std::move(function);
  }

private:
  Interpreter(std::vector<mlir::Operation *> parts, ModelInfo info,
              WeightStore weights)
      : parts(std::move(parts)), modelInfo(std::move(info)),
        environment(std::move(weights)) {}

  static Expected<Interpreter> open(mlir::ModuleOp module,
                                    mlir::Operation *model);
  Status checkBatch(const StepBatch &batch) const;

  /// In order: a `sluice.model`, `sluice.stage`s, `sluice.worker`s and
  /// `sluice.group`s of them, or `sluice.step`s.
  std::vector<mlir::Operation *> parts;
  ModelInfo modelInfo;
  Environment environment;
  std::map<SequenceId, int64_t> lengths; // tokens cached
};

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_INTERPRETER_H
