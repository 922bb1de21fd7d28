//===- SluiceProgramOps.cpp - sluice.program and sluice.view --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWeights.h"
#include "RowFlow.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

namespace sluice::ir {

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// `<` symbol `,` use (`,` `transposed`)? (`,` `partner` symbol)? `>`
Attribute WeightUseAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr weight;
  StringRef keyword;
  if (parser.parseLess() || parser.parseAttribute(weight) ||
      parser.parseComma())
    return {};
  SMLoc useLoc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return {};
  std::optional<WeightUseKind> use = symbolizeWeightUseKind(keyword);
  if (!use) {
    parser.emitError(useLoc, "expected linear, rows or vector");
    return {};
  }
  bool transposed = false;
  FlatSymbolRefAttr partner;
  while (!partner && succeeded(parser.parseOptionalComma())) {
    if (!transposed && succeeded(parser.parseOptionalKeyword("transposed")))
      transposed = true;
    else if (parser.parseKeyword("partner") || parser.parseAttribute(partner))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), weight, *use, transposed, partner);
}

void WeightUseAttr::print(AsmPrinter &printer) const {
  printer << "<" << getWeight() << ", " << stringifyWeightUseKind(getUse());
  if (getTransposed())
    printer << ", transposed";
  if (getPartner())
    printer << ", partner " << getPartner();
  printer << ">";
}

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  int64_t vocabSize = getVocabSize(), contextLength = getContextLength();
  int64_t hiddenSize = getHiddenSize(), layers = getLayers();
  int64_t rowFloats = getRowFloats(), outputFloats = getOutputFloats();
  int64_t logits = getLogitsOffset();
  // program_c3
  if (vocabSize <= 0 || contextLength <= 0 || hiddenSize <= 0)
    return emitOpError("has a vocabulary, context or hidden size that is not "
                       "positive");
  if (layers < 0 || rowFloats < 0 || outputFloats < 0)
    return emitOpError("has a negative number of layers or arena size");
  // program_c4
  if (!getHasOutput() && logits != 0)
    return emitOpError("has an offset of logits, but no output");
  if (getHasOutput() && (logits < 0 || logits > outputFloats ||
                         vocabSize > outputFloats - logits))
    return emitOpError("has logits outside of the output part of the arena");
  // program_c5
  for (Type cache : getCaches().getAsValueRange<TypeAttr>())
    if (!isa<CacheType>(cache))
      return emitOpError("has a cache of type ") << cache;
  // program_c6
  if (rowFloats % arenaUnit || outputFloats % arenaUnit || logits % arenaUnit)
    return emitOpError("has arena sizes that are not multiples of ")
           << arenaUnit;
  // program_c7
  int64_t firstLayer = getFirstLayer(), checkpoints = getCheckpoints();
  if (firstLayer < 0 || checkpoints < 0)
    return emitOpError("has a negative first layer or number of checkpoints");
  if (getHasEmbedding() && firstLayer != 0)
    return emitOpError() << "has the embedding, but starts with layer "
                         << firstLayer;
  // program_c11
  if (auto members = static_cast<int64_t>(getMembers());
      members < 1 || members > maxMembers)
    return emitOpError() << "is of a group of " << members
                         << " members, expected 1 to " << maxMembers;
  return verifyPrediction(*this, getCosts(), getStepRows());
}

static LogicalResult verifyCounterpart(ProgramOp program,
                                       SymbolTableCollection &symbols) {
  // program_c10
  FlatSymbolRefAttr name = program.getCounterpartAttr();
  if (!name)
    return success();
  if (program.getCpu())
    return program.emitOpError("is for a CPU and has a counterpart");
  Operation *found = symbols.lookupNearestSymbolFrom(program, name);
  if (isa_and_nonnull<WorkerOp, ModelOp, StepOp>(found))
    return success();
  auto counterpart = dyn_cast_or_null<ProgramOp>(found);
  if (!counterpart || !counterpart.getCpu() ||
      counterpart.getRankAttr() != program.getRankAttr())
    return program.emitOpError("has the counterpart ")
           << name << ", which is no program for a CPU at its rank";
  return success();
}

