//===- Evaluator.cpp - executes the ops of a block ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "OpError.h"
#include "runtime/core/RowMoves.h"
#include "sluice/Interpreter/Ops.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace sluice;
using namespace sluice::interpreter;

using mlir::Operation;
using Rows = std::shared_ptr<const RowData>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

static Status evalParam(ir::ParamOp op, Scope &scope, Environment &env) {
  Expected<const WeightData *> weight = env.weights.get(op.getWeight());
  if (!weight)
    return weight.status();
  scope.set(op.getValue(), *weight);
  return {};
}

static Status evalLayerCache(ir::LayerCacheOp op, Scope &scope,
                             Environment &env) {
  auto layer = op->getParentOfType<ir::LayerOp>();
  std::unique_ptr<KVCache> &cache = env.caches[layer];
  if (!cache) {
    auto type = llvm::cast<ir::CacheType>(op.getCache().getType());
    cache = std::make_unique<KVCache>(type.getKvHeads(), type.getHeadDim());
  }
  scope.set(op.getCache(), cache.get());
  return {};
}

static Status evalLayer(ir::LayerOp op, Scope &scope, Environment &env) {
  Scope inner(&scope);
  mlir::Block &body = op.getBody().front();
  inner.set(body.getArgument(0), scope.get(op.getInput()));
  Expected<Rows> result = evalBlock(body, inner, env);
  if (!result)
    return result.status();
  scope.set(op.getResult(), *result);
  // With checkpoints inside, what is left of the batch as well.
  auto yield = llvm::cast<ir::YieldOp>(body.getTerminator());
  if (op.getResultBatch())
    scope.set(op.getResultBatch(), inner.get(yield.getBatch()));
  return {};
}

/// Which records of a value that has one for each row, or one for each output,
/// stay: the old record that each new one comes from.
static std::vector<int64_t> keptRecords(const StepBatch &before,
                                        const StepBatch &after,
                                        const std::vector<int64_t> &keptRows,
                                        bool isOfOutputs) {
  if (!isOfOutputs)
    return keptRows;
  std::vector<int64_t> kept;
  for (int32_t row : after.outputRows()) {
    auto outputs = before.outputRows();
    auto place = llvm::find(outputs, keptRows[row]);
    kept.push_back(place - outputs.begin());
  }
  return kept;
}

