//===- Compiler.h - from a module to any later phase ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_COMPILER_H
#define SLUICE_TARGET_COMPILER_H

#include "runtime/base/Status.h"
#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"
#include "sluice/Target/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// The phases of a compilation, in order.
enum class Phase {
  Model,
  Pipeline,
  Program,
  Plan,
  Kernels,
  Object,
  Executable
};

std::string_view phaseName(Phase phase);
std::optional<Phase> parsePhase(std::string_view name);

/// How a model becomes a pipeline; see the passes shard-tensors,
/// partition-stages, insert-speculation and insert-checkpoints.
struct ModelPipelineOptions {
  /// Members of the group that each stage is on; 1: it is on one device.
  int64_t tensorParallel = 1;
  /// Exactly so many stages; 0: as many as serve a request fastest on the
  /// cluster, and one without a cluster.
  int64_t stages = 0;
  std::string clusterFile; // empty: as many equal nodes as stages
  /// 0: no checkpoints. Nothing: the pass's default, and 0 where there is one
  /// stage and no draft.
  std::optional<int64_t> maxLatencyMicros;
  // Where the module has a draft (MergeDraft.h).
  ir::Placement placement = ir::Placement::Own;
  int64_t depth = 32;
  int64_t width = 8;
};

struct CompileOptions {
  Phase target = Phase::Executable;
  /// What programs are made for, one or both.
  bool forCpu = true, forCuda = false;
  /// Somebody said so: a module of phase kernels has to be for the same.
  bool targetGiven = false;
  CpuTarget cpu;
  /// The chips of `forCuda`, or the emulator (CudaChips.h), where somebody said
  /// which: a module of phase kernels has to be for the same. Empty: the
  /// default.
  std::vector<std::string> cudaChips;
  /// The CUDA toolkit's folder; empty: it is looked for where chips need it.
  std::string cudaToolkit;
  ModelPipelineOptions pipeline;
  /// Options of `pipeline` that somebody gave, to name where they cannot be
  /// obeyed: one of any, which only a module of phase model has use for, and
  /// one that only a draft has. Empty: none.
  std::string pipelineGiven, draftGiven;
  /// Given tables once what they are about is there: of the stages, and with
  /// `forCuda` of the launches of their steps (phase kernels). May be empty.
  std::function<Status(std::string_view)> explain;
  /// Executable only: put the packed weights inside.
  bool embedWeights = false;
  /// Where to also write each phase that is passed through, as 1-model.mlir and
  /// so on; the folder is made. Empty: nowhere.
  std::string dumpPhasesTo;
  /// Executable only: the path of libsluice_runtime.a. Empty: the one beside
  /// this program that serves the module (Link.h).
  std::string runtimeArchive;
  /// Sets every pass manager up (printing, timing); may be empty.
  std::function<mlir::LogicalResult(mlir::PassManager &)> configurePasses;
};

/// Takes `module`, in any phase up to kernels, to `options.target` and writes
/// that to `output` ("-" is stdout; not for executables; empty is nowhere, for
/// what `explain` and the verifiers say). The module is changed on the way.
/// Nothing is left at `output` after an error.
Status compile(mlir::ModuleOp module, const CompileOptions &options,
               const std::string &output);

} // namespace sluice

#endif // SLUICE_TARGET_COMPILER_H
