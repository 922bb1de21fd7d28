//===- InsertSpeculation.cpp - adds a draft and its guesses ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenizerSpec.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"
#include "sluice/Import/Support/Quote.h"
#include "sluice/Import/Tokenizer.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "sluice-insert-speculation"

namespace sluice {
#define GEN_PASS_DEF_INSERTSPECULATION
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

namespace {

/// What the pass joins.
struct Pair {
  GenerateOp generate;
  PipelineOp target;
  ModelOp draft;
  TokenizerOp targetTokenizer, draftTokenizer; ///< null where there is none
};

} // namespace

/// Finds the pipeline, its head and the draft. A tokenizer whose name begins
/// with the draft's and a dot is the draft's.
static FailureOr<Pair> findPair(ModuleOp module, StringRef draft) {
  Pair pair;
  auto generates = llvm::to_vector(module.getOps<GenerateOp>());
  if (generates.size() != 1)
    return module.emitError("expected one sluice.generate, found ")
           << generates.size();
  pair.generate = generates.front();
  if (pair.generate.getSpeculate())
    return pair.generate.emitError("has a draft already");
  SymbolTable symbols(module);
  pair.target = symbols.lookup<PipelineOp>(pair.generate.getTarget());
  pair.draft = symbols.lookup<ModelOp>(draft);
  if (!pair.draft)
    return module.emitError("there is no sluice.model @") << draft;
  for (auto tokenizer : module.getOps<TokenizerOp>()) {
    StringRef name = tokenizer.getSymName();
    bool isDrafts = name.consume_front(draft) && name.starts_with(".");
    TokenizerOp &place = isDrafts ? pair.draftTokenizer : pair.targetTokenizer;
    if (place)
      return tokenizer.emitError("is the second tokenizer of one model");
    place = tokenizer;
  }
  return pair;
}

/// Checks that both models' tokenizers give the same text the same id. Returns
/// how many tokens were compared.
static FailureOr<size_t> compareTokenizers(const Pair &pair) {
  ModelOp draft = pair.draft;
  if (!pair.targetTokenizer && !pair.draftTokenizer)
    return 0;
  if (!pair.targetTokenizer || !pair.draftTokenizer)
    return draft.emitError("draft: ")
           << (pair.draftTokenizer ? "it has a tokenizer, the target has none"
                                   : "it has no tokenizer, the target has one");
  auto draftSpec = readTokenizer(pair.draftTokenizer);
  if (!draftSpec)
    return draft.emitError("draft: ") << draftSpec.status().message();
  auto targetSpec = readTokenizer(pair.targetTokenizer);
  if (!targetSpec)
    return draft.emitError("target: ") << targetSpec.status().message();
  const auto &guessed = draftSpec->tokens, &known = targetSpec->tokens;
  for (size_t id = 0; id < std::min(guessed.size(), known.size()); ++id)
    if (guessed[id].text != known[id].text)
      return draft.emitError("draft: token ")
             << id << " is " << quote(guessed[id].text) << ", the target's is "
             << quote(known[id].text);
  if (guessed.size() != known.size())
    return draft.emitError("draft: the tokenizer has ")
           << guessed.size() << " tokens, the target's " << known.size();
  return known.size();
}

/// Checks that the draft's tokens are the target's. Returns how many were
/// compared.
static FailureOr<size_t> checkDraft(const Pair &pair) {
  PipelineOp target = pair.target;
  ModelOp draft = pair.draft;
  if (draft.getVocabSize() != target.getVocabSize())
    return draft.emitError("draft: the vocabulary has ")
           << draft.getVocabSize() << " tokens, the target's "
           << target.getVocabSize();
  if (draft.getContextLength() < target.getContextLength())
    draft.emitWarning("draft: positions from ")
        << draft.getContextLength()
        << " on are not guessed: the draft's context ends there, the target's "
           "at "
        << target.getContextLength();
  return compareTokenizers(pair);
}

/// Removes the draft's tokenizer, and its file where nothing else is in it.
static void dropTokenizer(ModuleOp module, TokenizerOp tokenizer) {
  if (!tokenizer)
    return;
  auto file = SymbolTable(module).lookup<FileOp>(tokenizer.getFile());
  tokenizer.erase();
  if (SymbolTable::symbolKnownUseEmpty(file, module))
    file.erase();
}

namespace {

class InsertSpeculationPass
    : public sluice::impl::InsertSpeculationBase<InsertSpeculationPass> {
public:
  using InsertSpeculationBase::InsertSpeculationBase;

  void runOnOperation() override {
    FailureOr<Pair> pair = findPair(getOperation(), draft);
    if (failed(pair))
      return signalPassFailure();
    FailureOr<size_t> compared = checkDraft(*pair);
    if (failed(compared))
      return signalPassFailure();
    tokensCompared += *compared;
    insert(*pair);
    dropTokenizer(getOperation(), pair->draftTokenizer);
    ++draftsAdded;
    remark::passed(pair->generate.getLoc(),
                   remark::RemarkOpts::name("draft").category(DEBUG_TYPE))
        << remark::metric("placement", stringifyPlacement(placement))
        << remark::metric("depth", depth.getValue())
        << remark::metric("width", width.getValue())
        << remark::metric("tokens-compared", *compared);
  }

private:
  void insert(Pair &pair) {
    LaunchOp launch = pair.generate.getLaunch();
    OpBuilder b(&getContext());
    b.setInsertionPointAfter(launch);
    auto speculate = SpeculateOp::create(
        b, launch.getLoc(), GuessesType::get(&getContext()),
        FlatSymbolRefAttr::get(pair.draft.getSymNameAttr()), launch.getRun(),
        PlacementAttr::get(&getContext(), placement),
        b.getI64IntegerAttr(depth), b.getI64IntegerAttr(width),
        /*via=*/FlatSymbolRefAttr(), /*results=*/FlatSymbolRefAttr(),
        /*costs=*/DenseI64ArrayAttr(), /*step_rows=*/IntegerAttr());
    pair.generate.getVerify().getGuessesMutable().assign(
        speculate.getGuesses());
  }
};

} // namespace