/// Checks that a program and its step say the same.
static LogicalResult verifyAgreement(ProgramOp program, StepOp step) {
  // program_c14
  auto cpu = dyn_cast<CpuTargetAttr>(step.getTarget());
  Value logits = step.getLogits();
  auto getParameters = [](auto op) -> Attribute { return op.getParameters(); };
  auto getType = [](auto op) -> Type { return op.getType(); };
  auto number = [](auto value) { return static_cast<int64_t>(value); };
  auto place = [&](Value buffer) {
    return number(*buffer.getDefiningOp<BufferOp>().getPlace());
  };
  const std::pair<StringRef, bool> agreements[] = {
      {"target", cpu ? cpu.getLevel() == program.getCpu() : !program.getCpu()},
      {"arena",
       number(program.getRowFloats()) == number(*step.getRowFloats()) &&
           number(program.getOutputFloats()) ==
               number(*step.getOutputFloats())},
      {"members", program.getMembers() == step.getMembers()},
      {"checkpoints",
       number(program.getCheckpoints()) == step.countCheckpoints()},
      {"output", program.getHasOutput() == (logits != nullptr)},
      {"logits", !logits || number(program.getLogitsOffset()) == place(logits)},
      {"caches",
       llvm::equal(program.getCaches().getAsValueRange<TypeAttr>(),
                   llvm::map_range(step.getBody().getOps<CacheOp>(), getType))},
      {"rope tables",
       llvm::equal(program.getRopeTables(),
                   llvm::map_range(step.getBody().getOps<RopeTableOp>(),
                                   getParameters))}};
  for (auto [what, agrees] : agreements)
    if (!agrees)
      return program.emitOpError("has another ")
             << what << " than its step " << program.getStepAttr();
  return success();
}

/// Returns whether a task of the program has its generated code, or needs none.
static bool hasCode(ProgramOp program, Operation &task) {
  bool isForGpu = !program.getCpu();
  auto isOfTarget = [&](KernelAttr kernel) {
    return kernel.isForGpu() == isForGpu;
  };
  if (auto loop = dyn_cast<TaskRowsOp>(task))
    return loop.getKernelAttr() ? isOfTarget(loop.getKernelAttr())
                                : loop.getRuntime() && isForGpu;
  if (auto sample = dyn_cast<TaskSampleOp>(task))
    return isForGpu && sample.getKernels() &&
           llvm::all_of(sample.getKernels()->getAsRange<KernelAttr>(),
                        isOfTarget);
  return true;
}

/// Checks that a program's step is ready to be run.
static LogicalResult verifyStep(ProgramOp program, StepOp step) {
  if (!step)
    return program.emitOpError("names a step ")
           << program.getStepAttr() << " that the module does not have";
  if (!step.isAssigned())
    return program.emitOpError("names the step ")
           << program.getStepAttr() << ", which has no arena";
  if (!llvm::all_of(step.getBody().front(),
                    [&](Operation &op) { return hasCode(program, op); }))
    return program.emitOpError("names the step ")
           << program.getStepAttr() << ", which has a task without its kernel";
  return verifyAgreement(program, step);
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // program_c2
  if (failed(verifyUses(*this, symbols)))
    return failure();
  // program_c13
  if (failed(verifyPartners(*this, symbols)))
    return failure();
  // program_c9
  if (getRankAttr() && failed(lookUp<RankOp>(*this, getRankAttr(), symbols)))
    return failure();
  if (failed(verifyCounterpart(*this, symbols)))
    return failure();
  // program_c1
  auto step = symbols.lookupNearestSymbolFrom<StepOp>(*this, getStepAttr());
  if (failed(verifyStep(*this, step)))
    return failure();
  // program_c12
  return verifyListed(*this, step);
}

