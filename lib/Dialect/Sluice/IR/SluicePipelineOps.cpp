//===- SluicePipelineOps.cpp - stages, and how a request uses them --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// StageOp
//===----------------------------------------------------------------------===//

ParseResult StageOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<Attribute> places;
  SmallVector<OpAsmParser::Argument> arguments;
  Type output;
  auto parsePlace = [&]() -> ParseResult {
    PlaceAttr place;
    if (parser.parseAttribute(place))
      return failure();
    places.push_back(place);
    return success();
  };
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      parser.parseKeyword("on") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parsePlace) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseArrow() || parser.parseType(output) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("places", parser.getBuilder().getArrayAttr(places));
  result.addAttribute("output", TypeAttr::get(output));
  return parser.parseRegion(*result.addRegion(), arguments);
}

void StageOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " on(";
  llvm::interleaveComma(getPlaces(), printer);
  printer << ") (";
  llvm::interleaveComma(
      getBody().getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") -> " << getOutput();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getPlacesAttrName(), getOutputAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void StageOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, isa<BatchType>(argument.getType())   ? "batch"
                      : isa<ChunkType>(argument.getType()) ? "chunk"
                                                           : "h");
}

LogicalResult StageOp::verify() {
  // stage_c1
  ArrayRef<BlockArgument> arguments = getBody().getArguments();
  if (arguments.empty() || arguments.size() > 2 ||
      !isStepRows(arguments.front().getType()) ||
      (arguments.size() == 2 && !isRows(arguments.back().getType())))
    return emitOpError("the body must take one !sluice.chunk or !sluice.batch, "
                       "and at most one value of rows");
  // stage_c6
  auto members = static_cast<int64_t>(getPlaces().size());
  if (members < 1 || members > maxMembers)
    return emitOpError() << "is on " << members << " places, expected 1 to "
                         << maxMembers;
  llvm::SmallDenseSet<Attribute> places;
  for (Attribute place : getPlaces())
    if (!places.insert(place).second)
      return emitOpError() << "is on " << place << " twice";
  return verifyPrediction(*this, getCosts(), getStepRows());
}

LogicalResult StageOp::verifyRegions() {
  // stage_c2
  auto forward = dyn_cast<ForwardOp>(getBody().front().back());
  if (!forward || forward.getRows().getType() != getOutput())
    return emitOpError() << "must end with sluice.forward of " << getOutput();
  // stage_c3
  if (failed(verifyLayerNumbers(getBody(), std::nullopt)))
    return failure();
  return verifyRowFlow(*this);
}

//===----------------------------------------------------------------------===//
// CheckpointOp
//===----------------------------------------------------------------------===//

// batch (`,` rows)* attr-dict (`:` types-of-rows)?
ParseResult CheckpointOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types = {BatchType::get(parser.getContext())};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (succeeded(parser.parseOptionalColon()) && parser.parseTypeList(types))
    return failure();
  result.addTypes(types);
  return parser.resolveOperands(operands, types, loc, result.operands);
}

void CheckpointOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getOperands();
  printer.printOptionalAttrDict((*this)->getAttrs());
  if (!getInputs().empty())
    printer << " : " << getInputs().getTypes();
}

void CheckpointOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResultBatch(), "b");
  for (Value rows : getResults())
    setName(rows, "h");
}

LogicalResult CheckpointOp::verify() {
  // checkpoint_c2
  if (getInputs().getTypes() != getResults().getTypes())
    return emitOpError("must have results of its operands' types");
  return success();
}

//===----------------------------------------------------------------------===//
// PipelineOp
//===----------------------------------------------------------------------===//

namespace {

/// The types at the ends of a stage or worker, which the pipeline compares.
struct StageEnds {
  Type input; ///< null if it takes no rows
  Value output;

  explicit StageEnds(Operation *op) {
    if (auto stage = dyn_cast<StageOp>(op)) {
      if (Value rows = stage.getInput())
        input = rows.getType();
      output = cast<ForwardOp>(stage.getBody().front().back()).getRows();
      return;
    }
    auto worker = cast<WorkerOp>(op);
    if (Value rows = worker.getReceive().getRows())
      input = rows.getType();
    output = worker.getSend().getRows();
  }
};

} // namespace

