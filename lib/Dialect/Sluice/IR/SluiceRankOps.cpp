//===- SluiceRankOps.cpp - ranks, channels, workers -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// RankOp, ChannelOp
//===----------------------------------------------------------------------===//

LogicalResult RankOp::verify() {
  // rank_c1
  if (static_cast<int64_t>(getIndex()) < 0)
    return emitOpError() << "index must not be negative, got "
                         << static_cast<int64_t>(getIndex());
  return success();
}

LogicalResult ChannelOp::verify() {
  // channel_c2
  constexpr int64_t maxCapacity = 65536;
  int64_t capacity = getCapacity();
  if (capacity < 1 || capacity > maxCapacity)
    return emitOpError() << "capacity must be 1 to " << maxCapacity << ", got "
                         << capacity;
  return success();
}

LogicalResult ChannelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // channel_c1
  return success(succeeded(lookUp<RankOp>(*this, getFromAttr(), symbols)) &&
                 succeeded(lookUp<RankOp>(*this, getToAttr(), symbols)));
}

//===----------------------------------------------------------------------===//
// WorkerOp
//===----------------------------------------------------------------------===//

ReceiveOp WorkerOp::getReceive() {
  return cast<ReceiveOp>(getBody().front().front());
}

SendOp WorkerOp::getSend() { return cast<SendOp>(getBody().front().back()); }

LogicalResult WorkerOp::verify() {
  return verifyPrediction(*this, getCosts(), getStepRows());
}

LogicalResult WorkerOp::verifyRegions() {
  // worker_c6
  Block &body = getBody().front();
  if (body.getNumArguments() > 0)
    return emitOpError("must take no arguments: rows come in by "
                       "sluice.receive");
  // worker_c2
  if (!llvm::hasSingleElement(body.getOps<ReceiveOp>()) ||
      !llvm::hasSingleElement(body.getOps<SendOp>()) ||
      !isa<ReceiveOp>(body.front()) || !isa<SendOp>(body.back()))
    return emitOpError("must begin with its one sluice.receive and end with "
                       "its one sluice.send");
  // worker_c3
  if (failed(verifyLayerNumbers(getBody(), std::nullopt)))
    return failure();
  return verifyRowFlow(*this);
}

LogicalResult WorkerOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // worker_c1
  return lookUp<RankOp>(*this, getRankAttr(), symbols);
}

//===----------------------------------------------------------------------===//
// ReceiveOp, SendOp
//===----------------------------------------------------------------------===//

void ReceiveOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBatch(), "b");
  if (getRows())
    setName(getRows(), "h");
}

LogicalResult ReceiveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<ChannelOp> channel =
      lookUp<ChannelOp>(*this, getChannelAttr(), symbols);
  if (failed(channel))
    return failure();
  // receive_c2
  auto worker = cast<WorkerOp>((*this)->getParentOp());
  if (channel->getToAttr() != worker.getRankAttr())
    return emitOpError() << "is at " << worker.getRankAttr() << ", but "
                         << getChannelAttr() << " goes to "
                         << channel->getToAttr();
  // receive_c3
  Type rows = getRows() ? getRows().getType() : Type();
  if (channel->getFrame() !=
      FrameType::get(getContext(), FrameKind::Rows, rows))
    return emitOpError() << "does not take what " << getChannelAttr()
                         << " carries, " << channel->getFrame();
  return success();
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<ChannelOp> channel =
      lookUp<ChannelOp>(*this, getChannelAttr(), symbols);
  if (failed(channel))
    return failure();
  // send_c2
  auto worker = cast<WorkerOp>((*this)->getParentOp());
  if (channel->getFromAttr() != worker.getRankAttr())
    return emitOpError() << "is at " << worker.getRankAttr() << ", but "
                         << getChannelAttr() << " comes from "
                         << channel->getFromAttr();
  if (channel->getFrame().getKind() != FrameKind::Rows)
    return success();
  // send_c3
  if (channel->getFrame().getActivations() != getRows().getType())
    return emitOpError() << "does not send what " << getChannelAttr()
                         << " carries, " << channel->getFrame();
  // send_c4
  if (isOfOutputs(worker, getRows()))
    return emitOpError("sends rows that sluice.select_outputs picked, but ")
           << getChannelAttr() << " carries those of the whole batch";
  return success();
}
