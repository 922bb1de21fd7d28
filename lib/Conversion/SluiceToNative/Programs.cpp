//===- Programs.cpp - the sluice.program of a step ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

int64_t sluice::planning::getPlace(Value buffer) {
  return static_cast<int64_t>(*buffer.getDefiningOp<BufferOp>().getPlace());
}

int64_t sluice::planning::getTableIndex(Value table) {
  auto op = table.getDefiningOp<RopeTableOp>();
  int64_t index = 0;
  for (RopeTableOp other : op->getBlock()->getOps<RopeTableOp>()) {
    if (other == op)
      break;
    ++index;
  }
  return index;
}

FailureOr<std::string> sluice::planning::nameCode(StepOp step,
                                                  SymbolTable &symbols) {
  std::string name = step.getSymName().str() + "_step";
  if (Operation *taken = symbols.lookup(name))
    return taken->emitError("takes the name of the code of a step");
  return name;
}

/// Returns whether the step starts from tokens, not from received rows.
static bool hasEmbedding(StepOp step) {
  return step.walk([](EmbedOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

ProgramOp sluice::planning::createProgram(StepOp step, StringRef code,
                                          CpuLevelAttr cpu,
                                          ArrayRef<Attribute> weights) {
  OpBuilder b(step);
  auto number = [&](int64_t value) { return b.getI64IntegerAttr(value); };
  Value logits = step.getLogits();
  SmallVector<Type> caches;
  for (CacheOp cache : step.getBody().getOps<CacheOp>())
    caches.push_back(cache.getType());
  SmallVector<Attribute> tables;
  for (RopeTableOp table : step.getBody().getOps<RopeTableOp>())
    tables.push_back(table.getParameters());
  return ProgramOp::create(
      b, step.getLoc(), step.getSymNameAttr(),
      FlatSymbolRefAttr::get(b.getContext(), code), cpu,
      step.getArchitectureAttr(), step.getModelNameAttr(),
      step.getVocabSizeAttr(), step.getContextLengthAttr(),
      step.getEosTokensAttr(), step.getHiddenSizeAttr(), step.getLayersAttr(),
      step.getRowFloatsAttr(), step.getOutputFloatsAttr(),
      number(logits ? getPlace(logits) : 0), b.getTypeArrayAttr(caches),
      b.getArrayAttr(tables), b.getArrayAttr(weights), step.getFirstLayerAttr(),
      b.getBoolAttr(hasEmbedding(step)), b.getBoolAttr(logits != nullptr),
      number(step.countCheckpoints()), step.getStepRowsAttr(),
      step.getCostsAttr(), step.getRankAttr(), step.getCounterpartAttr(),
      step.getMembersAttr());
}