LogicalResult PipelineOp::verify() {
  // pipeline_c2
  int64_t vocabSize = getVocabSize(), contextLength = getContextLength();
  if (vocabSize <= 0 || contextLength <= 0)
    return emitOpError("vocab_size and context_length must be positive");
  if (failed(verifyMaxLatency(*this, getMaxLatencyUs())))
    return failure();
  // pipeline_c3
  for (int64_t token : getEosTokens())
    if (token < 0 || token >= vocabSize)
      return emitOpError() << "eos token " << token
                           << " is not in the vocabulary of " << vocabSize;
  return success();
}

/// Returns the ops that the pipeline names, with a group's first worker in
/// place of the group, since all its workers do the same. Emits an error if one
/// is missing.
static FailureOr<SmallVector<Operation *>>
lookUpStages(PipelineOp pipeline, SymbolTableCollection &symbols) {
  // pipeline_c1
  SmallVector<Operation *> stages;
  for (auto name : pipeline.getStages().getAsRange<FlatSymbolRefAttr>()) {
    Operation *stage = symbols.lookupNearestSymbolFrom(pipeline, name);
    if (WorkerOp worker = getFirstWorker(stage))
      stage = worker;
    if (!isa_and_nonnull<StageOp, WorkerOp>(stage))
      return pipeline.emitOpError()
             << name << " is not a sluice.stage, sluice.worker or sluice.group";
    if (llvm::is_contained(stages, stage))
      return pipeline.emitOpError() << "has " << name << " twice";
    if (!stages.empty() && stages.front()->getName() != stage->getName())
      return pipeline.emitOpError("has stages beside workers");
    stages.push_back(stage);
  }
  if (stages.empty())
    return pipeline.emitOpError("has no stages");
  return stages;
}

/// Checks that each stage takes rows of the type that the previous stage
/// forwards.
static LogicalResult verifyEnds(PipelineOp pipeline,
                                ArrayRef<Operation *> stages) {
  Type forwarded;
  for (Operation *stage : stages) {
    // pipeline_c8
    if (isFused(stage) != isFused(stages.front()))
      return stage->emitOpError("takes ")
             << (isFused(stage) ? "a batch, but the first stage takes a chunk"
                                : "a chunk, but the first stage takes a batch");
    StageEnds ends(stage);
    // pipeline_c5
    if (ends.input != forwarded) {
      InFlightDiagnostic error = stage->emitOpError("takes ");
      auto add = [&](Type type) { type ? error << type : error << "no rows"; };
      add(ends.input);
      error << ", but the stage before it forwards ";
      add(forwarded);
      return error;
    }
    forwarded = ends.output.getType();
    // pipeline_c7
    if (stage != stages.back() && isOfOutputs(stage, ends.output))
      return stage->emitOpError("forwards rows that sluice.select_outputs "
                                "picked, but is not the last stage");
  }
  // pipeline_c6
  int64_t vocabSize = pipeline.getVocabSize();
  if (getWidth(forwarded) != vocabSize)
    return stages.back()->emitOpError()
           << "forwards logits that are " << getWidth(forwarded)
           << " wide, the vocabulary has " << vocabSize;
  return success();
}

LogicalResult PipelineOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<SmallVector<Operation *>> stages = lookUpStages(*this, symbols);
  if (failed(stages))
    return failure();
  // pipeline_c4
  int64_t nextLayer = 0;
  for (Operation *stage : *stages) {
    Region &body = stage->getRegion(0);
    if (body.getOps<LayerOp>().empty())
      continue;
    FailureOr<int64_t> end = verifyLayerNumbers(body, nextLayer);
    if (failed(end))
      return failure();
    nextLayer = *end;
  }
  for (Operation *stage : *stages) {
    WalkResult result = stage->walk([&](EmbedOp embed) -> WalkResult {
      return verifyTable(embed, getVocabSize(), getContextLength());
    });
    if (result.wasInterrupted())
      return failure();
  }
  return verifyEnds(*this, *stages);
}

