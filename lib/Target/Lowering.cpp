//===- Lowering.cpp - from each phase of a module to the next -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "sluice/Analysis/ClusterSpec.h"
#include "sluice/Conversion/CudaChips.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"
#include "sluice/Planning/Passes.h"
#include "sluice/Support/Diagnostics.h"
#include "sluice/Target/MergeDraft.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace sluice;

std::string_view sluice::phaseName(Phase phase) {
  switch (phase) {
  case Phase::Model:
    return "model";
  case Phase::Pipeline:
    return "pipeline";
  case Phase::Program:
    return "program";
  case Phase::Plan:
    return "plan";
  case Phase::Kernels:
    return "kernels";
  case Phase::Object:
    return "object";
  case Phase::Executable:
    return "executable";
  }
  llvm_unreachable("unknown phase");
}

std::optional<Phase> sluice::parsePhase(std::string_view name) {
  for (Phase phase :
       {Phase::Model, Phase::Pipeline, Phase::Program, Phase::Plan,
        Phase::Kernels, Phase::Object, Phase::Executable})
    if (phaseName(phase) == name)
      return phase;
  return std::nullopt;
}

Phase sluice::nextPhase(Phase phase) {
  return static_cast<Phase>(static_cast<int>(phase) + 1);
}

Phase sluice::phaseOf(ModuleOp module) {
  if (!module.getOps<ir::ProgramOp>().empty())
    return Phase::Kernels;
  if (!module.getOps<ir::StepOp>().empty())
    return Phase::Plan;
  if (!module.getOps<ir::RankOp>().empty())
    return Phase::Program;
  return module.getOps<ir::PipelineOp>().empty() ? Phase::Model
                                                 : Phase::Pipeline;
}

//===----------------------------------------------------------------------===//
// Pipelines of passes
//===----------------------------------------------------------------------===//

static Status run(ModuleOp module, const CompileOptions &options,
                  const char *what,
                  llvm::function_ref<void(PassManager &)> addPasses) {
  FirstError firstError(module.getContext());
  PassManager passes(module.getContext());
  if (options.configurePasses && failed(options.configurePasses(passes)))
    return failure("the pass manager's options do not fit together");
  addPasses(passes);
  if (failed(passes.run(module)))
    return firstError.status(what);
  return {};
}

static void addVerifier(PassManager &passes, Phase phase) {
  passes.addPass(createVerifyPhase({std::string(phaseName(phase))}));
}

Status sluice::verifyPhase(ModuleOp module, const CompileOptions &options,
                           Phase phase) {
  return run(module, options, "the module is in no known phase",
             [&](PassManager &passes) { addVerifier(passes, phase); });
}

bool sluice::hasDraft(ModuleOp module) {
  auto models = module.getOps<ir::ModelOp>();
  return std::distance(models.begin(), models.end()) > 1 &&
         llvm::any_of(models, [](ir::ModelOp model) {
           return model.getSymName() == draftModelName;
         });
}

/// Returns the name of the model that is not the draft.
static std::string nameTarget(ModuleOp module) {
  for (ir::ModelOp model : module.getOps<ir::ModelOp>())
    if (model.getSymName() != draftModelName)
      return model.getSymName().str();
  return draftModelName.str();
}

/// Adds the passes that split a model over a group, cut it into stages, add its
/// draft and fuse the steps.
static void addCuttingPasses(PassManager &passes, ModuleOp module,
                             const ModelPipelineOptions &options) {
  if (options.tensorParallel > 1) {
    ShardTensorsOptions shards;
    shards.tensorParallel = options.tensorParallel;
    shards.target = nameTarget(module);
    passes.addPass(createShardTensors(shards));
  }
  PartitionStagesOptions partition;
  partition.clusterFile = options.clusterFile;
  partition.stages = options.stages;
  partition.placement = options.placement;
  partition.target = nameTarget(module);
  passes.addPass(createPartitionStages(partition));
  if (hasDraft(module)) {
    InsertSpeculationOptions speculation;
    speculation.draft = draftModelName.str();
    speculation.placement = options.placement;
    speculation.depth = options.depth;
    speculation.width = options.width;
    passes.addPass(createInsertSpeculation(speculation));
  }
  passes.addPass(createFuseDecode());
}

