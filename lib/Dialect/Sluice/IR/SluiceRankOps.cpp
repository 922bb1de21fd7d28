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
  for (FlatSymbolRefAttr end : {getFromAttr(), getToAttr()})
    if (!isa_and_nonnull<RankOp, GroupOp>(
            symbols.lookupNearestSymbolFrom(*this, end)))
      return emitOpError() << end << " is not a sluice.rank or sluice.group";
  return success();
}

//===----------------------------------------------------------------------===//
// GroupOp
//===----------------------------------------------------------------------===//

WorkerOp ir::getFirstWorker(Operation *stage) {
  if (auto group = dyn_cast_or_null<GroupOp>(stage)) {
    SmallVector<WorkerOp> workers = getWorkers(group);
    return workers.empty() ? WorkerOp() : workers.front();
  }
  return dyn_cast_or_null<WorkerOp>(stage);
}

SmallVector<WorkerOp> ir::getWorkers(GroupOp group) {
  SmallVector<WorkerOp> workers;
  for (auto name : group.getWorkers().getAsRange<FlatSymbolRefAttr>())
    if (auto worker =
            SymbolTable::lookupNearestSymbolFrom<WorkerOp>(group, name))
      workers.push_back(worker);
  return workers;
}

/// Returns the attributes that must be equal in the ops of two members: all
/// except those that name a member's own weights and heads.
static DictionaryAttr commonAttributes(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  if (auto param = dyn_cast<ParamOp>(op))
    attributes.erase(param.getWeightAttrName());
  if (auto attend = dyn_cast<AttendOp>(op))
    attributes.erase(attend.getFirstHeadsAttrName());
  return attributes.getDictionary(op->getContext());
}

/// Checks that two members have the same ops, in the same order.
static LogicalResult verifySameOps(WorkerOp first, WorkerOp other) {
  // group_c3
  auto opsOf = [](WorkerOp worker) {
    SmallVector<Operation *> ops;
    worker.getBody().walk<WalkOrder::PreOrder>(
        [&](Operation *op) { ops.push_back(op); });
    return ops;
  };
  SmallVector<Operation *> expected = opsOf(first), ops = opsOf(other);
  if (expected.size() != ops.size())
    return other.emitOpError()
           << "has " << ops.size() << " ops, but @" << first.getSymName()
           << ", a member of the same "
           << "group, " << expected.size();
  for (auto [a, b] : llvm::zip_equal(expected, ops)) {
    if (a->getName() == b->getName() &&
        a->getResultTypes() == b->getResultTypes() &&
        a->getOperandTypes() == b->getOperandTypes() &&
        commonAttributes(a) == commonAttributes(b))
      continue;
    InFlightDiagnostic error = b->emitOpError("is not what @")
                               << first.getSymName()
                               << ", a member of the same group, does here";
    error.attachNote(a->getLoc()) << "which is this";
    return error;
  }
  return success();
}

LogicalResult GroupOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // group_c1
  auto members = static_cast<int64_t>(getWorkers().size());
  if (members < minMembers || members > maxMembers)
    return emitOpError() << "has " << members << " workers, expected 2 to "
                         << maxMembers;
  SmallVector<WorkerOp> workers;
  for (auto name : getWorkers().getAsRange<FlatSymbolRefAttr>()) {
    FailureOr<WorkerOp> worker = lookUp<WorkerOp>(*this, name, symbols);
    if (failed(worker))
      return failure();
    if (worker->getGroup() != getSymName())
      return emitOpError() << "has " << name << ", which is not of it";
    for (WorkerOp before : workers) {
      if (before == *worker)
        return emitOpError() << "has " << name << " twice";
      // group_c2
      if (before.getRank() == worker->getRank())
        return emitOpError() << "has two members at " << worker->getRankAttr();
    }
    workers.push_back(*worker);
  }
  for (WorkerOp worker : ArrayRef(workers).drop_front())
    if (failed(verifySameOps(workers.front(), worker)))
      return failure();
  return success();
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
  if (failed(lookUp<RankOp>(*this, getRankAttr(), symbols)))
    return failure();
  if (!getGroupAttr())
    return success();
  // worker_c7
  FailureOr<GroupOp> group = lookUp<GroupOp>(*this, getGroupAttr(), symbols);
  if (failed(group))
    return failure();
  if (!llvm::is_contained(group->getWorkers(),
                          FlatSymbolRefAttr::get(getSymNameAttr())))
    return emitOpError() << "is of " << getGroupAttr()
                         << ", which does not have it";
  return success();
}

/// Returns the rank or group at which the channels of a worker begin or end.
static FlatSymbolRefAttr endOf(WorkerOp worker) {
  return worker.getGroupAttr() ? worker.getGroupAttr() : worker.getRankAttr();
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
  if (channel->getToAttr() != endOf(worker))
    return emitOpError() << "is at " << endOf(worker) << ", but "
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
  if (channel->getFromAttr() != endOf(worker))
    return emitOpError() << "is at " << endOf(worker) << ", but "
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