//===----------------------------------------------------------------------===//
// GenerateOp
//===----------------------------------------------------------------------===//

LaunchOp GenerateOp::getLaunch() {
  return *getBody().getOps<LaunchOp>().begin();
}

SpeculateOp GenerateOp::getSpeculate() {
  auto ops = getBody().getOps<SpeculateOp>();
  return ops.empty() ? SpeculateOp() : *ops.begin();
}

VerifyOp GenerateOp::getVerify() {
  return *getBody().getOps<VerifyOp>().begin();
}

/// Returns the `sluice.commit` behind which the guesses are decided.
static CommitOp findCommit(SpeculateOp speculate) {
  for (Operation *user : speculate.getGuesses().getUsers())
    if (auto verify = dyn_cast<VerifyOp>(user))
      for (Operation *taker : verify.getCount().getUsers())
        if (auto commit = dyn_cast<CommitOp>(taker))
          return commit;
  return {};
}

/// Checks that every effect between speculation and commit can be undone, since
/// the guesses may be wrong.
static LogicalResult verifySpeculation(SpeculateOp speculate) {
  // speculate_c4
  CommitOp commit = findCommit(speculate);
  if (!commit)
    return speculate.emitOpError(
        "has guesses that no sluice.commit decides on");
  // Regions are verified before dominance, so the commit may stand first.
  if (!speculate->isBeforeInBlock(commit)) {
    InFlightDiagnostic error =
        commit.emitOpError("stands before the guesses that it decides on");
    error.attachNote(speculate.getLoc()) << "sluice.speculate";
    return error;
  }
  // speculate_c5
  auto isUndone = [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Read>(effect.getEffect()) ||
           isa<CacheResource, RunResource>(effect.getResource());
  };
  for (Operation *op = speculate->getNextNode(); op != commit;
       op = op->getNextNode()) {
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
        getEffectsRecursively(op);
    if (effects && llvm::all_of(*effects, isUndone))
      continue;
    InFlightDiagnostic error = op->emitOpError();
    if (!effects) {
      error << "may have effects that cannot be undone";
    } else {
      auto effect = llvm::find_if_not(*effects, isUndone);
      error << "has an effect on " << effect->getResource()->getName();
    }
    error << ", between sluice.speculate and sluice.commit";
    error.attachNote(speculate.getLoc()) << "guesses may be wrong from here on";
    return error;
  }
  return success();
}

LogicalResult GenerateOp::verifyRegions() {
  // generate_c6
  Block &body = getBody().front();
  if (body.getNumArguments() > 0)
    return emitOpError("must take no arguments");
  // generate_c2
  if (!isa<EndOp>(body.back()))
    return emitOpError("must end with sluice.end");
  // generate_c3
  auto count = [&](auto ops) { return std::distance(ops.begin(), ops.end()); };
  if (count(body.getOps<LaunchOp>()) != 1 ||
      count(body.getOps<VerifyOp>()) != 1 ||
      count(body.getOps<CommitOp>()) != 1 ||
      count(body.getOps<EmitOp>()) != 1 ||
      count(body.getOps<SpeculateOp>()) > 1)
    return emitOpError("must hold one sluice.launch, one sluice.verify, one "
                       "sluice.commit, one sluice.emit and at most one "
                       "sluice.speculate");
  SpeculateOp speculate = getSpeculate();
  if (speculate && failed(verifySpeculation(speculate)))
    return failure();
  // generate_c5
  EmitOp emit = *body.getOps<EmitOp>().begin();
  if (emit->isBeforeInBlock(*body.getOps<CommitOp>().begin()))
    return emit.emitOpError("stands before sluice.commit");
  return success();
}

LogicalResult GenerateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // generate_c1
  if (failed(lookUp<PipelineOp>(*this, getTargetAttr(), symbols)))
    return failure();
  // generate_c4
  if (getRankAttr())
    return lookUp<RankOp>(*this, getRankAttr(), symbols);
  return success();
}

//===----------------------------------------------------------------------===//
// LaunchOp, SpeculateOp
//===----------------------------------------------------------------------===//

