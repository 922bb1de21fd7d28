//===- SluiceTaskOps.cpp - the tasks of a step ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"
#include "TaskChecks.h"
#include "TaskKernels.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace sluice::ir;

/// Adds an access of a task that does not split its work by rows, so that a
/// thread may access any record.
static void addWhole(SmallVectorImpl<MemoryAccess> &accesses, Value memory,
                     bool writes) {
  if (memory)
    accesses.push_back({memory, AccessExtent::All, writes});
}

LogicalResult sluice::ir::verifyDomain(Operation *op, StringRef what,
                                       Value buffer, ValueDomain domain) {
  if (buffer && getType(buffer).getDomain() != domain)
    return op->emitOpError()
           << what << " is of "
           << stringifyValueDomain(getType(buffer).getDomain())
           << ", the task of " << stringifyValueDomain(domain);
  return success();
}

static LogicalResult verifyFloats(Operation *op, StringRef what, Value buffer,
                                  int64_t width) {
  if (!buffer)
    return success();
  if (!getType(buffer).isFloats())
    return op->emitOpError() << what << " must be floats";
  if (getType(buffer).getWidth() != width)
    return op->emitOpError() << what << " is " << getType(buffer).getWidth()
                             << " wide, expected " << width;
  return success();
}

//===----------------------------------------------------------------------===//
// TaskProductOp
//===----------------------------------------------------------------------===//

int64_t TaskProductOp::getInFeatures() {
  return getWeight().getType().getDimSize(getTransposed() ? 0 : 1);
}

int64_t TaskProductOp::getOutFeatures() {
  return getWeight().getType().getDimSize(getTransposed() ? 1 : 0);
}

int64_t TaskProductOp::getFirstColumn() {
  return static_cast<int64_t>(getColumnsBegin().value_or(0));
}

int64_t TaskProductOp::getEndColumn() {
  return static_cast<int64_t>(getColumnsEnd().value_or(getOutFeatures()));
}

ParamOp TaskProductOp::getWeightParam() {
  return getWeight().getDefiningOp<ParamOp>();
}

static LogicalResult verifyGate(TaskProductOp op) {
  // task.product_c5
  if (!op.getGate() && !op.getPartner() && !op.getPartnerBias())
    return success();
  if (!op.getGate() || !op.getPartner() || !op.isWhole() || op.getResidual())
    return op.emitOpError("needs a gate and a partner of all columns, and no "
                          "residual");
  if (op.getPartner().getType() != op.getWeight().getType() ||
      !op.getBias() != !op.getPartnerBias())
    return op.emitOpError("has a partner that is not like its weight");
  auto target = op->getParentOfType<StepOp>().getPlanTarget();
  if (!target.gatesProducts(*op.getGate()))
    return op.emitOpError("has the gate ")
           << stringifyActivationKind(*op.getGate())
           << ", which products do not have on " << target.getTitle();
  return success();
}

LogicalResult TaskProductOp::verify() {
  if (!getWeightParam())
    return emitOpError("has a weight that no sluice.param brings in");
  // task.product_c1
  if (failed(verifyDomain(*this, "the input", getInput(), getDomain())) ||
      failed(verifyDomain(*this, "the residual", getResidual(), getDomain())) ||
      failed(verifyDomain(*this, "the output", getOutput(), getDomain())))
    return failure();
  // task.product_c4
  if (failed(verifyColumns(*this)))
    return failure();
  // task.product_c2
  if (int64_t width = getType(getInput()).getWidth(); width != getInFeatures())
    return emitOpError() << "the input is " << width
                         << " wide, the weight takes " << getInFeatures();
  int64_t columns = getEndColumn() - getFirstColumn();
  if (failed(verifyFloats(*this, "the output", getOutput(), columns)) ||
      failed(verifyFloats(*this, "the residual", getResidual(), columns)))
    return failure();
  // task.product_c3
  for (Value bias : {getBias(), getPartnerBias()})
    if (bias && cast<RankedTensorType>(bias.getType()).getDimSize(0) !=
                    getOutFeatures())
      return emitOpError(
          "has a bias that is not as long as the weight's 'out'");
  return verifyGate(*this);
}

