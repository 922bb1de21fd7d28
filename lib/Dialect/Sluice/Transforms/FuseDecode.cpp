//===- FuseDecode.cpp - row fusion of one request's step ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "sluice-fuse-decode"

namespace sluice {
#define GEN_PASS_DEF_FUSEDECODE
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Checks of the ops
//===----------------------------------------------------------------------===//

/// Checks that each tensor of the op is either rows, which can be concatenated,
/// or static, that is a weight, which is the same for all rows.
static LogicalResult checkTensors(Operation *op) {
  auto rows = dyn_cast<RowSemanticsInterface>(op);
  bool makesRows = rows && rows.getRowSemantics() != RowSemantics::Structural;
  auto check = [&](Type type, bool mayBeWeight) -> LogicalResult {
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor || isRows(tensor) || (mayBeWeight && tensor.hasStaticShape()))
      return success();
    return op->emitOpError("cannot be fused: ")
           << type
           << " has no rows to concatenate, which are the first dimension of a "
              "tensor<?xNxf32> and its only dynamic one";
  };
  for (Type type : op->getOperandTypes())
    if (failed(check(type, /*mayBeWeight=*/true)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type, /*mayBeWeight=*/!makesRows)))
      return failure();
  return success();
}

/// Checks that the op's operands fit its semantics: a per-sequence op takes the
/// rows' sequences, and a row-wise op takes no cache.
static LogicalResult checkOperands(Operation *op, RowSemantics semantics) {
  auto takes = [&](llvm::function_ref<bool(Type)> is) {
    return llvm::any_of(op->getOperandTypes(), is);
  };
  if (semantics == RowSemantics::PerSequence && !takes(isStepRows))
    return op->emitOpError("cannot be fused: it is per-sequence, but is not "
                           "given the rows' sequences");
  if (semantics == RowSemantics::RowWise && takes(llvm::IsaPred<CacheType>))
    return op->emitOpError(
        "cannot be fused: it is row-wise by its own account, "
        "but takes a sequence's cache");
  return success();
}

namespace {

/// The number of ops of each kind in one step.
struct OpCounts {
  int64_t rowWise = 0, perSequence = 0;
};

} // namespace

/// Checks that the op's rows may belong to any sequences, and counts the op.
static LogicalResult classify(Operation *op, OpCounts &counts) {
  if (failed(checkTensors(op)))
    return failure();
  auto rows = dyn_cast<RowSemanticsInterface>(op);
  if (!rows)
    return op->emitOpError("cannot be fused: it does not say whether it is "
                           "row-wise or per-sequence");
  // The ops in a layer are checked instead of the layer.
  if (isa<LayerOp>(op))
    return success();
  RowSemantics semantics = rows.getRowSemantics();
  counts.rowWise += semantics == RowSemantics::RowWise;
  counts.perSequence += semantics == RowSemantics::PerSequence;
  return checkOperands(op, semantics);
}

/// Checks all ops of a `sluice.model` or `sluice.stage`.
static FailureOr<OpCounts> classifyOps(Operation *frame) {
  if (isFused(frame))
    return frame->emitError("is fused already: it takes a !sluice.batch");
  OpCounts counts;
  WalkResult result = frame->getRegion(0).walk<WalkOrder::PreOrder>(
      [&](Operation *op) -> WalkResult { return classify(op, counts); });
  if (result.wasInterrupted())
    return failure();
  return counts;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class FuseDecodePass : public sluice::impl::FuseDecodeBase<FuseDecodePass> {
public:
  using FuseDecodeBase::FuseDecodeBase;

  void runOnOperation() override {
    SmallVector<std::pair<Operation *, OpCounts>> frames;
    for (Operation &op : *getOperation().getBody()) {
      if (!isa<ModelOp, StageOp>(op))
        continue;
      FailureOr<OpCounts> counts = classifyOps(&op);
      if (failed(counts))
        return signalPassFailure();
      frames.emplace_back(&op, *counts);
    }
    if (frames.empty()) {
      getOperation().emitError("there is no sluice.model or sluice.stage whose "
                               "steps could be fused");
      return signalPassFailure();
    }
    for (auto &[frame, counts] : frames)
      fuse(frame, counts);
  }

private:
  /// Turns the frame's chunk into a batch. Every op that takes it then reads
  /// each row's sequence and position from it.
  void fuse(Operation *frame, const OpCounts &counts) {
    frame->getRegion(0).getArgument(0).setType(BatchType::get(&getContext()));
    ++stepsFused;
    rowWiseOps += counts.rowWise;
    perSequenceOps += counts.perSequence;
    remark::passed(frame->getLoc(),
                   remark::RemarkOpts::name("fused").category(DEBUG_TYPE))
        << remark::metric("in", SymbolTable::getSymbolName(frame).getValue())
        << remark::metric("row-wise", counts.rowWise)
        << remark::metric("per-sequence", counts.perSequence);
  }
};

} // namespace
