//===- SplitRanks.cpp - one program for each rank -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/ChannelWaits.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"

#define DEBUG_TYPE "sluice-split-ranks"

namespace sluice {
#define GEN_PASS_DEF_SPLITRANKS
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

/// Returns the batch at the end of a stage's body.
static Value findLastBatch(Block &body, Value batch) {
  for (Operation &op : body) {
    if (auto checkpoint = dyn_cast<CheckpointOp>(op))
      batch = checkpoint.getResultBatch();
    auto layer = dyn_cast<LayerOp>(op);
    if (layer && layer.getResultBatch())
      batch = layer.getResultBatch();
  }
  return batch;
}

/// Moves the body of a stage or model into the worker. The body's arguments are
/// replaced by what the worker receives, and the rows of its terminator are
/// sent.
static void moveBody(Region &from, WorkerOp worker, FlatSymbolRefAttr in,
                     FlatSymbolRefAttr out) {
  worker.getBody().takeBody(from);
  Block &body = worker.getBody().front();
  Operation *end = body.getTerminator();
  Value batch = findLastBatch(body, body.getArgument(0));
  OpBuilder b(end);
  SendOp::create(b, end->getLoc(), out, batch, end->getOperand(0));
  end->erase();

  b.setInsertionPointToStart(&body);
  Type rows =
      body.getNumArguments() > 1 ? body.getArgument(1).getType() : Type();
  auto receive = ReceiveOp::create(
      b, worker.getLoc(), BatchType::get(worker.getContext()), rows, in);
  for (auto [argument, result] :
       llvm::zip_equal(body.getArguments(), receive.getResults()))
    argument.replaceAllUsesWith(result);
  body.eraseArguments(0, body.getNumArguments());
}

/// Specialises a stage's body for one member of its group: with the member's
/// slices of the weights and the member's heads.
static void specialise(Region &body, int64_t member) {
  body.walk([&](Operation *op) {
    if (auto shard = dyn_cast<ShardOp>(op)) {
      OpBuilder b(shard);
      auto slice = cast<FlatSymbolRefAttr>(shard.getSlices()[member]);
      auto param =
          ParamOp::create(b, shard.getLoc(), shard.getValue().getType(), slice);
      shard.getResult().replaceAllUsesWith(param);
      shard.erase();
    } else if (auto attend = dyn_cast<AttendOp>(op)) {
      if (std::optional<ArrayRef<int64_t>> first = attend.getFirstHeads())
        attend.setFirstHeads({(*first)[member]});
    }
  });
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

namespace {

/// Makes ranks, channels and workers of one pipeline and its draft.
class Splitter {
public:
  Splitter(ModuleOp module, GenerateOp generate, int64_t capacity)
      : symbols(module), b(module.getContext()), generate(generate),
        pipeline(symbols.lookup<PipelineOp>(generate.getTarget())),
        capacity(capacity) {
    for (auto name : pipeline.getStages().getAsRange<FlatSymbolRefAttr>())
      stages.push_back(symbols.lookup<StageOp>(name.getValue()));
    b.setInsertionPoint(stages.front());
  }

  void split();

  unsigned getRanks() const { return ranks.size(); }
  unsigned getChannels() const { return channels; }
  unsigned getWorkers() const { return workers; }
  unsigned getGroups() const { return groups; }

private:
  void makeRanks();
  void makeStages();
  void makeStage(StageOp stage, ArrayRef<FlatSymbolRefAttr> at,
                 FlatSymbolRefAttr in, FlatSymbolRefAttr out);
  void makeDraft();
  FlatSymbolRefAttr makeChannel(StringRef name, FlatSymbolRefAttr from,
                                FlatSymbolRefAttr to, FrameKind kind,
                                Type activations = {});
  WorkerOp makeWorker(StringRef name, Location loc, FlatSymbolRefAttr rank,
                      FlatSymbolRefAttr group, DenseI64ArrayAttr costs,
                      IntegerAttr stepRows);

  SymbolTable symbols;
  OpBuilder b;
  GenerateOp generate;
  PipelineOp pipeline;
  int64_t capacity;
  SmallVector<StageOp> stages;
  SmallVector<FlatSymbolRefAttr> ranks;
  unsigned channels = 0, workers = 0, groups = 0;
};

} // namespace

void Splitter::split() {
  makeRanks();
  makeStages();
  if (generate.getSpeculate())
    makeDraft();
  generate.setRankAttr(ranks.front());
  generate.removePlaceAttr();
}

void Splitter::makeRanks() {
  SpeculateOp speculate = generate.getSpeculate();
  SmallVector<PlaceAttr> places;
  if (speculate && speculate.getPlacement() == Placement::Own)
    places.push_back(generate.getPlaceAttr() ? generate.getPlaceAttr()
                                             : stages.front().getFirstPlace());
  for (StageOp stage : stages)
    llvm::append_range(places, stage.getPlaces().getAsRange<PlaceAttr>());
  for (auto [index, place] : llvm::enumerate(places)) {
    auto rank = RankOp::create(b, generate.getLoc(),
                               b.getStringAttr("rank" + Twine(index)),
                               b.getI64IntegerAttr(index), place);
    ranks.push_back(FlatSymbolRefAttr::get(symbols.insert(rank)));
  }
}

FlatSymbolRefAttr Splitter::makeChannel(StringRef name, FlatSymbolRefAttr from,
                                        FlatSymbolRefAttr to, FrameKind kind,
                                        Type activations) {
  auto type = FrameType::get(b.getContext(), kind, activations);
  auto channel =
      ChannelOp::create(b, generate.getLoc(), b.getStringAttr(name), from, to,
                        b.getI64IntegerAttr(capacity), TypeAttr::get(type));
  ++channels;
  return FlatSymbolRefAttr::get(symbols.insert(channel));
}

WorkerOp Splitter::makeWorker(StringRef name, Location loc,
                              FlatSymbolRefAttr rank, FlatSymbolRefAttr group,
                              DenseI64ArrayAttr costs, IntegerAttr stepRows) {
  auto worker = WorkerOp::create(b, loc, b.getStringAttr(name), rank, group,
                                 costs, stepRows);
  ++workers;
  return worker;
}

/// Turns the stage into a worker at its rank, or into a worker at each of its
/// ranks and a group with the stage's name.
void Splitter::makeStage(StageOp stage, ArrayRef<FlatSymbolRefAttr> at,
                         FlatSymbolRefAttr in, FlatSymbolRefAttr out) {
  b.setInsertionPoint(stage);
  StringAttr stageName = stage.getSymNameAttr();
  bool isGroup = at.size() > 1;
  SmallVector<WorkerOp> members;
  for (auto [number, rank] : llvm::enumerate(at)) {
    std::string name = stageName.str();
    if (isGroup)
      name += ".m" + std::to_string(number);
    WorkerOp worker = makeWorker(name, stage.getLoc(), rank,
                                 isGroup ? FlatSymbolRefAttr::get(stageName)
                                         : FlatSymbolRefAttr(),
                                 stage.getCostsAttr(), stage.getStepRowsAttr());
    StageOp copy = stage.clone();
    specialise(copy.getBody(), int64_t(number));
    moveBody(copy.getBody(), worker, in, out);
    copy.erase();
    members.push_back(worker);
  }
  SmallVector<Attribute> names;
  Location loc = stage.getLoc();
  symbols.erase(stage);
  for (WorkerOp worker : members)
    names.push_back(FlatSymbolRefAttr::get(symbols.insert(worker)));
  if (!isGroup)
    return;
  b.setInsertionPointAfter(members.back());
  symbols.insert(GroupOp::create(b, loc, stageName, b.getArrayAttr(names)));
  ++groups;
}

void Splitter::makeStages() {
  ArrayRef<FlatSymbolRefAttr> left = ranks;
  size_t members = 0;
  for (StageOp stage : stages)
    members += stage.getPlaces().size();
  left = left.take_back(members);
  SmallVector<ArrayRef<FlatSymbolRefAttr>> at;
  for (StageOp stage : stages) {
    at.push_back(left.take_front(stage.getPlaces().size()));
    left = left.drop_front(stage.getPlaces().size());
  }
  auto endOf = [&](size_t i) {
    return at[i].size() > 1 ? FlatSymbolRefAttr::get(stages[i].getSymNameAttr())
                            : at[i].front();
  };
  SmallVector<FlatSymbolRefAttr> hops = {
      makeChannel("c0", ranks.front(), endOf(0), FrameKind::Rows)};
  for (size_t i = 1; i < stages.size(); ++i)
    hops.push_back(makeChannel(("c" + Twine(i)).str(), endOf(i - 1), endOf(i),
                               FrameKind::Rows,
                               stages[i].getInput().getType()));
  hops.push_back(makeChannel(("c" + Twine(stages.size())).str(),
                             endOf(stages.size() - 1), ranks.front(),
                             FrameKind::Tokens));
  for (auto [i, stage] : llvm::enumerate(stages))
    makeStage(stage, at[i], hops[i], hops[i + 1]);
  generate.getLaunch().setViaAttr(hops.front());
  generate.getLaunch().setResultsAttr(hops.back());
}

/// Turns the draft into a pipeline of one worker at the head's rank.
void Splitter::makeDraft() {
  SpeculateOp speculate = generate.getSpeculate();
  auto draft = symbols.lookup<ModelOp>(speculate.getDraft());
  b.setInsertionPoint(draft);
  FlatSymbolRefAttr rank = ranks.front();
  FlatSymbolRefAttr there = makeChannel("d0", rank, rank, FrameKind::Rows);
  FlatSymbolRefAttr back = makeChannel("d1", rank, rank, FrameKind::Guesses);
  StringAttr name = draft.getSymNameAttr();
  WorkerOp worker =
      makeWorker((name.getValue() + ".s0").str(), draft.getLoc(), rank,
                 FlatSymbolRefAttr(), speculate.getCostsAttr(),
                 speculate.getStepRowsAttr());
  auto stage = FlatSymbolRefAttr::get(symbols.insert(worker));
  moveBody(draft.getBody(), worker, there, back);
  auto whole = PipelineOp::create(
      b, draft.getLoc(), name, b.getArrayAttr(stage),
      draft.getArchitectureAttr(), draft.getModelNameAttr(),
      draft.getVocabSizeAttr(), draft.getContextLengthAttr(),
      draft.getEosTokensAttr(), pipeline.getMaxLatencyUsAttr());
  symbols.erase(draft);
  symbols.insert(whole);
  speculate.setViaAttr(there);
  speculate.setResultsAttr(back);
  speculate.removeCostsAttr();
  speculate.removeStepRowsAttr();
}

/// Checks that the pipeline consists of stages and that the draft, if there is
/// one, is a model, since workers cannot be split again. Their steps must be
/// fused, because ranks send each other batches.
static LogicalResult checkFrames(ModuleOp module, GenerateOp generate) {
  SymbolTable symbols(module);
  auto pipeline = symbols.lookup<PipelineOp>(generate.getTarget());
  for (auto name : pipeline.getStages().getAsRange<FlatSymbolRefAttr>()) {
    auto stage = symbols.lookup<StageOp>(name.getValue());
    if (!stage)
      return pipeline.emitError("has ") << name << ", which is no sluice.stage";
    if (failed(requireFused(stage)))
      return failure();
  }
  SpeculateOp speculate = generate.getSpeculate();
  if (!speculate)
    return success();
  auto draft = symbols.lookup<ModelOp>(speculate.getDraft());
  if (!draft)
    return speculate.emitError("has a draft that is no sluice.model");
  if (draft.getTensorParallel())
    return draft.emitError("is tensor parallel, but a draft is on one device");
  return requireFused(draft);
}

namespace {

class SplitRanksPass : public sluice::impl::SplitRanksBase<SplitRanksPass> {
public:
  using SplitRanksBase::SplitRanksBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto generates = llvm::to_vector(module.getOps<GenerateOp>());
    if (generates.size() != 1 || generates.front().getRank()) {
      module.emitError("expected one sluice.generate that is not at a rank");
      return signalPassFailure();
    }
    if (failed(checkFrames(module, generates.front())))
      return signalPassFailure();
    Splitter splitter(module, generates.front(), capacity);
    splitter.split();
    if (failed(mlir::verify(module)) || failed(verifyChannels(module)))
      return signalPassFailure();
    ranksMade += splitter.getRanks();
    channelsMade += splitter.getChannels();
    workersMade += splitter.getWorkers();
    groupsMade += splitter.getGroups();
    remark::passed(generates.front().getLoc(),
                   remark::RemarkOpts::name("ranks").category(DEBUG_TYPE))
        << remark::metric("ranks", splitter.getRanks())
        << remark::metric("channels", splitter.getChannels())
        << remark::metric("workers", splitter.getWorkers())
        << remark::metric("groups", splitter.getGroups())
        << remark::metric("capacity", capacity.getValue());
  }
};

} // namespace