//===----------------------------------------------------------------------===//
// DeploymentOp
//===----------------------------------------------------------------------===//

LogicalResult DeploymentOp::verify() {
  // deployment_c5
  bool hasDraft = getDraft().has_value();
  if (getPlacement().has_value() != hasDraft ||
      getDepth().has_value() != hasDraft || getWidth().has_value() != hasDraft)
    return emitOpError("needs a draft with placement, depth and width, or none "
                       "of them");
  int64_t depth = getDepth().value_or(1), width = getWidth().value_or(1);
  if (depth < 1 || depth > maxGuessDepth || width < 1 || width > maxGuessWidth)
    return emitOpError() << "depth must be 1 to " << maxGuessDepth
                         << " and width 1 to " << maxGuessWidth << ", got "
                         << depth << " and " << width;
  return verifyMaxLatency(*this, getMaxLatencyUs());
}

/// Checks that a stage continues the stages before it.
static LogicalResult verifyStage(DeploymentOp deployment, ProgramOp program,
                                 bool isFirst, bool isLast, int64_t nextLayer,
                                 ProgramOp first) {
  // deployment_c3
  if (program.getHasEmbedding() != isFirst || program.getHasOutput() != isLast)
    return deployment.emitOpError()
           << "the program " << program.getSymNameAttr()
           << " has not the ends that its place among the "
              "stages asks for";
  if (program.getLayers() != 0 &&
      static_cast<int64_t>(program.getFirstLayer()) != nextLayer)
    return deployment.emitOpError()
           << "the program " << program.getSymNameAttr()
           << " starts with layer " << program.getFirstLayer() << ", expected "
           << nextLayer;
  if (program.getVocabSize() != first.getVocabSize() ||
      program.getContextLength() != first.getContextLength() ||
      program.getHiddenSize() != first.getHiddenSize())
    return deployment.emitOpError()
           << "the program " << program.getSymNameAttr()
           << " is of another model than the first";
  return success();
}

/// Checks that `member` can compute a stage together with `first` and the
/// members before it.
static LogicalResult verifyMember(DeploymentOp deployment, ProgramOp member,
                                  ProgramOp first, size_t count,
                                  ArrayRef<ProgramOp> before) {
  auto shape = [](ProgramOp program) {
    return std::tuple(program.getHasEmbedding(), program.getHasOutput(),
                      program.getFirstLayer(), program.getLayers(),
                      program.getHiddenSize(), program.getVocabSize(),
                      program.getCheckpoints());
  };
  if (member.getMembers() != count || shape(member) != shape(first))
    return deployment.emitOpError()
           << "the program @" << member.getSymName() << " is not one of "
           << count << " that compute a stage with @" << first.getSymName();
  for (ProgramOp other : before)
    if (other.getRankAttr() == member.getRankAttr())
      return deployment.emitOpError()
             << "has two members of a group at " << member.getRankAttr();
  return success();
}

static LogicalResult verifyGroups(DeploymentOp deployment,
                                  ArrayRef<ProgramOp> stages,
                                  SymbolTableCollection &symbols) {
  // deployment_c6
  if (!deployment.getGroups()) {
    for (ProgramOp stage : stages)
      if (stage.getMembers() != 1)
        return deployment.emitOpError()
               << "needs the group of @" << stage.getSymName();
    return success();
  }
  if (deployment.getGroups()->size() != stages.size())
    return deployment.emitOpError()
           << "has " << deployment.getGroups()->size() << " groups for "
           << stages.size() << " stages";
  for (auto [stage, group] :
       llvm::zip_equal(SmallVector<ProgramOp>(stages),
                       deployment.getGroups()->getAsRange<ArrayAttr>())) {
    SmallVector<ProgramOp> members;
    for (auto name : group.getAsRange<FlatSymbolRefAttr>()) {
      FailureOr<ProgramOp> member =
          lookUp<ProgramOp>(deployment, name, symbols);
      if (failed(member) || failed(verifyMember(deployment, *member, stage,
                                                group.size(), members)))
        return failure();
      members.push_back(*member);
    }
    if (members.empty() || members.front() != stage)
      return deployment.emitOpError()
             << "has a group that does not begin with @" << stage.getSymName();
  }
  return success();
}

