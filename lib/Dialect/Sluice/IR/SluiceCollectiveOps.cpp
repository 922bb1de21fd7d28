//===- SluiceCollectiveOps.cpp - collectives of a group's members ---------===//
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
// Groups
//===----------------------------------------------------------------------===//

Operation *ir::getFrame(Operation *op) {
  while (op && !isa<ModelOp, StageOp, WorkerOp>(op))
    op = op->getParentOp();
  return op;
}

int64_t ir::getMembers(Operation *frame) {
  if (auto model = dyn_cast<ModelOp>(frame))
    return static_cast<int64_t>(model.getTensorParallel().value_or(1));
  if (auto stage = dyn_cast<StageOp>(frame))
    return static_cast<int64_t>(stage.getPlaces().size());
  auto worker = cast<WorkerOp>(frame);
  if (!worker.getGroupAttr())
    return 1;
  auto group = SymbolTable::lookupNearestSymbolFrom<GroupOp>(
      worker, worker.getGroupAttr());
  // If there is no such group, the verifier of the worker reports it.
  return group ? static_cast<int64_t>(group.getWorkers().size()) : 1;
}

/// Checks that the op stands in a frame that members of a group execute.
static LogicalResult verifyIsInGroup(Operation *op) {
  // all_reduce_c1
  // all_gather_c1
  Operation *frame = getFrame(op);
  auto worker = dyn_cast_or_null<WorkerOp>(frame);
  if (frame && (worker ? bool(worker.getGroupAttr()) : getMembers(frame) > 1))
    return success();
  return op->emitOpError("stands in no frame of a tensor-parallel group, whose "
                         "members could meet here");
}

/// Returns the bytes of a row that each of `members` sends in an all-gather of
/// `width` features.
static int64_t gatheredBytes(int64_t width, int64_t members) {
  return width / members * (members - 1) * static_cast<int64_t>(sizeof(float));
}

static int64_t membersAround(Operation *op) {
  Operation *frame = getFrame(op);
  return frame ? getMembers(frame) : 1;
}

//===----------------------------------------------------------------------===//
// AllReduceOp
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verify() {
  if (failed(verifyIsInGroup(*this)))
    return failure();
  // all_reduce_c3
  int64_t width = getWidth(getInput().getType());
  for (Value bias : getBiases())
    if (int64_t length = cast<RankedTensorType>(bias.getType()).getDimSize(0);
        length != width)
      return emitOpError() << "bias has " << length << " elements, expected "
                           << width;
  return success();
}

int64_t AllReduceOp::getFlopsPerRow() {
  int64_t width = getWidth(getInput().getType());
  // Each member sums its share of the features.
  int64_t members = membersAround(*this);
  return width / members * (members - 1) +
         width * static_cast<int64_t>(getBiases().size());
}

int64_t AllReduceOp::getWeightBytes() {
  int64_t bytes = 0;
  for (Value bias : getBiases()) {
    auto type = cast<RankedTensorType>(bias.getType());
    bytes += static_cast<int64_t>(
        ir::getWeightBytes(type, getElementFormat(type)).value_or(0));
  }
  return bytes;
}

// In the first round each member receives its share of the features from all
// others; in the second it sends the sums to all.
int64_t AllReduceOp::getLinkRounds() { return 2; }

int64_t AllReduceOp::getLinkBytesPerRow() {
  return 2 *
         gatheredBytes(getWidth(getInput().getType()), membersAround(*this));
}

//===----------------------------------------------------------------------===//
// AllGatherOp
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyIsInGroup(*this)))
    return failure();
  // all_gather_c2
  int64_t members = getMembers(getFrame(*this));
  int64_t part = getWidth(getInput().getType());
  int64_t whole = getWidth(getResult().getType());
  if (whole <= part * (members - 1) || whole > part * members)
    return emitOpError() << "makes rows " << whole << " wide of parts " << part
                         << " wide from " << members << " members";
  return success();
}

int64_t AllGatherOp::getLinkRounds() { return 1; }

int64_t AllGatherOp::getLinkBytesPerRow() {
  return gatheredBytes(getWidth(getResult().getType()), membersAround(*this));
}