static Status evalCheckpoint(ir::CheckpointOp op, Scope &scope,
                             Environment &env) {
  const StepBatch &before = scope.batch(op.getBatch());
  std::vector<uint8_t> alive(before.rows(), 1);
  if (env.alive)
    alive = env.alive(before);
  std::vector<RowMove> moves;
  int64_t rows = planCompaction(alive, moves);
  env.batches.push_back(std::make_unique<StepBatch>(before));
  StepBatch &after = *env.batches.back();
  after.keep(alive, moves, rows);

  std::vector<int64_t> keptRows(before.rows());
  std::iota(keptRows.begin(), keptRows.end(), 0);
  for (RowMove move : moves)
    keptRows[move.to] = move.from;
  keptRows.resize(rows);
  scope.set(op.getResultBatch(), &after);
  for (auto [input, result] :
       llvm::zip_equal(op.getInputs(), op.getResults())) {
    const RowData &records = scope.rows(input);
    // As many outputs as rows: all rows are outputs, in their order.
    bool isOfOutputs = records.rows() != before.rows();
    std::vector<int64_t> kept =
        keptRecords(before, after, keptRows, isOfOutputs);
    RowData left(kept.size(), records.width());
    for (size_t r = 0; r < kept.size(); ++r)
      llvm::copy(records.row(kept[r]), left.row(r).begin());
    scope.set(result, std::move(left));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Ops on rows
//===----------------------------------------------------------------------===//

static Status evalRopeOp(ir::RopeOp op, Scope &scope) {
  std::span<const float> factors;
  if (op.getFactors())
    factors = scope.weight(op.getFactors()).data;
  RopeParams params{
      op.getStyle(), static_cast<int64_t>(op.getHeads()),
      static_cast<int64_t>(op.getHeadDim()),
      ir::computeRopeFrequencies(op, {factors.data(), factors.size()})};
  scope.set(op.getResult(),
            evalRope(scope.rows(op.getInput()),
                     scope.batch(op.getBatch()).positions(), params));
  return {};
}

static Status evalSplitQKVOp(ir::SplitQKVOp op, Scope &scope) {
  QKVRows split = evalSplitQKV(scope.rows(op.getInput()), op.getLayout(),
                               op.getHeads(), op.getKvHeads(), op.getHeadDim());
  scope.set(op.getQuery(), std::move(split.query));
  scope.set(op.getKey(), std::move(split.key));
  scope.set(op.getValue(), std::move(split.value));
  return {};
}

static Status evalAttendOp(ir::AttendOp op, Scope &scope) {
  AttendParams params;
  params.heads = op.getHeads();
  params.scale = op.getScale().convertToDouble();
  params.window = op.getWindow();
  if (std::optional<llvm::APFloat> softcap = op.getSoftcap())
    params.softcap = softcap->convertToDouble();
  if (std::optional<llvm::APFloat> alibi = op.getAlibi())
    params.alibi = alibi->convertToDouble();
  scope.set(op.getResult(),
            evalAttend(scope.rows(op.getQuery()), scope.rows(op.getKey()),
                       scope.rows(op.getValue()), scope.cache(op.getCache()),
                       scope.batch(op.getBatch()), params));
  return {};
}

/// The ops whose results are one call of a function of Ops.h.
static Status evalRowWise(Operation *op, Scope &s) {
  RowData result =
      llvm::TypeSwitch<Operation *, RowData>(op)
          .Case([&](ir::EmbedOp op) {
            const StepBatch &batch = s.batch(op.getBatch());
            bool byToken = op.getBy() == ir::EmbedIndex::Token;
            return evalEmbed(s.weight(op.getTable()),
                             byToken ? batch.tokens() : batch.positions());
          })
          .Case([&](ir::RmsNormOp op) {
            return evalRmsNorm(s.rows(op.getInput()), s.weight(op.getWeight()),
                               op.getEpsilon().convertToDouble());
          })
          .Case([&](ir::LayerNormOp op) {
            return evalLayerNorm(s.rows(op.getInput()),
                                 s.weight(op.getWeight()),
                                 s.optionalWeight(op.getBias()),
                                 op.getEpsilon().convertToDouble());
          })
          .Case([&](ir::LinearOp op) {
            return evalLinear(s.rows(op.getInput()), s.weight(op.getWeight()),
                              s.optionalWeight(op.getBias()),
                              op.getTransposed(),
                              {op.getFirstColumn(), op.getEndColumn()});
          })
          .Case([&](ir::ActivationOp op) {
            return evalActivation(op.getKind(), s.rows(op.getInput()));
          })
          .Case([&](ir::GateOp op) {
            return evalGate(op.getKind(), s.rows(op.getGate()),
                            s.rows(op.getInput()));
          })
          .Case([&](ir::AddOp op) {
            return evalAdd(s.rows(op.getLhs()), s.rows(op.getRhs()));
          })
          .Case([&](ir::ConcatOp op) {
            std::vector<const RowData *> inputs;
            for (mlir::Value input : op.getInputs())
              inputs.push_back(&s.rows(input));
            return evalConcat(inputs);
          })
          .Case([&](ir::SelectOutputsOp op) {
            return evalSelectOutputs(s.rows(op.getInput()),
                                     s.batch(op.getBatch()));
          });
  s.set(op->getResult(0), std::move(result));
  return {};
}

static bool isRowWise(Operation *op) {
  return llvm::isa<ir::EmbedOp, ir::RmsNormOp, ir::LayerNormOp, ir::LinearOp,
                   ir::ActivationOp, ir::GateOp, ir::AddOp, ir::ConcatOp,
                   ir::SelectOutputsOp>(op);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

bool sluice::interpreter::isSupported(Operation *op) {
  return isRowWise(op) ||
         llvm::isa<ir::ParamOp, ir::LayerCacheOp, ir::LayerOp, ir::RopeOp,
                   ir::SplitQKVOp, ir::AttendOp, ir::CheckpointOp, ir::YieldOp,
                   ir::ReturnOp, ir::ForwardOp, ir::ReceiveOp, ir::SendOp>(op);
}

static Status evalOp(Operation *op, Scope &scope, Environment &env) {
  if (isRowWise(op))
    return evalRowWise(op, scope);
  return llvm::TypeSwitch<Operation *, Status>(op)
      .Case([&](ir::ParamOp op) { return evalParam(op, scope, env); })
      .Case([&](ir::LayerCacheOp op) { return evalLayerCache(op, scope, env); })
      .Case([&](ir::LayerOp op) { return evalLayer(op, scope, env); })
      .Case([&](ir::RopeOp op) { return evalRopeOp(op, scope); })
      .Case([&](ir::SplitQKVOp op) { return evalSplitQKVOp(op, scope); })
      .Case([&](ir::AttendOp op) { return evalAttendOp(op, scope); })
      .Case([&](ir::CheckpointOp op) { return evalCheckpoint(op, scope, env); })
      // Whoever executes the part has set what it receives.
      .Case([](ir::ReceiveOp) { return Status(); })
      .Default([](Operation *op) {
        return opError(op, "the interpreter has no definition of this op");
      });
}

Expected<Rows> sluice::interpreter::evalBlock(mlir::Block &block, Scope &scope,
                                              Environment &environment) {
  Operation *last = &block.back();
  for (Operation &op : block) {
    if (&op == last)
      break;
    if (Status status = evalOp(&op, scope, environment); !status.ok())
      return status;
  }
  // A worker ends by sending its rows, everything else with a terminator.
  mlir::Value passedOn = last->getOperand(0);
  if (auto send = llvm::dyn_cast<ir::SendOp>(last))
    passedOn = send.getRows();
  return std::get<Rows>(scope.get(passedOn));
}
