//===- PipelineConfig.h - how a plan is run -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_PIPELINECONFIG_H
#define SLUICE_RUNTIME_ENGINE_PIPELINECONFIG_H

#include "runtime/engine/Engine.h"
#include "runtime/engine/PipelineOptions.h"
#include "runtime/engine/ServingOptions.h"
#include "runtime/pipeline/Emulation.h"
#include "runtime/pipeline/RankSetup.h"

namespace sluice::engine {

/// An executable's plan with the options of a run applied to it; the same on
/// all ranks. Not thread-safe.
class PipelineConfig {
public:
  /// `engine` must outlive the configuration.
  PipelineConfig(const Engine &engine, const PipelineOptions &options);

  /// Applies the options to the plan. Must be called first, and once. Fails if
  /// the options do not fit the plan, the described cluster or each other.
  Status settle();
  /// Sets how many requests share the ranks, and how.
  void serve(const ServingOptions &serving);
  /// Sets the number of pages of each stage's cache.
  void setPages(int64_t pages) { ofRanks.pages = pages; }

  const ExecutionPlan &plan() const { return planned; }
  /// The options, completed from the plan.
  const PipelineOptions &options() const { return wanted; }
  const pipeline::PipelineShape &shape() const { return shared; }
  const pipeline::PipelineSettings &settings() const { return ofRanks; }
  PipelineLimits limits() const { return ofRanks.limits(shared); }
  /// The described machines; null without --emulate.
  pipeline::Emulation *emulation() const { return emulated.get(); }
  /// Returns whether guesses come from the draft model.
  bool runsDraftModel() const {
    return shared.hasDraft && !wanted.oracleAcceptance;
  }
  /// Returns the times that the speculation policy uses until it has measured.
  PipelineTimes times() const;

private:
  bool canGuess() const;
  Status settleSpeculation();
  Status checkOptions() const;
  void settleShape();
  void settleSettings();
  Status emulate();

  const Engine &engine;
  const ExecutionPlan &planned;
  PipelineOptions wanted;
  pipeline::PipelineShape shared;
  pipeline::PipelineSettings ofRanks;
  std::unique_ptr<pipeline::Emulation> emulated;
};

/// Returns the rank's role as a stage, if it has one.
std::optional<RankRole> stageOf(const PlanRank &rank);

/// Returns a description of a rank's roles: "head, draft", "stage 2".
std::string describeRoles(const PlanRank &rank);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_PIPELINECONFIG_H