SmallVector<MemoryAccess> TaskProductOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getInput(), /*writes=*/false);
  addWhole(accesses, getResidual(), /*writes=*/false);
  addWhole(accesses, getOutput(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskProductOp::getTaskDomain() { return getDomain(); }

//===----------------------------------------------------------------------===//
// TaskAppendOp, TaskAttendOp
//===----------------------------------------------------------------------===//

/// Checks keys and values against the cache.
static LogicalResult verifyKeysAndValues(Operation *op, Value key, Value value,
                                         CacheType cache) {
  int64_t width = cache.getKvHeads() * cache.getHeadDim();
  for (Value buffer : {key, value})
    if (failed(verifyFloats(op, "a key or value", buffer, width)) ||
        failed(verifyDomain(op, "a key or value", buffer, ValueDomain::Rows)))
      return failure();
  return success();
}

LogicalResult TaskAppendOp::verify() {
  // task.append_c1
  return verifyKeysAndValues(*this, getKey(), getValue(), getCache().getType());
}

SmallVector<MemoryAccess> TaskAppendOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getKey(), /*writes=*/false);
  addWhole(accesses, getValue(), /*writes=*/false);
  addWhole(accesses, getCache(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskAppendOp::getTaskDomain() { return ValueDomain::Rows; }

/// Alibi's slopes of `heads` heads, as the description of `sluice.attend` has
/// them, times `factor`.
static SmallVector<float> computeSlopes(int64_t heads, double factor) {
  auto power =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  SmallVector<float> slopes;
  for (int64_t i = 1; i <= power; ++i)
    slopes.push_back(factor * std::exp2(-8.0 * i / power));
  // Every other slope of twice as many heads, which lie between these.
  for (int64_t i = 1; power + (i + 1) / 2 <= heads; i += 2)
    slopes.push_back(factor * std::exp2(-8.0 * i / (2 * power)));
  return slopes;
}

SmallVector<float> TaskAttendOp::getSlopes() {
  if (!getAlibi())
    return {};
  // A member of a group has some of the heads.
  auto heads = static_cast<int64_t>(getHeads());
  auto first = static_cast<int64_t>(getFirstHead().value_or(0));
  auto all = static_cast<int64_t>(getAllHeads().value_or(getHeads()));
  SmallVector<float> slopes = computeSlopes(all, getAlibi()->convertToDouble());
  return SmallVector<float>(ArrayRef<float>(slopes).slice(first, heads));
}

LogicalResult TaskAttendOp::verify() {
  // task.attend_c1
  CacheType cache = getCache().getType();
  auto heads = static_cast<int64_t>(getHeads());
  if (heads <= 0 || heads % cache.getKvHeads() != 0)
    return emitOpError() << "has " << heads
                         << " heads, which are no positive multiple of "
                         << cache.getKvHeads();
  for (Value buffer : {getQuery(), getOutput()})
    if (failed(verifyFloats(*this, "query or output", buffer,
                            heads * cache.getHeadDim())) ||
        failed(
            verifyDomain(*this, "query or output", buffer, ValueDomain::Rows)))
      return failure();
  // task.attend_c2
  if (!getKey() != !getValue())
    return emitOpError("needs keys and values together");
  return verifyKeysAndValues(*this, getKey(), getValue(), cache);
}

SmallVector<MemoryAccess> TaskAttendOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getQuery(), /*writes=*/false);
  addWhole(accesses, getKey(), /*writes=*/false);
  addWhole(accesses, getValue(), /*writes=*/false);
  addWhole(accesses, getCache(), /*writes=*/false);
  addWhole(accesses, getOutput(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskAttendOp::getTaskDomain() { return ValueDomain::Rows; }

//===----------------------------------------------------------------------===//
// TaskExchangeOp, TaskCheckpointOp, TaskSampleOp
//===----------------------------------------------------------------------===//

LogicalResult TaskExchangeOp::verify() {
  // task.exchange_c1
  for (Value buffer : {getInput(), getOutput(), getScratch()}) {
    if (!getType(buffer).isFloats())
      return emitOpError("exchanges records that are not floats");
    if (failed(verifyDomain(*this, "a buffer", buffer, getDomain())))
      return failure();
  }
  // task.exchange_c2
  int64_t input = getType(getInput()).getWidth();
  int64_t output = getType(getOutput()).getWidth();
  bool isSum = getKind() == ExchangeKind::Sum;
  if (isSum ? output != input : output <= input)
    return emitOpError() << "makes rows of " << output << " features from rows "
                         << "of " << input;
  // task.exchange_c3
  int64_t members = (*this)->getParentOfType<StepOp>().getMembers();
  if (getType(getScratch()).getWidth() != input * members)
    return emitOpError() << "has room for " << getType(getScratch()).getWidth()
                         << " features, but " << members << " members bring "
                         << input << " each";
  return success();
}

SmallVector<MemoryAccess> TaskExchangeOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getInput(), /*writes=*/false);
  addWhole(accesses, getOutput(), /*writes=*/true);
  addWhole(accesses, getScratch(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskExchangeOp::getTaskDomain() { return getDomain(); }

LogicalResult TaskCheckpointOp::verify() {
  // task.checkpoint_c1
  llvm::SmallPtrSet<Value, 8> buffers;
  for (Value buffer : getBuffers())
    if (!buffers.insert(buffer).second)
      return emitOpError("moves a buffer twice");
  // task.checkpoint_c2
  if ((*this)->getParentOfType<StepOp>().getPlanTarget().keepsOutputs())
    for (Value buffer : getBuffers())
      if (getType(buffer).getDomain() == ValueDomain::Outputs)
        return emitOpError(
            "moves a buffer of outputs, which keep their places");
  return success();
}

SmallVector<MemoryAccess> TaskCheckpointOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  for (Value buffer : getBuffers()) {
    addWhole(accesses, buffer, /*writes=*/false);
    addWhole(accesses, buffer, /*writes=*/true);
  }
  return accesses;
}

ValueDomain TaskCheckpointOp::getTaskDomain() { return ValueDomain::Rows; }

LogicalResult TaskSampleOp::verify() {
  // task.sample_c1
  for (Value buffer : {getLogits(), getParts()})
    if (buffer && (!getType(buffer).isFloats() ||
                   getType(buffer).getDomain() != ValueDomain::Outputs))
      return emitOpError("needs floats of outputs");
  // task.sample_c2
  if (getKernels() && getKernels()->size() != (getParts() ? 2 : 1))
    return emitOpError() << "has " << getKernels()->size()
                         << " kernels, which is not what it takes";
  return success();
}

LogicalResult TaskSampleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // task.sample_c2
  if (!getKernels())
    return success();
  auto floats = [](Value buffer) {
    return TaskMemory{false, buffer ? getType(buffer).getFloats() : 0};
  };
  TaskMemory logits = floats(getLogits()), parts = floats(getParts());
  auto kernels = llvm::to_vector(getKernels()->getAsRange<KernelAttr>());
  if (failed(verifyKernel(*this, kernels[0], {{}, logits, parts}, symbols)))
    return failure();
  if (kernels.size() == 1)
    return success();
  return verifyKernel(*this, kernels[1], {{}, parts, {}}, symbols);
}

SmallVector<MemoryAccess> TaskSampleOp::getAccesses() {
  SmallVector<MemoryAccess> accesses;
  addWhole(accesses, getLogits(), /*writes=*/false);
  addWhole(accesses, getParts(), /*writes=*/true);
  return accesses;
}

ValueDomain TaskSampleOp::getTaskDomain() { return ValueDomain::Outputs; }
