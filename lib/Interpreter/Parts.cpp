//===- Parts.cpp - execution of a model part by part ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parts.h"

#include "Execution.h"
#include "Meeting.h"
#include "OpError.h"
#include "PlannedSteps.h"

#include "mlir/IR/SymbolTable.h"

#include <deque>
#include <map>

using namespace sluice;
using namespace sluice::interpreter;

using mlir::Operation;

namespace {

/// The values of a part's body that stand for its input batch and rows.
struct PartInputs {
  mlir::Value batch;
  mlir::Value rows; ///< null if the part embeds tokens
};

PartInputs inputsOf(Operation *part) {
  if (auto stage = llvm::dyn_cast<ir::StageOp>(part))
    return {stage.getBatch(), stage.getInput()};
  if (auto worker = llvm::dyn_cast<ir::WorkerOp>(part)) {
    ir::ReceiveOp receive = worker.getReceive();
    return {receive.getBatch(), receive.getRows()};
  }
  return {llvm::cast<ir::ModelOp>(part).getBatch(), {}};
}

/// Returns an op for each member that executes the part: the same op for all
/// members of a stage or model, and one worker for each member of a group.
std::vector<Operation *> membersOf(Operation *part) {
  if (auto group = llvm::dyn_cast<ir::GroupOp>(part)) {
    llvm::SmallVector<ir::WorkerOp> workers = ir::getWorkers(group);
    return {workers.begin(), workers.end()};
  }
  int64_t members = llvm::isa<ir::WorkerOp>(part) ? 1 : ir::getMembers(part);
  return std::vector<Operation *>(members, part);
}

/// Executes all members up to the next op at which they meet, and that op.
/// Returns false if all members are at their ends.
Expected<bool> runToMeeting(std::deque<Execution> &members,
                            Environment &environment) {
  std::vector<Attendee> attendees;
  bool isOver = true;
  for (Execution &member : members) {
    Expected<Operation *> op = member.advance();
    if (!op)
      return op.status();
    attendees.push_back({*op, &member.scope()});
    isOver &= !*op;
  }
  if (isOver)
    return false;
  SLUICE_RETURN_IF_ERROR(meet(attendees, environment));
  return true;
}

Expected<PartResult> evalPart(Operation *part, const PartResult &input,
                              Environment &environment) {
  std::deque<Execution> members;
  for (Operation *member : membersOf(part)) {
    members.emplace_back(member, int64_t(members.size()), environment);
    PartInputs inputs = inputsOf(member);
    Scope &scope = members.back().scope();
    scope.set(inputs.batch, input.batch);
    if (inputs.rows)
      scope.set(inputs.rows, input.rows);
  }
  size_t checkpoints = environment.batches.size();
  bool isRunning = true;
  while (isRunning) {
    Expected<bool> met = runToMeeting(members, environment);
    if (!met)
      return met.status();
    isRunning = *met;
  }
  bool shrunk = environment.batches.size() > checkpoints;
  // The results of all members are the same.
  return PartResult{shrunk ? environment.batches.back().get() : input.batch,
                    members.front().result()};
}

/// Executes the ranks of a program in one process: the workers and groups, and
/// the channels between them. A channel is a queue of what a part has sent in
/// this step.
class Ranks {
public:
  Ranks(const std::vector<Operation *> &parts, Environment &environment)
      : parts(parts), environment(environment) {
    // The members of a group have the same channels, so the first one is
    // enough.
    for (Operation *part : parts)
      workers.push_back(ir::getFirstWorker(part));
  }

  /// Acts as the head: sends a step and executes the ranks until its answer
  /// arrives.
  Expected<PartResult> run(const StepBatch &batch) {
    queueInto(workers.front()).push_back({&batch, nullptr});
    llvm::StringRef answers = workers.back().getSend().getChannel();
    while (channels[answers].empty()) {
      Expected<bool> moved = runOnce();
      if (!moved)
        return moved.status();
      if (!*moved)
        return opError(workers.front(), "no rank can go on: every worker waits "
                                        "for a frame or for room");
    }
    return channels[answers].front();
  }

private:
  std::deque<PartResult> &queueInto(ir::WorkerOp worker) {
    return channels[worker.getReceive().getChannel()];
  }

  bool hasRoom(ir::WorkerOp worker) {
    auto channel = mlir::SymbolTable::lookupNearestSymbolFrom<ir::ChannelOp>(
        worker, worker.getSend().getChannelAttr());
    return channels[channel.getSymName()].size() < channel.getCapacity();
  }

  /// Executes one step of each worker that has an input frame and room for its
  /// output. Returns whether there was any such worker.
  Expected<bool> runOnce() {
    bool moved = false;
    for (auto [part, worker] : llvm::zip_equal(parts, workers)) {
      std::deque<PartResult> &queue = queueInto(worker);
      if (queue.empty() || !hasRoom(worker))
        continue;
      PartResult input = queue.front();
      queue.pop_front();
      Expected<PartResult> output = evalPart(part, input, environment);
      if (!output)
        return output.status();
      channels[worker.getSend().getChannel()].push_back(output.take());
      moved = true;
    }
    return moved;
  }

  std::vector<Operation *> parts;
  std::vector<ir::WorkerOp> workers; ///< the first worker of each part
  Environment &environment;
  std::map<llvm::StringRef, std::deque<PartResult>> channels;
};

} // namespace

Expected<PartResult>
sluice::interpreter::evalParts(const std::vector<Operation *> &parts,
                               const StepBatch &batch,
                               Environment &environment) {
  if (llvm::isa<ir::StepOp>(parts.front()))
    return evalSteps(parts, batch, environment);
  if (llvm::isa<ir::WorkerOp, ir::GroupOp>(parts.front()))
    return Ranks(parts, environment).run(batch);
  PartResult current{&batch, nullptr};
  for (Operation *part : parts) {
    Expected<PartResult> next = evalPart(part, current, environment);
    if (!next)
      return next;
    current = next.take();
  }
  return current;
}
