//===- Compiler.h - compilation of a module to a later phase --------------===//
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

/// Options for making a pipeline of a model; see the passes shard-tensors,
/// partition-stages, insert-speculation and insert-checkpoints.
struct ModelPipelineOptions {
  /// The members of each stage's tensor-parallel group; 1 puts a stage on one
  /// device.
  int64_t tensorParallel = 1;
  /// The number of stages; 0 means as many as serve a request fastest on the
  /// cluster, or one stage without a cluster.
  int64_t stages = 0;
  std::string clusterFile; // If empty, there are as many equal nodes as stages.
  /// The longest stretch between checkpoints; 0 means no checkpoints. If
  /// absent, the pass's default, but 0 for one stage without a draft.
  std::optional<int64_t> maxLatencyMicros;
  // The options below apply if the module has a draft (MergeDraft.h).
  ir::Placement placement = ir::Placement::Own;
  int64_t depth = 32;
  int64_t width = 8;
};

struct CompileOptions {
  Phase target = Phase::Executable;
  /// The devices that programs are made for: one or both.
  bool forCpu = true, forCuda = false;
  /// The user chose the devices. A module of phase kernels must then be for the
  /// same ones.
  bool targetGiven = false;
  CpuTarget cpu;
  /// The chips of `forCuda`, or the emulator (CudaChips.h), if the user chose
  /// them; a module of phase kernels must then be for the same ones. Empty for
  /// the default chips.
  std::vector<std::string> cudaChips;
  /// The CUDA toolkit's folder. If empty, it is searched for when chips need
  /// it.
  std::string cudaToolkit;
  ModelPipelineOptions pipeline;
  /// The names of options of `pipeline` that the user gave, for errors where
  /// they cannot take effect. `pipelineGiven` is any such option, which needs a
  /// module of phase model; `draftGiven` is one that needs a draft. Empty if
  /// the user gave none.
  std::string pipelineGiven, draftGiven;
  /// Receives a table of the stages and, with `forCuda`, tables of the launches
  /// of their steps (phase kernels), each as soon as its phase is reached. May
  /// be empty.
  std::function<Status(std::string_view)> explain;
  /// For an executable: embeds the packed weights.
  bool embedWeights = false;
  /// The folder, created if needed, to which each phase on the way is also
  /// written, as 1-model.mlir and so on. Empty for none.
  std::string dumpPhasesTo;
  /// For an executable: the path of libsluice_runtime.a. If empty, the archive
  /// that belongs to this program and fits the module (Link.h).
  std::string runtimeArchive;
  /// Configures each pass manager (printing, timing). May be empty.
  std::function<mlir::LogicalResult(mlir::PassManager &)> configurePasses;
};

/// Compiles `module`, which is in any phase up to kernels, to `options.target`
/// and writes the result to `output`. "-" is stdout, except for executables. If
/// `output` is empty, nothing is written; the tables of `explain` and the
/// errors of the verifiers are still reported. Changes the module. Leaves
/// nothing at `output` after an error.
Status compile(mlir::ModuleOp module, const CompileOptions &options,
               const std::string &output);

} // namespace sluice

#endif // SLUICE_TARGET_COMPILER_H
