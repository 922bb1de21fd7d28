//===- DescriptorBuilder.cpp - descriptors of the phase kernels -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/DescriptorBuilder.h"

#include "StepPlanBuilder.h"
#include "sluice/Analysis/ClusterSpec.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

using FileNumbers = llvm::DenseMap<StringRef, int64_t>;

/// Numbers the module's files in their order.
static FileNumbers addFiles(ModuleOp module, ExecutableDescriptor &result) {
  FileNumbers numbers;
  for (FileOp file : module.getOps<FileOp>()) {
    numbers[file.getSymName()] = static_cast<int64_t>(result.files.size());
    result.files.push_back(
        {file.getAbsolutePath(), file.getSize(), file.getIdentity().str()});
  }
  return numbers;
}

static sluice::WeightUse toWeightUse(WeightUseKind use) {
  switch (use) {
  case WeightUseKind::Linear:
    return sluice::WeightUse::Linear;
  case WeightUseKind::Rows:
    return sluice::WeightUse::Rows;
  case WeightUseKind::Vector:
    return sluice::WeightUse::Vector;
  }
  llvm_unreachable("unknown use");
}

static ScalesDescriptor describeScales(WeightOp scales,
                                       const FileNumbers &files) {
  RankedTensorType type = scales.getTensorType();
  ScalesDescriptor result;
  result.file = files.lookup(scales.getFile());
  result.offset = scales.getOffset();
  result.format = toFormat(scales.getStored());
  result.rows = type.getDimSize(0);
  result.cols = type.getRank() == 2 ? type.getDimSize(1) : 1;
  return result;
}

/// `slice` is null if the program has all of the weight.
static WeightDescriptor describeWeight(WeightOp weight, SliceOp slice,
                                       WeightUseAttr use,
                                       const SymbolTable &symbols,
                                       const FileNumbers &files) {
  RankedTensorType type = weight.getTensorType();
  WeightDescriptor result;
  result.name = weight.getSymName().str();
  result.file = files.lookup(weight.getFile());
  result.offset = weight.getOffset();
  result.bytes = *weight.getStoredBytes();
  result.rows = type.getRank() == 2 ? type.getDimSize(0) : 1;
  result.cols = type.getShape().back();
  result.stored = toFormat(weight.getStored());
  result.format = toFormat(weight.getElementFormat());
  result.transposed = use.getTransposed();
  result.use = toWeightUse(use.getUse());
  if (std::optional<StringRef> scales = weight.getScales())
    result.scales = describeScales(symbols.lookup<WeightOp>(*scales), files);
  if (slice) {
    result.slice.ofColumns = !slice.getRows();
    llvm::append_range(result.slice.bounds, slice.getRanges());
  }
  return result;
}

/// Returns the format that most elements of the target's linear weights have,
/// which is commonly called the model's quantisation.
static std::string nameQuantization(const ExecutableDescriptor &executable) {
  llvm::MapVector<Format, int64_t> elements;
  for (const PlanStage &stage : executable.plan.stages) {
    auto index = executable.findProgram(stage.program);
    for (const WeightDescriptor &weight : executable.programs[*index].weights)
      if (weight.use == sluice::WeightUse::Linear)
        elements[weight.format] += weight.rows * weight.cols;
  }
  if (elements.empty())
    return "f32";
  auto max = llvm::max_element(elements, llvm::less_second());
  return std::string(formatInfo(max->first).name);
}

/// Returns the kernels that the tasks of a step name.
static SmallVector<KernelAttr> listKernels(StepOp step) {
  SmallVector<KernelAttr> kernels;
  for (Operation &op : step.getBody().front()) {
    if (auto loop = dyn_cast<TaskRowsOp>(op); loop && loop.getKernelAttr())
      kernels.push_back(loop.getKernelAttr());
    else if (auto sample = dyn_cast<TaskSampleOp>(op))
      llvm::append_range(kernels,
                         sample.getKernels()->getAsRange<KernelAttr>());
  }
  return kernels;
}

