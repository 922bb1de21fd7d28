//===- Emulation.h - the times of a described cluster ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements --emulate: the steps and messages of a real, smaller cluster take
// the times that the simulator computes for a described cluster and model.
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
  std::string target; ///< a described model; if empty, that of the file
  std::string draft;
  /// The executable's number of stages, and whether head and draft have a rank
  /// of their own.
  int64_t stages = 1;
  bool ownDraftRank = true;
  bool hasDraft = true;
  Time maxLatency{0};
  ActivationFormat activations = ActivationFormat::F32;
  /// The number of positions that rows attend to, which determines times, and
  /// that caches hold, which determines memory.
  int64_t context = 1024;
  /// How many prompt rows a step can have.
  int64_t prefillRows = defaultStepRows;
};

/// Immutable after create().
class Emulation {
public:
  /// Fails if the file is invalid or has no such model, and as planPipeline()
  /// does.
  static Expected<Emulation> create(const EmulationOptions &options);

  std::unique_ptr<StepPacer> stagePacer(int64_t stage) const;
  std::unique_ptr<StepPacer> draftPacer() const;

  /// Returns the link that messages between the two ranks take.
  const cluster::Link &link(int64_t from, int64_t to) const {
    return plan.links[size_t(from) * plan.ranks().size() + size_t(to)];
  }

  /// Returns the size of the activations of `rows` rows in the described model,
  /// in bytes.
  int64_t activationBytesOf(int64_t rows) const {
    return rows * hidden * activationBytes(options.activations);
  }

  /// Returns the times from which the policy starts.
  PipelineTimes times() const;

  /// Returns the largest number of prompt rows that a step can have if its
  /// checkpoints are to meet maxLatency.
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
