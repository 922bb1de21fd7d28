//===- Interpreter.h - the reference interpreter --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<Interpreter> interpreter = Interpreter::create(module);
//   CachePages pages = CachePages::create({/*pages=*/1, 1, 32}).take();
//   SequenceId sequence = *pages.open();
//   pages.grow(sequence, 2);
//   StepBatch batch(/*rowLimit=*/2, /*outputLimit=*/1);
//   batch.add(sequence, /*position=*/0, /*token=*/5, false);
//   batch.add(sequence, 1, 6, true);
//   Expected<RowData> logits = interpreter->step(batch, pages); // [1][vocab]
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
#include <memory>
#include <optional>
#include <vector>

namespace sluice::interpreter {

/// Holds the state with which a module is executed: the weights, and a cache
/// for each layer that has one. Each interpreter of a module has its own.
struct Environment {
  explicit Environment(WeightStore weights) : weights(std::move(weights)) {}

  WeightStore weights;
  /// The caches, by the `sluice.layer` that a cache belongs to and the number
  /// of the group's member, which is 0 without a group.
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>,
                 std::unique_ptr<KVCache>>
      caches;

  /// The table of the step's pages.
  const CachePages *pages = nullptr;

  /// Called at each `sluice.checkpoint`: returns for each row of the batch
  /// whether it is alive. If empty, all rows are alive.
  std::function<std::vector<uint8_t>(const StepBatch &)> alive;
  /// The batches that the step's checkpoints made of the rows alive, the newest
  /// last.
  std::vector<std::unique_ptr<StepBatch>> batches;
};

/// The properties of a model that are the same in every phase.
struct ModelInfo {
  int64_t vocabSize = 0;
  int64_t contextLength = 0;
  std::vector<int64_t> eosTokens;
};

/// Executes a module op by op, as the ops are described, for lowered code to be
/// compared with. Naive, float32, on one thread. Not thread-safe.
///
/// In the phase `model` it executes the model; in `pipeline` the stages, one
/// after the other; in `program` the workers of all ranks in this process, a
/// worker whenever its input channel holds a frame and its output channel has
/// room; in `plan` the tasks of the steps, stage by stage. The members of a
/// tensor-parallel group take turns, from one collective to the next.
class Interpreter {
public:
  /// Makes an interpreter of the module's target model. The module must be
  /// verified and outlive the interpreter. Fails if there is no model or
  /// several, on ops of a phase that the interpreter does not execute, and if a
  /// file is missing or is not the one that was imported.
  static Expected<Interpreter> create(mlir::ModuleOp module);

  /// Makes an interpreter of the draft that the module's `sluice.speculate` or
  /// `sluice.deployment` names, or returns nullopt if there is none.
  static Expected<std::optional<Interpreter>>
  createDraft(mlir::ModuleOp module);

  const ModelInfo &info() const { return modelInfo; }

  /// Returns whether a step can have rows of several sequences, that is whether
  /// the module's steps take a `!sluice.batch` and not a `!sluice.chunk`.
  bool isFused() const {
    // Ranks exchange only batches.
    return llvm::isa<ir::GroupOp>(parts.front()) || ir::isFused(parts.front());
  }

  /// Executes one step and returns logits[output][vocab], of the outputs that
  /// are alive at its end. `pages` says where the rows lie in the caches, which
  /// have what earlier steps with the same table stored. The caller has checked
  /// tokens and positions. Fails on rows of several sequences if the step is
  /// not fused; the error of an op names the op and its location.
  Expected<RowData> step(const StepBatch &batch, const CachePages &pages);
  /// Copies a page of all caches.
  void copyPage(PageCopy copy);

  /// Sets Environment::alive.
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
  Status checkSequences(const StepBatch &batch) const;

  /// The ops to execute, in order: one `sluice.model`, or `sluice.stage`s, or
  /// `sluice.worker`s and `sluice.group`s of them, or `sluice.step`s.
  std::vector<mlir::Operation *> parts;
  ModelInfo modelInfo;
  Environment environment;
};

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_INTERPRETER_H
