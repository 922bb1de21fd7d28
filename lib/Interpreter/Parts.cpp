//===- Parts.cpp - executes a model in its parts --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parts.h"

#include "Evaluator.h"
#include "OpError.h"

#include "mlir/IR/SymbolTable.h"

#include <deque>
#include <map>

using namespace sluice;
using namespace sluice::interpreter;

using mlir::Operation;

namespace {

/// The batch and rows that a part begins with, as values of its body.
struct PartInputs {
  mlir::Value batch;
  mlir::Value rows; ///< null: it looks tokens up
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

Expected<PartResult> evalPart(Operation *part, const PartResult &input,
                              Environment &environment) {
  PartInputs inputs = inputsOf(part);
  Scope scope;
  scope.set(inputs.batch, input.batch);
  if (inputs.rows)
    scope.set(inputs.rows, input.rows);
  size_t checkpoints = environment.batches.size();
  Expected<std::shared_ptr<const RowData>> rows =
      evalBlock(part->getRegion(0).front(), scope, environment);
  if (!rows)
    return rows.status();
  bool shrunk = environment.batches.size() > checkpoints;
  return PartResult{shrunk ? environment.batches.back().get() : input.batch,
                    rows.take()};
}

/// The ranks of a program in one process: workers, and the channels between
/// them, each a queue of what one step sent.
class Ranks {
public:
  Ranks(const std::vector<Operation *> &workers, Environment &environment)
      : environment(environment) {
    for (Operation *op : workers)
      this->workers.push_back(llvm::cast<ir::WorkerOp>(op));
  }

  /// The head's part: sends a step, and lets ranks work until it is answered.
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

  /// Lets each worker that can compute one step; whether any could.
  Expected<bool> runOnce() {
    bool moved = false;
    for (ir::WorkerOp worker : workers) {
      std::deque<PartResult> &queue = queueInto(worker);
      if (queue.empty() || !hasRoom(worker))
        continue;
      PartResult input = queue.front();
      queue.pop_front();
      Expected<PartResult> output = evalPart(worker, input, environment);
      if (!output)
        return output.status();
      channels[worker.getSend().getChannel()].push_back(output.take());
      moved = true;
    }
    return moved;
  }

  std::vector<ir::WorkerOp> workers;
  Environment &environment;
  std::map<llvm::StringRef, std::deque<PartResult>> channels;
};

} // namespace

Expected<PartResult>
sluice::interpreter::evalParts(const std::vector<Operation *> &parts,
                               const StepBatch &batch,
                               Environment &environment) {
  if (llvm::isa<ir::WorkerOp>(parts.front()))
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