/// Checks that the step's kernels exist, so that the runtime can call them: for
/// a CPU functions of the type SluiceRowKernel
/// (runtime/device/cpu/CpuProgramABI.h), for a GPU kernels (task.rows_c6).
static Status checkKernels(StepOp step, const SymbolTable &symbols) {
  MLIRContext *context = step.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type index = IndexType::get(context);
  Type expected =
      FunctionType::get(context, {pointer, pointer, index, index}, {});
  for (KernelAttr name : listKernels(step)) {
    if (name.isForGpu()) {
      StringRef module = name.getFunction().getRootReference().getValue();
      if (!symbols.lookup<gpu::GPUModuleOp>(module))
        return failure("there is no gpu.module @", module.str(),
                       " with the kernels of a step");
      continue;
    }
    // It is a function: task.rows_c6.
    auto kernel = symbols.lookup<FunctionOpInterface>(name.getName());
    if (kernel.getFunctionType() != expected || kernel.isExternal())
      return failure("@", name.getName().str(),
                     " is not a defined function of the type that the runtime "
                     "calls");
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static ProgramDescriptor describeProgram(ProgramOp program,
                                         const SymbolTable &symbols,
                                         const FileNumbers &files) {
  ProgramDescriptor result;
  result.name = program.getCounterpart() ? program.getCounterpart()->str()
                                         : program.getSymName().str();
  if (program.getCpu())
    result.cpu = stringifyCpuLevel(*program.getCpu()).str();
  else
    result.target = ProgramTarget::Cuda;
  result.step =
      buildStepPlan(symbols.lookup<StepOp>(program.getStep()), program);
  result.contextLength = program.getContextLength();
  result.vocabSize = program.getVocabSize();
  result.hiddenSize = program.getHiddenSize();
  result.members = program.getMembers();
  result.firstLayer = program.getFirstLayer();
  result.layers = program.getLayers();
  result.hasEmbedding = program.getHasEmbedding();
  result.hasOutput = program.getHasOutput();
  result.rowFloats = program.getRowFloats();
  result.outputFloats = program.getOutputFloats();
  result.logitsOffset = program.getLogitsOffset();
  result.checkpoints = program.getCheckpoints();
  result.stepRows = program.getStepRows().value_or(result.stepRows);
  for (auto type : program.getCaches().getAsValueRange<TypeAttr>()) {
    auto cache = cast<CacheType>(type);
    result.caches.push_back({cache.getKvHeads(), cache.getHeadDim()});
  }
  for (auto table : program.getRopeTables().getAsRange<RopeTableAttr>())
    result.ropeTables.push_back(
        {table.getInverse().asArrayRef().vec(),
         static_cast<float>(table.getFactor().convertToDouble())});
  // The places of uses without a partner. A partner has such a use:
  // program_c13.
  llvm::DenseMap<Attribute, int64_t> places;
  for (auto [place, use] : llvm::enumerate(program.getWeights()))
    places[use] = static_cast<int64_t>(place);
  for (auto use : program.getWeights().getAsRange<WeightUseAttr>()) {
    auto slice = symbols.lookup<SliceOp>(use.getWeight().getValue());
    auto weight = symbols.lookup<WeightOp>(slice ? slice.getWeight()
                                                 : use.getWeight().getValue());
    result.weights.push_back(
        describeWeight(weight, slice, use, symbols, files));
    if (FlatSymbolRefAttr partner = use.getPartner())
      result.weights.back().partner =
          places.at(WeightUseAttr::get(use.getContext(), partner, use.getUse(),
                                       use.getTransposed(), /*partner=*/{}));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

static StepCosts toCosts(ProgramOp program) {
  StepCosts costs{};
  // There are as many costs as row counts: program_c8.
  if (std::optional<ArrayRef<int64_t>> nanos = program.getCosts())
    llvm::transform(*nanos, costs.begin(), [](int64_t n) { return Time(n); });
  return costs;
}

/// Returns the name of a place as in `machines`. If no cluster is described,
/// the node's first device is assumed to be its only one.
static Expected<std::string>
namePlace(const std::optional<cluster::Cluster> &machines, PlaceAttr place) {
  if (!machines) {
    std::string node = place.getNode().str();
    return place.getDevice() == 0
               ? node
               : node + "/" + std::to_string(place.getDevice());
  }
  Expected<cluster::Place> found = fromPlaceAttr(*machines, place);
  if (!found)
    return found.status();
  return machines->placeName(*found);
}

/// Adds the ranks without their roles. Returns their numbers by name.
static Expected<llvm::StringMap<int64_t>> addRanks(ModuleOp module,
                                                   ExecutionPlan &plan) {
  std::optional<cluster::Cluster> machines;
  if (hasCluster(module)) {
    Expected<cluster::Cluster> found = getCluster(module);
    if (!found)
      return found.status();
    machines = found.take();
  }
  llvm::StringMap<int64_t> numbers;
  for (RankOp rank : module.getOps<RankOp>()) {
    Expected<std::string> place = namePlace(machines, rank.getPlace());
    if (!place)
      return place.status();
    numbers[rank.getSymName()] = static_cast<int64_t>(plan.ranks.size());
    plan.ranks.push_back({{}, place.take()});
  }
  return numbers;
}

/// Adds the channels in the order of the module, which is that of the stages.
/// Their kinds follow from their frames.
static void addChannels(ModuleOp module, const llvm::StringMap<int64_t> &ranks,
                        ExecutionPlan &plan) {
  for (ChannelOp channel : module.getOps<ChannelOp>()) {
    FrameType frame = channel.getFrame();
    auto kind = PlanChannel::Kind::Tokens;
    if (frame.getKind() == FrameKind::Rows)
      kind = frame.getActivations() ? PlanChannel::Kind::Activations
                                    : PlanChannel::Kind::Rows;
    plan.channels.push_back(
        {channel.getSymName().str(), ranks.lookup(channel.getFrom()),
         ranks.lookup(channel.getTo()),
         static_cast<int64_t>(channel.getCapacity()), kind});
  }
}

static PlanDraft describeDraft(DeploymentOp op, ProgramOp program) {
  PlanDraft draft;
  draft.program = program.getSymName().str();
  draft.placement = *op.getPlacement() == Placement::Own ? DraftPlacement::Own
                                                         : DraftPlacement::Head;
  draft.depth = *op.getDepth();
  draft.width = *op.getWidth();
  draft.costs = toCosts(program);
  return draft;
}

/// Adds the members after the first of the group that computes a stage.
static void addOthers(DeploymentOp op, int64_t stage,
                      const SymbolTable &symbols,
                      const llvm::StringMap<int64_t> &ranks,
                      ExecutionPlan &plan) {
  if (!op.getGroups())
    return;
  std::vector<std::string> &others = plan.stages[stage].others;
  auto members = cast<ArrayAttr>((*op.getGroups())[stage]);
  for (auto name : members.getAsRange<FlatSymbolRefAttr>()) {
    if (name == op.getStages()[stage])
      continue;
    auto program = symbols.lookup<ProgramOp>(name.getValue());
    others.push_back(name.getValue().str());
    plan.ranks[ranks.lookup(*program.getRank())].roles.push_back(
        {RankRole::Kind::Stage, stage, static_cast<int64_t>(others.size())});
  }
}

static Expected<ExecutionPlan> describePlan(ModuleOp module, DeploymentOp op,
                                            const SymbolTable &symbols) {
  ExecutionPlan plan;
  plan.maxLatency = std::chrono::microseconds(op.getMaxLatencyUs().value_or(0));
  Expected<llvm::StringMap<int64_t>> numbers = addRanks(module, plan);
  if (!numbers)
    return numbers.status();
  const llvm::StringMap<int64_t> &ranks = *numbers;
  auto &head = plan.ranks[ranks.lookup(op.getHead())].roles;
  head.push_back({RankRole::Kind::Head, 0});
  if (std::optional<StringRef> draft = op.getDraft()) {
    head.push_back({RankRole::Kind::Draft, 0});
    plan.draft = describeDraft(op, symbols.lookup<ProgramOp>(*draft));
  }
  for (auto name : op.getStages().getAsRange<FlatSymbolRefAttr>()) {
    auto program = symbols.lookup<ProgramOp>(name.getValue());
    auto stage = static_cast<int64_t>(plan.stages.size());
    plan.ranks[ranks.lookup(*program.getRank())].roles.push_back(
        {RankRole::Kind::Stage, stage});
    plan.stages.push_back({name.getValue().str(), toCosts(program)});
    addOthers(op, stage, symbols, ranks, plan);
  }
  addChannels(module, ranks, plan);
  return plan;
}

/// Sets the target's shape, which is known from the program of its first stage.
static void describeTarget(const ProgramDescriptor &first, ProgramOp program,
                           ExecutableDescriptor &result) {
  result.name = program.getModelName().str();
  result.architecture = program.getArchitecture().str();
  result.contextLength = first.contextLength;
  result.vocabSize = first.vocabSize;
  result.hiddenSize = first.hiddenSize;
  for (int64_t token : program.getEosTokens())
    result.eosTokens.push_back(static_cast<int32_t>(token));
}

/// Returns the most rows of a prompt that every step can have, including the
/// draft's, since the head cuts a prompt for the draft in the same way.
static int64_t minStepRows(const ExecutableDescriptor &executable) {
  const ExecutionPlan &plan = executable.plan;
  auto rowsOf = [&](std::string_view program) {
    return executable.programs[*executable.findProgram(program)].stepRows;
  };
  int64_t min = rowsOf(plan.stages.front().program);
  for (const PlanStage &stage : plan.stages)
    min = std::min(min, rowsOf(stage.program));
  return plan.draft ? std::min(min, rowsOf(plan.draft->program)) : min;
}

Expected<ExecutableDescriptor> sluice::buildDescriptor(ModuleOp module) {
  ExecutableDescriptor result;
  llvm::DenseMap<StringRef, int64_t> files = addFiles(module, result);
  SymbolTable symbols(module);
  // Programs for CPUs come first.
  for (bool forCpu : {true, false})
    for (ProgramOp program : module.getOps<ProgramOp>()) {
      if (program.getCpu().has_value() != forCpu)
        continue;
      SLUICE_RETURN_IF_ERROR(
          checkKernels(symbols.lookup<StepOp>(program.getStep()), symbols));
      result.programs.push_back(describeProgram(program, symbols, files));
    }
  auto plans = module.getOps<DeploymentOp>();
  Expected<ExecutionPlan> plan =
      plans.empty() ? makeLocalPlan({result.programs.front().name})
                    : describePlan(module, *plans.begin(), symbols);
  if (!plan)
    return plan.status();
  result.plan = plan.take();

  const PlanStage &first = result.plan.stages.front();
  describeTarget(result.programs[*result.findProgram(first.program)],
                 symbols.lookup<ProgramOp>(first.program), result);
  for (size_t stage = 0; stage < result.plan.stages.size(); ++stage)
    result.layers += result.stageProgram(stage).layers;
  result.plan.stepRows = minStepRows(result);
  result.quantization = nameQuantization(result);
  result.phases = {"model",   "pipeline", "program",
                   "kernels", "object",   "executable"};
  return result;
}