/// Adds the passes for checkpoints. The module must have its stages, and its
/// draft if there is one.
static void addCheckpointPasses(PassManager &passes, ModuleOp module,
                                const ModelPipelineOptions &options) {
  InsertCheckpointsOptions checkpoints;
  auto stages = module.getOps<ir::StageOp>();
  auto drafts = module.getOps<ir::ModelOp>();
  // Without stages and a draft nothing is in flight behind the certain row, so
  // no row dies during a step. Checkpoints would only cut kernels.
  if (llvm::hasSingleElement(stages) && drafts.empty())
    checkpoints.maxLatency = 0;
  if (options.maxLatencyMicros)
    checkpoints.maxLatency = *options.maxLatencyMicros;
  passes.addPass(createInsertCheckpoints(checkpoints));
  addVerifier(passes, Phase::Pipeline);
}

static Status lowerToPipeline(ModuleOp module, const CompileOptions &options) {
  const char *what = "the lowering to a pipeline failed";
  // The number of stages is known only after the first passes have run.
  SLUICE_RETURN_IF_ERROR(run(module, options, what, [&](PassManager &passes) {
    addCuttingPasses(passes, module, options.pipeline);
  }));
  return run(module, options, what, [&](PassManager &passes) {
    addCheckpointPasses(passes, module, options.pipeline);
  });
}

/// Adds the passes that plan the steps for each requested target.
static void addPlans(PassManager &passes, const CompileOptions &options) {
  PlanStepOptions plan;
  if (options.forCuda) {
    plan.target = "#sluice.cuda";
    plan.besideCpu = options.forCpu;
    buildPlanPipeline(passes, plan);
  }
  if (options.forCpu) {
    plan.target =
        "#sluice.cpu<" + std::string(cpu::isaName(options.cpu.isa)) + ">";
    plan.besideCpu = false;
    buildPlanPipeline(passes, plan);
  }
}

/// Adds the passes that convert the steps of all targets to code.
static void addConversions(PassManager &passes, const CompileOptions &options) {
  ConvertSluiceToCUDAOptions device;
  device.arch.assign(options.cudaChips.begin(), options.cudaChips.end());
  passes.addPass(createConvertSluiceToCUDA(device));
  passes.addPass(createConvertSluiceToCPU());
}

/// Warns of stages that were planned on a device of a kind for which they get
/// no code. A device that the cluster does not describe counts as either kind.
static Status checkKinds(ModuleOp module, const CompileOptions &options) {
  if ((options.forCpu && options.forCuda) || !hasCluster(module))
    return {};
  Expected<cluster::Cluster> machines = getCluster(module);
  if (!machines)
    return machines.status();
  for (ir::StageOp stage : module.getOps<ir::StageOp>())
    for (auto name : stage.getPlaces().getAsRange<ir::PlaceAttr>()) {
      Expected<cluster::Place> place = fromPlaceAttr(*machines, name);
      if (!place)
        return place.status();
      const cluster::DeviceSpec &device = machines->device(*place);
      const bool isGpu = device.kind == cluster::DeviceKind::Cuda;
      if (isGpu != options.forCuda && !(device == cluster::defaultDevice()))
        stage.emitWarning()
            << "stage '" << stage.getSymName() << "' is planned on '"
            << machines->placeName(*place) << "', a " << (isGpu ? "GPU" : "CPU")
            << ", and its code is for " << (isGpu ? "CPUs" : "GPUs")
            << " alone; --target cpu,cuda emits both";
    }
  return {};
}

Status sluice::lowerToNext(ModuleOp module, const CompileOptions &options,
                           Phase phase) {
  switch (phase) {
  case Phase::Model:
    return lowerToPipeline(module, options);
  case Phase::Pipeline:
    SLUICE_RETURN_IF_ERROR(checkKinds(module, options));
    return run(module, options, "the lowering to programs failed",
               [&](PassManager &passes) {
                 passes.addPass(createSplitRanks());
                 addVerifier(passes, Phase::Program);
               });
  case Phase::Program:
    return run(module, options, "the planning of steps failed",
               [&](PassManager &passes) {
                 addPlans(passes, options);
                 addVerifier(passes, Phase::Plan);
               });
  default:
    break;
  }
  return run(module, options, "the lowering to kernels failed",
             [&](PassManager &passes) {
               addConversions(passes, options);
               addVerifier(passes, Phase::Kernels);
             });
}
