//===- Evaluator.cpp - execution of one op --------------------------------===//
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

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

static Status evalWeight(Operation *op, llvm::StringRef name, Scope &scope,
                         Environment &env) {
  Expected<const WeightData *> weight = env.weights.get(name);
  if (!weight)
    return weight.status();
  scope.set(op->getResult(0), *weight);
  return {};
}

/// Sets the value of the member's slice.
static Status evalShard(ir::ShardOp op, Scope &scope, Environment &env,
                        int64_t member) {
  auto slice = llvm::cast<mlir::FlatSymbolRefAttr>(op.getSlices()[member]);
  return evalWeight(op, slice.getValue(), scope, env);
}

static Status evalLayerCache(ir::LayerCacheOp op, Scope &scope,
                             Environment &env, int64_t member) {
  auto layer = op->getParentOfType<ir::LayerOp>();
  std::unique_ptr<KVCache> &cache = env.caches[{layer, member}];
  if (!cache) {
    auto type = llvm::cast<ir::CacheType>(op.getCache().getType());
    cache = std::make_unique<KVCache>(type.getKvHeads(), type.getHeadDim());
  }
  scope.set(op.getCache(), cache.get());
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

/// Executes an op in the body of a row loop. The rope table is declared outside
/// of the loop.
static RowData evalRotationsOp(ir::RotationsOp op, const StepBatch &batch) {
  auto loop = llvm::cast<ir::TaskRowsOp>(op->getParentOp());
  auto table = loop.getWeight(op.getTable()).getDefiningOp<ir::RopeTableOp>();
  ir::RopeTableAttr parameters = table.getParameters();
  ir::RopeFrequencies frequencies;
  frequencies.inverse.assign(parameters.getInverse().asArrayRef().begin(),
                             parameters.getInverse().asArrayRef().end());
  frequencies.attentionFactor =
      static_cast<float>(parameters.getFactor().convertToDouble());
  return evalRotations(batch.positions(), frequencies);
}

static Status evalSplitQKVOp(ir::SplitQKVOp op, Scope &scope) {
  QKVRows split = evalSplitQKV(scope.rows(op.getInput()), op.getLayout(),
                               op.getHeads(), op.getKvHeads(), op.getHeadDim());
  scope.set(op.getQuery(), std::move(split.query));
  scope.set(op.getKey(), std::move(split.key));
  scope.set(op.getValue(), std::move(split.value));
  return {};
}

static Status evalAttendOp(ir::AttendOp op, Scope &scope, Environment &env,
                           int64_t member) {
  AttendParams params;
  params.heads = op.getHeads();
  params.allHeads = op.getAllHeads().value_or(op.getHeads());
  // A worker has one member, and only that member's first head.
  if (auto first = op.getFirstHeads())
    params.firstHead = first->size() > 1 ? (*first)[member] : first->front();
  params.scale = op.getScale().convertToDouble();
  params.window = op.getWindow();
  if (std::optional<llvm::APFloat> softcap = op.getSoftcap())
    params.softcap = softcap->convertToDouble();
  if (std::optional<llvm::APFloat> alibi = op.getAlibi())
    params.alibi = alibi->convertToDouble();
  KVCache &cache = scope.cache(op.getCache());
  const StepBatch &batch = scope.batch(op.getBatch());
  evalAppend(scope.rows(op.getKey()), scope.rows(op.getValue()), cache, batch,
             *env.pages);
  scope.set(op.getResult(), evalAttend(scope.rows(op.getQuery()), cache, batch,
                                       params, *env.pages));
  return {};
}

/// Executes the ops whose result is one call of a function of Ops.h.
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
                               op.countHeads(),
                               op.getEpsilon().convertToDouble());
          })
          .Case([&](ir::LayerNormOp op) {
            return evalLayerNorm(
                s.rows(op.getInput()), s.weight(op.getWeight()),
                s.optionalWeight(op.getBias()), op.countHeads(),
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
          })
          .Case([&](ir::RotationsOp op) {
            return evalRotationsOp(op, s.batch(op.getBatch()));
          })
          .Case([&](ir::RotateOp op) {
            return evalRotate(s.rows(op.getInput()), s.rows(op.getRotations()),
                              op.getStyle(), op.getHeads(), op.getHeadDim());
          })
          .Case([&](ir::AddBiasOp op) {
            std::vector<const WeightData *> biases;
            for (mlir::Value bias : op.getBiases())
              biases.push_back(&s.weight(bias));
            const RowData *input = &s.rows(op.getInput());
            return evalAllReduce({&input, 1}, biases);
          })
          // The interpreter computes in float32 and does not convert operands.
          .Case([&](ir::ToOperandOp op) { return s.rows(op.getInput()); });
  s.set(op->getResult(0), std::move(result));
  return {};
}

static bool isRowWise(Operation *op) {
  return llvm::isa<ir::EmbedOp, ir::RmsNormOp, ir::LayerNormOp, ir::LinearOp,
                   ir::ActivationOp, ir::GateOp, ir::AddOp, ir::ConcatOp,
                   ir::SelectOutputsOp, ir::RotationsOp, ir::RotateOp,
                   ir::AddBiasOp, ir::ToOperandOp>(op);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

bool sluice::interpreter::isSupported(Operation *op) {
  return isRowWise(op) ||
         llvm::isa<ir::ParamOp, ir::ShardOp, ir::LayerCacheOp, ir::LayerOp,
                   ir::RopeOp, ir::SplitQKVOp, ir::AttendOp, ir::CheckpointOp,
                   ir::AllReduceOp, ir::AllGatherOp, ir::YieldOp, ir::ReturnOp,
                   ir::ForwardOp, ir::ReceiveOp, ir::SendOp>(op) ||
         llvm::isa<ir::TaskInterface, ir::BufferOp, ir::CacheOp,
                   ir::RopeTableOp, ir::BarrierOp, ir::ResultsOp,
                   ir::TaskYieldOp, ir::ReceivedRowsOp, ir::SendRowsOp>(op);
}

Status sluice::interpreter::evalOp(Operation *op, Scope &scope,
                                   Environment &env, int64_t member) {
  if (isRowWise(op))
    return evalRowWise(op, scope);
  return llvm::TypeSwitch<Operation *, Status>(op)
      .Case([&](ir::ParamOp op) {
        return evalWeight(op, op.getWeight(), scope, env);
      })
      .Case([&](ir::ShardOp op) { return evalShard(op, scope, env, member); })
      .Case([&](ir::LayerCacheOp op) {
        return evalLayerCache(op, scope, env, member);
      })
      .Case([&](ir::RopeOp op) { return evalRopeOp(op, scope); })
      .Case([&](ir::SplitQKVOp op) { return evalSplitQKVOp(op, scope); })
      .Case(
          [&](ir::AttendOp op) { return evalAttendOp(op, scope, env, member); })
      // The caller of Execution has set the received values.
      .Case([](ir::ReceiveOp) { return Status(); })
      .Default([](Operation *op) {
        return opError(op, "the interpreter has no definition of this op");
      });
}
