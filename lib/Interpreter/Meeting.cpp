//===- Meeting.cpp - collectives of a group's members ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meeting.h"

#include "OpError.h"
#include "Survivors.h"
#include "sluice/Interpreter/Ops.h"

using namespace sluice;
using namespace sluice::interpreter;

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

static void keepRows(ir::CheckpointOp op, Scope &scope,
                     const Survivors &survivors) {
  scope.set(op.getResultBatch(), survivors.after);
  for (auto [input, result] :
       llvm::zip_equal(op.getInputs(), op.getResults())) {
    const RowData &records = scope.rows(input);
    // If there are as many records as rows, every row has a record, so the
    // records can be treated as those of rows.
    bool isOfOutputs = records.rows() != survivors.before->rows();
    scope.set(result, keepRecords(records, survivors, isOfOutputs));
  }
}

static void evalCheckpoint(std::span<const Attendee> members,
                           Environment &env) {
  auto first = llvm::cast<ir::CheckpointOp>(members.front().op);
  Survivors survivors =
      findSurvivors(members.front().scope->batch(first.getBatch()), env);
  for (const Attendee &member : members)
    keepRows(llvm::cast<ir::CheckpointOp>(member.op), *member.scope, survivors);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Returns the first operand of each member.
static std::vector<const RowData *>
inputsOf(std::span<const Attendee> members) {
  std::vector<const RowData *> inputs;
  for (const Attendee &member : members)
    inputs.push_back(&member.scope->rows(member.op->getOperand(0)));
  return inputs;
}

static void evalCollective(std::span<const Attendee> members) {
  std::vector<const RowData *> inputs = inputsOf(members);
  const Attendee &first = members.front();
  RowData result;
  if (auto sum = llvm::dyn_cast<ir::AllReduceOp>(first.op)) {
    std::vector<const WeightData *> biases;
    for (mlir::Value bias : sum.getBiases())
      biases.push_back(&first.scope->weight(bias));
    result = evalAllReduce(inputs, biases);
  } else {
    int64_t width = ir::getWidth(first.op->getResult(0).getType());
    result = evalAllGather(inputs, width);
  }
  auto shared = std::make_shared<const RowData>(std::move(result));
  for (const Attendee &member : members)
    member.scope->set(member.op->getResult(0), Held(shared));
}

Status sluice::interpreter::meet(std::span<const Attendee> members,
                                 Environment &environment) {
  mlir::Operation *first = members.front().op;
  for (const Attendee &member : members)
    if (!first || !member.op || member.op->getName() != first->getName())
      return opError(first ? first : member.op,
                     "the members of its group do not meet here: another one "
                     "is at another op");
  if (llvm::isa<ir::CheckpointOp>(first))
    evalCheckpoint(members, environment);
  else
    evalCollective(members);
  return {};
}
