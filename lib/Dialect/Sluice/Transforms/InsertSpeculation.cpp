//===- InsertSpeculation.cpp - the pass that adds a draft -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenizerDifference.h"
#include "sluice/Analysis/ClusterSpec.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"
#include "sluice/Import/ImportTokenizer.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#include <algorithm>

#define DEBUG_TYPE "sluice-insert-speculation"

namespace sluice {
#define GEN_PASS_DEF_INSERTSPECULATION
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

namespace {

/// The ops that the pass connects.
struct Pair {
  GenerateOp generate;
  PipelineOp target;
  ModelOp draft;
  TokenizerOp targetTokenizer, draftTokenizer; ///< null if there is none
};

/// Models pad the table of a vocabulary to a multiple of some number of rows.
/// Without tokenizers, two models count as having the same vocabulary if their
/// tables differ by at most so many rows, as in llama.cpp.
constexpr uint64_t maxPaddingRows = 128;

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
  for (auto name : pair.target.getStages().getAsRange<FlatSymbolRefAttr>()) {
    auto stage = symbols.lookup<StageOp>(name.getValue());
    if (!stage)
      return pair.target.emitError("has ")
             << name << ", which is no sluice.stage";
    // The draft would get no checkpoints.
    if (stage.getStepRows())
      return stage.emitError("has its checkpoints already, which come after "
                             "the draft");
  }
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

/// Compares the vocabularies of models without tokenizers by the number of rows
/// of their tables.
static LogicalResult compareRows(const Pair &pair) {
  ModelOp draft = pair.draft;
  PipelineOp target = pair.target;
  auto [smallest, largest] =
      std::minmax({draft.getVocabSize(), target.getVocabSize()});
  if (largest - smallest <= maxPaddingRows)
    return success();
  return draft.emitError("draft: the vocabulary has ")
         << draft.getVocabSize() << " tokens, the target's "
         << target.getVocabSize()
         << ", and no tokenizers say which of them are the same: without them "
            "at most "
         << maxPaddingRows << " are taken for padding";
}

/// Checks that each id that both models have stands for the same token in both.
/// Returns how many tokens were compared.
static FailureOr<size_t> compareTokenizers(const Pair &pair) {
  ModelOp draft = pair.draft;
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
  std::string token = findOtherToken(*draftSpec, *targetSpec);
  if (!token.empty())
    return draft.emitError("draft: ") << token;
  std::string missing =
      findMissingTokens(*draftSpec, draft.getVocabSize(), *targetSpec);
  if (!missing.empty())
    draft.emitWarning("draft: ") << missing << ": it cannot guess them";
  // The draft never gets a text, so another rule only makes its guesses worse.
  std::string rule = findOtherRule(*draftSpec, *targetSpec);
  if (!rule.empty())
    draft.emitWarning("draft: ")
        << rule << ": what it has learnt from was cut into tokens otherwise";
  return std::min(draftSpec->tokens.size(), targetSpec->tokens.size());
}

/// Checks that the draft and the target agree on the tokens that both have.
/// Their tables may be padded to different numbers of rows. Returns the number
/// of tokens that were compared.
static FailureOr<size_t> checkDraft(const Pair &pair) {
  PipelineOp target = pair.target;
  ModelOp draft = pair.draft;
  if (draft.getContextLength() < target.getContextLength())
    draft.emitWarning("draft: positions from ")
        << draft.getContextLength()
        << " on are not guessed: the draft's context ends there, the target's "
           "at "
        << target.getContextLength();
  if (pair.targetTokenizer || pair.draftTokenizer)
    return compareTokenizers(pair);
  if (failed(compareRows(pair)))
    return failure();
  return 0;
}

/// Checks that the draft's placement is the one for which the stages were cut:
/// the head is on the node kept for the draft if and only if the draft has a
/// place of its own.
static LogicalResult checkPlace(ModuleOp module, GenerateOp generate,
                                Placement placement) {
  PlaceAttr place = generate.getPlaceAttr();
  if (placement == Placement::Head && place)
    return generate.emitError("is on '")
           << place.getNode()
           << "', which is kept for the draft, but placement=head puts the "
              "draft beside the first stage: cut the stages for that";
  if (placement == Placement::Own && !place && hasCluster(module)) {
    Expected<cluster::Cluster> machines = getCluster(module);
    if (!machines)
      return module.emitError() << machines.status().message();
    std::optional<cluster::Place> kept = machines->draftPlace();
    if (!kept)
      return generate.emitError("is with the first stage: the cluster '")
             << machines->name()
             << "' keeps no node for the draft, but placement=own puts the "
                "draft on one: cut the stages for that";
    return generate.emitError("is not on '")
           << machines->placeName(*kept)
           << "', which is kept for the draft, but placement=own puts the "
              "draft there: cut the stages for that";
  }
  return success();
}

/// Removes the draft's tokenizer, and its file if nothing else refers to it.
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
    if (failed(compared) ||
        failed(checkPlace(getOperation(), pair->generate, placement)))
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
