//===- StepHazards.cpp - checks of a step's memory accesses ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepHazards.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Writers
//===----------------------------------------------------------------------===//

LogicalResult sluice::ir::verifyWriters(StepOp step) {
  // step_c2
  DenseMap<Value, Operation *> writers;
  for (Operation &op : step.getBody().front()) {
    auto task = dyn_cast<TaskInterface>(op);
    if (!task)
      continue;
    SmallVector<MemoryAccess> accesses = task.getAccesses();
    for (const MemoryAccess &access : accesses)
      if (!access.writes && isa<BufferType>(access.memory.getType()) &&
          !writers.contains(access.memory))
        return op.emitOpError("reads a buffer that nothing before it writes");
    if (isa<TaskCheckpointOp>(op))
      continue;
    for (const MemoryAccess &access : accesses) {
      if (!access.writes || !isa<BufferType>(access.memory.getType()))
        continue;
      auto [writer, isNew] = writers.try_emplace(access.memory, &op);
      if (!isNew)
        return op.emitOpError("writes a buffer that has been written")
                   .attachNote(writer->second->getLoc())
               << "by this";
    }
  }
  if (!writers.contains(step.getResults().getBuffer()))
    return step.getResults().emitOpError("names a buffer that nothing writes");
  return success();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {

/// The first and last interval in which a buffer is in use, and its place.
struct Life {
  BufferOp buffer;
  int64_t first, last;
  int64_t begin, end; // in the floats of a row or output

  bool overlaps(const Life &other) const {
    return first <= other.last && other.first <= last && begin < other.end &&
           other.begin < end;
  }
};

class ArenaChecker {
public:
  explicit ArenaChecker(StepOp step)
      : step(step), hasBarriers(step.getPlanTarget().hasBarriers()),
        keepsOutputs(step.getPlanTarget().keepsOutputs()) {}

  LogicalResult run();

private:
  LogicalResult visit(TaskInterface task);
  LogicalResult checkBarrier(TaskInterface task,
                             ArrayRef<MemoryAccess> accesses);
  LogicalResult checkMoved(TaskInterface task, ArrayRef<MemoryAccess> accesses);
  LogicalResult use(Operation *op, Value buffer);
  LogicalResult checkOverlaps();

  /// Returns whether a checkpoint must move the records of this memory that are
  /// used behind it.
  bool isMoved(Value memory) const {
    auto type = dyn_cast<BufferType>(memory.getType());
    return type && !(keepsOutputs && type.getDomain() == ValueDomain::Outputs);
  }

  StepOp step;
  bool hasBarriers, keepsOutputs;
  int64_t interval = 0;
  bool isBehindCheckpoint = false; // whether the previous op was a checkpoint
  llvm::MapVector<Value, Life> lives;
  /// The accesses to each memory since the last barrier, with their tasks.
  llvm::MapVector<Value, SmallVector<std::pair<MemoryAccess, Operation *>>>
      sinceBarrier;
  /// The buffers that were written before a checkpoint that has not moved them,
  /// with that checkpoint.
  llvm::DenseMap<Value, Operation *> leftBehind;
  /// The buffers written since the last checkpoint or moved by it.
  llvm::SetVector<Value> written;
};

} // namespace

/// Notes that the buffer is in use, and checks its place at the first use.
LogicalResult ArenaChecker::use(Operation *op, Value buffer) {
  auto [entry, isNew] = lives.insert({buffer, {}});
  Life &life = entry->second;
  life.last = interval;
  if (!isNew)
    return success();
  // step_c3
  auto declared = buffer.getDefiningOp<BufferOp>();
  auto type = cast<BufferType>(buffer.getType());
  if (!declared || !declared.getPlace())
    return op->emitOpError("accesses a buffer without a place");
  auto size = static_cast<int64_t>(type.getDomain() == ValueDomain::Rows
                                       ? *step.getRowFloats()
                                       : *step.getOutputFloats());
  auto begin = static_cast<int64_t>(*declared.getPlace());
  if (begin > size || type.getFloats() > size - begin)
    return declared.emitOpError()
           << "lies at " << begin << " to " << begin + type.getFloats()
           << ", outside of an arena of " << size << " floats";
  life = {declared, interval, interval, begin, begin + type.getFloats()};
  return success();
}

/// Returns whether the threads need a barrier between the two accesses.
static bool conflicts(const MemoryAccess &earlier, const MemoryAccess &later) {
  return (earlier.writes || later.writes) &&
         (earlier.extent == AccessExtent::All ||
          earlier.extent != later.extent);
}

LogicalResult ArenaChecker::checkBarrier(TaskInterface task,
                                         ArrayRef<MemoryAccess> accesses) {
  // step_c5
  for (const MemoryAccess &later : accesses)
    for (auto [earlier, op] : sinceBarrier.lookup(later.memory))
      if (op != task && conflicts(earlier, later)) {
        InFlightDiagnostic error =
            task.emitOpError("needs a sluice.barrier before it: it ");
        error << (later.writes ? "writes" : "reads") << " what an earlier task "
              << (earlier.writes ? "writes" : "reads");
        error.attachNote(op->getLoc()) << "which is this";
        return error;
      }
  for (const MemoryAccess &access : accesses)
    sinceBarrier[access.memory].push_back({access, task});
  return success();
}

LogicalResult ArenaChecker::checkMoved(TaskInterface task,
                                       ArrayRef<MemoryAccess> accesses) {
  // step_c6
  for (const MemoryAccess &access : accesses) {
    if (!isMoved(access.memory))
      continue;
    if (Operation *checkpoint = leftBehind.lookup(access.memory))
      return task.emitOpError(
                     "accesses a buffer that a checkpoint has not moved")
                 .attachNote(checkpoint->getLoc())
             << "which is this";
    if (access.writes)
      written.insert(access.memory);
  }
  return success();
}

LogicalResult ArenaChecker::visit(TaskInterface task) {
  SmallVector<MemoryAccess> accesses = task.getAccesses();
  auto checkpoint = dyn_cast<TaskCheckpointOp>(task.getOperation());
  if (checkpoint || isBehindCheckpoint || !hasBarriers) {
    ++interval;
    sinceBarrier.clear();
  }
  isBehindCheckpoint = checkpoint;
  if (failed(checkMoved(task, accesses)))
    return failure();
  if (checkpoint) {
    for (Value buffer : written)
      if (!llvm::is_contained(checkpoint.getBuffers(), buffer))
        leftBehind[buffer] = checkpoint;
    written.clear();
    written.insert_range(checkpoint.getBuffers());
  }
  if (hasBarriers && failed(checkBarrier(task, accesses)))
    return failure();
  for (const MemoryAccess &access : accesses)
    if (isa<BufferType>(access.memory.getType()) &&
        failed(use(task, access.memory)))
      return failure();
  return success();
}

/// Checks that buffers in use at the same time do not overlap.
LogicalResult ArenaChecker::checkOverlaps() {
  // step_c4
  SmallVector<Life *> order;
  for (auto &[buffer, life] : lives)
    order.push_back(&life);
  llvm::sort(order, [](const Life *a, const Life *b) {
    return std::pair(a->first, a->begin) < std::pair(b->first, b->begin);
  });
  SmallVector<Life *> live;
  for (Life *life : order) {
    llvm::erase_if(
        live, [&](const Life *other) { return other->last < life->first; });
    BufferOp buffer = life->buffer;
    for (const Life *other : live)
      if (life->overlaps(*other) &&
          cast<BufferType>(buffer.getType()).getDomain() ==
              cast<BufferType>(BufferOp(other->buffer).getType()).getDomain())
        return buffer
                   .emitOpError("overlaps another buffer that is in use at the "
                                "same time")
                   .attachNote(BufferOp(other->buffer).getLoc())
               << "which is this";
    live.push_back(life);
  }
  return success();
}

LogicalResult ArenaChecker::run() {
  for (Operation &op : step.getBody().front()) {
    if (isa<BarrierOp>(op)) {
      if (!hasBarriers)
        return op.emitOpError("stands in a step for ")
               << step.getPlanTarget().getTitle() << ", which has no barriers";
      ++interval;
      sinceBarrier.clear();
      isBehindCheckpoint = false;
    } else if (auto task = dyn_cast<TaskInterface>(op)) {
      if (failed(visit(task)))
        return failure();
    }
  }
  if (failed(use(step.getResults(), step.getResults().getBuffer())))
    return failure();
  return checkOverlaps();
}

LogicalResult sluice::ir::verifyArena(StepOp step) {
  return ArenaChecker(step).run();
}
