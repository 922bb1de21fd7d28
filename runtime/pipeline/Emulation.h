//===- Emulation.h - times of a described cluster -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The times of a described cluster and model, put under the steps and messages
// of a real and smaller one (--emulate): what the simulator computes, a run
// takes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_EMULATION_H
#define SLUICE_RUNTIME_PIPELINE_EMULATION_H

#include "runtime/cluster/ClusterFile.h"
#include "runtime/cluster/PipelinePlan.h"
#include "runtime/core/Speculation.h"
#include "runtime/formats/Activations.h"
#include "runtime/pipeline/StepPacer.h"

#include <memory>
#include <string>

namespace sluice::pipeline {

struct EmulationOptions {
  std::string clusterFile;
  std::string target; ///< a described model; empty: the file's
  std::string draft;
  /// Of the executable: so many stages, and whether head and draft have a rank
  /// of their own.
  int64_t stages = 1;
  bool ownDraftRank = true;
  bool hasDraft = true;
  Time maxLatency{0};
  ActivationFormat activations = ActivationFormat::F32;
  /// Positions that rows attend to, for times, and that caches hold, for
  /// memory.
  int64_t context = 1024;
  /// Prompt rows of a step.
  int64_t prefillRows = 512;
};

/// Immutable after create().
class Emulation {
public:
  /// Errors: those of the file, no such model, and those of planPipeline().
  static Expected<Emulation> create(const EmulationOptions &options);

  std::unique_ptr<StepPacer> stagePacer(int64_t stage) const;
  std::unique_ptr<StepPacer> draftPacer() const;

  /// How a message goes from rank to rank.
  const cluster::Link &link(int64_t from, int64_t to) const {
    return plan.links[size_t(from) * plan.ranks().size() + size_t(to)];
  }

  /// Bytes that activations of `rows` rows have in the described model.
  int64_t activationBytesOf(int64_t rows) const {
    return rows * hidden * activationBytes(options.activations);
  }

  /// What the policy starts from.
  PipelineTimes times() const;

  /// The most prompt rows that a step can have with the wanted checkpoints.
  int64_t stepRows() const;

private:
  explicit Emulation(const EmulationOptions &options) : options(options) {}
  Status place(const cluster::ClusterFile &file);

  EmulationOptions options;
  int64_t hidden = 0; ///< of the described target
  cluster::PipelinePlan plan;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_EMULATION_H
