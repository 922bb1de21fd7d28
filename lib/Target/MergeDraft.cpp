//===- MergeDraft.cpp - merging of a draft into its target's module -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/MergeDraft.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

static std::string prefixed(StringRef name) {
  return (draftModelName + "." + name).str();
}

static FlatSymbolRefAttr prefixed(FlatSymbolRefAttr name) {
  return FlatSymbolRefAttr::get(name.getContext(), prefixed(name.getValue()));
}

/// Renames the symbols that the draft defines, and the references to them.
static void addPrefix(ModuleOp draft) {
  draft.walk([](Operation *op) {
    if (auto model = dyn_cast<ModelOp>(op))
      return model.setSymName(draftModelName);
    if (isa<FileOp, WeightOp, TokenizerOp>(op)) {
      StringAttr name = SymbolTable::getSymbolName(op);
      SymbolTable::setSymbolName(op, prefixed(name.getValue()));
    }
    if (auto weight = dyn_cast<WeightOp>(op)) {
      weight.setFileAttr(prefixed(weight.getFileAttr()));
      if (FlatSymbolRefAttr scales = weight.getScalesAttr())
        weight.setScalesAttr(prefixed(scales));
    } else if (auto tokenizer = dyn_cast<TokenizerOp>(op))
      tokenizer.setFileAttr(prefixed(tokenizer.getFileAttr()));
    else if (auto param = dyn_cast<ParamOp>(op))
      param.setWeightAttr(prefixed(param.getWeightAttr()));
  });
}

Status sluice::mergeDraft(ModuleOp target, ModuleOp draft) {
  for (auto [module, which] :
       {std::pair(target, "the target"), std::pair(draft, "the draft")}) {
    auto models = module.getOps<ModelOp>();
    if (!llvm::hasSingleElement(models))
      return failure(which, " has ",
                     std::distance(models.begin(), models.end()),
                     " models, not one: a draft is added in phase model");
  }
  addPrefix(draft);
  SymbolTable symbols(target);
  for (Operation &op : *draft.getBody()) {
    StringAttr name = SymbolTable::getSymbolName(&op);
    if (name && symbols.lookup(name))
      return failure("the target has a symbol '", name.getValue().str(),
                     "', which is one of the draft's names");
  }
  target.getBody()->getOperations().splice(target.getBody()->end(),
                                           draft.getBody()->getOperations());
  return {};
}
