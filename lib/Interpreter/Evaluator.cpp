//===- Evaluator.cpp - executes the ops of a block ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include "OpError.h"
#include "sluice/Interpreter/Ops.h"

#include "llvm/ADT/TypeSwitch.h"

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
                              op.getTransposed());
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
          .Case([&](ir::SelectOutputsOp op) {
            return evalSelectOutputs(s.rows(op.getInput()),
                                     s.batch(op.getBatch()));
          });
  s.set(op->getResult(0), std::move(result));
  return {};
}

static bool isRowWise(Operation *op) {
  return llvm::isa<ir::EmbedOp, ir::RmsNormOp, ir::LayerNormOp, ir::LinearOp,
                   ir::ActivationOp, ir::GateOp, ir::AddOp,
                   ir::SelectOutputsOp>(op);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

bool sluice::interpreter::isSupported(Operation *op) {
  return isRowWise(op) ||
         llvm::isa<ir::ParamOp, ir::LayerCacheOp, ir::LayerOp, ir::RopeOp,
                   ir::SplitQKVOp, ir::AttendOp, ir::YieldOp, ir::ReturnOp>(op);
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
      .Default([](Operation *op) {
        return opError(op, "the interpreter has no definition of this op");
      });
}

Expected<Rows> sluice::interpreter::evalBlock(mlir::Block &block, Scope &scope,
                                              Environment &environment) {
  for (Operation &op : block.without_terminator())
    if (Status status = evalOp(&op, scope, environment); !status.ok())
      return status;
  mlir::Value passedOn = block.getTerminator()->getOperand(0);
  return std::get<Rows>(scope.get(passedOn));
}