/// Returns whether the stages are still steps, as in the phase `plan`.
static bool isPlanned(DeploymentOp deployment, SymbolTableCollection &symbols) {
  auto stages = deployment.getStages().getAsRange<FlatSymbolRefAttr>();
  return !stages.empty() &&
         symbols.lookupNearestSymbolFrom<StepOp>(deployment, *stages.begin());
}

/// Checks the names of a deployment in the phase `plan`. How the programs fit
/// together is checked once there are programs.
static LogicalResult verifySteps(DeploymentOp deployment,
                                 SymbolTableCollection &symbols) {
  // deployment_c2
  auto names =
      llvm::to_vector(deployment.getStages().getAsRange<FlatSymbolRefAttr>());
  if (deployment.getDraftAttr())
    names.push_back(deployment.getDraftAttr());
  for (FlatSymbolRefAttr name : names) {
    FailureOr<StepOp> step = lookUp<StepOp>(deployment, name, symbols);
    if (failed(step))
      return failure();
    if (!step->getRank())
      return deployment.emitOpError() << name << " has no rank";
  }
  return success();
}

LogicalResult DeploymentOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // deployment_c1
  if (failed(lookUp<RankOp>(*this, getHeadAttr(), symbols)))
    return failure();
  if (isPlanned(*this, symbols))
    return verifySteps(*this, symbols);
  // deployment_c2
  SmallVector<ProgramOp> stages;
  for (auto name : getStages().getAsRange<FlatSymbolRefAttr>()) {
    FailureOr<ProgramOp> program = lookUp<ProgramOp>(*this, name, symbols);
    if (failed(program))
      return failure();
    if (!program->getRank() || llvm::is_contained(stages, *program))
      return emitOpError() << name << " has no rank, or is there twice";
    stages.push_back(*program);
  }
  if (stages.empty())
    return emitOpError("has no stages");
  int64_t nextLayer = 0;
  for (ProgramOp program : stages) {
    if (failed(verifyStage(*this, program, program == stages.front(),
                           program == stages.back(), nextLayer,
                           stages.front())))
      return failure();
    nextLayer += static_cast<int64_t>(program.getLayers());
  }
  if (failed(verifyGroups(*this, stages, symbols)))
    return failure();
  if (!getDraft())
    return success();
  // deployment_c4
  FailureOr<ProgramOp> draft =
      lookUp<ProgramOp>(*this, getDraftAttr(), symbols);
  if (failed(draft))
    return failure();
  if (draft->getRankAttr() != getHeadAttr() || !draft->getHasEmbedding() ||
      !draft->getHasOutput())
    return emitOpError() << getDraftAttr()
                         << " is not a whole model at the head's rank";
  return success();
}

//===----------------------------------------------------------------------===//
// ViewOp
//===----------------------------------------------------------------------===//

LogicalResult ViewOp::verify() {
  // view_c1
  if (!isa<LLVM::LLVMPointerType>(getSource().getType()))
    return emitOpError("needs an !llvm.ptr, has ") << getSource().getType();
  // view_c2
  auto type = dyn_cast<MemRefType>(getResult().getType());
  if (!type || !type.getLayout().isIdentity() || type.getMemorySpace())
    return emitOpError("needs a memref without layout and memory space, has ")
           << getResult().getType();
  // view_c3
  if (type.getNumDynamicDims() != getSizes().size())
    return emitOpError("has ")
           << getSizes().size() << " sizes for " << type.getNumDynamicDims()
           << " dynamic dimensions";
  return success();
}

} // namespace sluice::ir
