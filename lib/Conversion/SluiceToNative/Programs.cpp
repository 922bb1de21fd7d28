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
using namespace sluice::native;

static std::string nameStep(StepOp step) {
  return step.getSymName().str() + "_step";
}

LogicalResult sluice::native::checkConvertible(StepOp step,
                                               const SymbolTable &symbols) {
  if (Operation *taken = symbols.lookup(nameStep(step)))
    return taken->emitError("takes the name of the code of a step");
  if (!step.isAssigned())
    return step.emitError("has no arena yet: --sluice-plan comes first");
  return success();
}

/// Returns whether the step starts from tokens, not from received rows.
static bool hasEmbedding(StepOp step) {
  return step.walk([](EmbedOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

void sluice::native::createProgram(StepOp step, CpuLevelAttr cpu,
                                   SymbolTable &symbols) {
  OpBuilder b(step);
  auto number = [&](int64_t value) { return b.getI64IntegerAttr(value); };
  Value logits = step.getLogits();
  int64_t logitsPlace = 0;
  if (logits)
    logitsPlace =
        static_cast<int64_t>(*logits.getDefiningOp<BufferOp>().getPlace());
  SmallVector<Type> caches;
  for (CacheOp cache : step.getBody().getOps<CacheOp>())
    caches.push_back(cache.getType());
  SmallVector<Attribute> tables;
  for (RopeTableOp table : step.getBody().getOps<RopeTableOp>())
    tables.push_back(table.getParameters());
  std::string name = nameStep(step);
  auto program = ProgramOp::create(
      b, step.getLoc(), step.getSymNameAttr(),
      FlatSymbolRefAttr::get(b.getContext(), name), cpu,
      step.getArchitectureAttr(), step.getModelNameAttr(),
      step.getVocabSizeAttr(), step.getContextLengthAttr(),
      step.getEosTokensAttr(), step.getHiddenSizeAttr(), step.getLayersAttr(),
      step.getRowFloatsAttr(), step.getOutputFloatsAttr(), number(logitsPlace),
      b.getTypeArrayAttr(caches), b.getArrayAttr(tables),
      b.getArrayAttr(listWeightUses(step)), step.getFirstLayerAttr(),
      b.getBoolAttr(hasEmbedding(step)), b.getBoolAttr(logits != nullptr),
      number(step.countCheckpoints()), step.getStepRowsAttr(),
      step.getCostsAttr(), step.getRankAttr(), step.getCounterpartAttr(),
      step.getMembersAttr());
  symbols.remove(step);
  step.setSymName(name);
  symbols.insert(step);
  symbols.insert(program);
}