/// Checks the channels of the head: `via` begins at its rank, and `results`
/// ends there.
static LogicalResult verifyHeadChannels(Operation *op, FlatSymbolRefAttr via,
                                        FlatSymbolRefAttr results,
                                        FrameKind answers,
                                        SymbolTableCollection &symbols) {
  if (!via)
    return success();
  // launch_c4
  // speculate_c7
  FailureOr<ChannelOp> there = lookUp<ChannelOp>(op, via, symbols);
  FailureOr<ChannelOp> back = lookUp<ChannelOp>(op, results, symbols);
  if (failed(there) || failed(back))
    return failure();
  FlatSymbolRefAttr rank = cast<GenerateOp>(op->getParentOp()).getRankAttr();
  MLIRContext *context = op->getContext();
  auto rows = FrameType::get(context, FrameKind::Rows, Type());
  if (there->getFromAttr() != rank || there->getFrame() != rows)
    return op->emitOpError() << "needs " << via << " to carry " << rows
                             << " from the head's rank";
  auto tokens = FrameType::get(context, answers, Type());
  if (back->getToAttr() != rank || back->getFrame() != tokens)
    return op->emitOpError() << "needs " << results << " to carry " << tokens
                             << " to the head's rank";
  return success();
}

void LaunchOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getRun(), "run");
}

LogicalResult LaunchOp::verify() {
  // launch_c2
  auto generate = cast<GenerateOp>((*this)->getParentOp());
  if (getPipelineAttr() != generate.getTargetAttr())
    return emitOpError() << "launches " << getPipelineAttr()
                         << ", but the target is " << generate.getTargetAttr();
  // launch_c3
  if (getVia().has_value() != getResults().has_value())
    return emitOpError("needs both channels, via and results, or neither");
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyHeadChannels(*this, getViaAttr(), getResultsAttr(),
                            FrameKind::Tokens, symbols);
}

void SpeculateOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getGuesses(), "guesses");
}

LogicalResult SpeculateOp::verify() {
  // speculate_c3
  int64_t depth = getDepth(), width = getWidth();
  if (depth < 1 || depth > maxGuessDepth || width < 1 || width > maxGuessWidth)
    return emitOpError() << "depth must be 1 to " << maxGuessDepth
                         << " and width 1 to " << maxGuessWidth << ", got "
                         << depth << " and " << width;
  // speculate_c6
  if (getVia().has_value() != getResults().has_value())
    return emitOpError("needs both channels, via and results, or neither");
  return verifyPrediction(*this, getCosts(), getStepRows());
}

LogicalResult SpeculateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // speculate_c2
  auto generate = cast<GenerateOp>((*this)->getParentOp());
  auto target = symbols.lookupNearestSymbolFrom<PipelineOp>(
      *this, generate.getTargetAttr());
  Operation *draft = symbols.lookupNearestSymbolFrom(*this, getDraftAttr());
  if (!isa_and_nonnull<ModelOp, PipelineOp>(draft) || draft == target)
    return emitOpError() << getDraftAttr()
                         << " is not a model that could be the draft";
  return verifyHeadChannels(*this, getViaAttr(), getResultsAttr(),
                            FrameKind::Guesses, symbols);
}

//===----------------------------------------------------------------------===//
// VerifyOp, CommitOp, EmitOp
//===----------------------------------------------------------------------===//

void VerifyOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getCount(), "n");
}

LogicalResult VerifyOp::verify() {
  // verify_c2
  if (!getGuesses())
    return success();
  auto speculate = getGuesses().getDefiningOp<SpeculateOp>();
  if (!speculate || speculate.getRun() != getRun())
    return emitOpError("takes guesses that are not behind its run");
  return success();
}

LogicalResult CommitOp::verify() {
  // commit_c2
  auto verify = getCount().getDefiningOp<VerifyOp>();
  if (!verify || verify.getRun() != getRun())
    return emitOpError("takes a count that no sluice.verify of its run found");
  return success();
}

LogicalResult EmitOp::verify() {
  // emit_c2
  if (!getCount().getDefiningOp<VerifyOp>())
    return emitOpError("takes a count that no sluice.verify found");
  return success();
}
