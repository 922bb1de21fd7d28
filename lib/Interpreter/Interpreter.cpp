//===- Interpreter.cpp - executes a module of the phase model -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/Interpreter.h"

#include "Evaluator.h"
#include "OpError.h"
#include "sluice/Interpreter/Ops.h"

using namespace sluice;
using namespace sluice::interpreter;

using mlir::Operation;

/// The one model of a module, all of whose ops the interpreter knows.
static Expected<ir::ModelOp> findModel(mlir::ModuleOp module) {
  ir::ModelOp model;
  for (Operation &op : *module.getBody()) {
    if (auto found = llvm::dyn_cast<ir::ModelOp>(op)) {
      if (model)
        return opError(found, "the module has two models, @",
                       model.getSymName().str(), " and @",
                       found.getSymName().str());
      model = found;
    } else if (!llvm::isa<ir::FileOp, ir::WeightOp, ir::TokenizerOp>(op)) {
      return opError(&op, "only modules of the phase 'model' are interpreted, "
                          "and this op belongs to another");
    }
  }
  if (!model)
    return opError(module, "the module has no sluice.model");

  Operation *unknown = nullptr;
  model.getBody().walk([&](Operation *op) {
    if (isSupported(op))
      return mlir::WalkResult::advance();
    unknown = op;
    return mlir::WalkResult::interrupt();
  });
  if (unknown)
    return opError(unknown, "only modules of the phase 'model' are "
                            "interpreted, and this op belongs to another");
  return model;
}

Expected<Interpreter> Interpreter::create(mlir::ModuleOp module) {
  Expected<ir::ModelOp> model = findModel(module);
  if (!model)
    return model.status();
  Expected<WeightStore> weights = WeightStore::open(module);
  if (!weights)
    return weights.status();
  return Interpreter(*model, weights.take());
}

Status Interpreter::checkBatch(const StepBatch &batch) const {
  if (batch.rows() == 0)
    return failure("a step needs at least one row");
  ir::ModelOp model = modelOp;
  auto vocabSize = static_cast<int64_t>(model.getVocabSize());
  auto contextLength = static_cast<int64_t>(model.getContextLength());
  for (int64_t r = 0; r < batch.rows(); ++r) {
    int64_t token = batch.tokens()[r];
    int64_t position = batch.positions()[r];
    SequenceId sequence = batch.sequences()[r];
    if (token < 0 || token >= vocabSize)
      return failure("token ", token, " at position ", position,
                     " is not in the vocabulary of ", vocabSize);
    if (position < 0 || position >= contextLength)
      return failure("position ", position, " is outside the context of ",
                     contextLength, " tokens");
    // Rows after the first of a sequence continue it: StepBatch sees to that.
    if (r > 0 && batch.sequences()[r - 1] == sequence)
      continue;
    auto found = lengths.find(sequence);
    int64_t length = found == lengths.end() ? 0 : found->second;
    if (position > length)
      return failure("sequence ", sequence, " has ", length,
                     " tokens, and a row at position ", position,
                     " does not continue it");
  }
  return {};
}

Expected<RowData> Interpreter::step(const StepBatch &batch) {
  if (Status status = checkBatch(batch); !status.ok())
    return status;
  Scope scope;
  scope.set(modelOp.getBatch(), &batch);
  Expected<std::shared_ptr<const RowData>> logits =
      evalBlock(modelOp.getBody().front(), scope, environment);
  if (!logits)
    return logits.status();
  for (int64_t r = 0; r < batch.rows(); ++r)
    lengths[batch.sequences()[r]] = batch.positions()[r] + 1;
  // A model may return the logits of all rows.
  if ((*logits)->rows() != batch.outputs())
    return evalSelectOutputs(**logits, batch);
  return **logits;
}

void Interpreter::erase(SequenceId sequence) {
  lengths.erase(sequence);
  for (auto &[layer, cache] : environment.caches)
    cache->erase(sequence);
}
