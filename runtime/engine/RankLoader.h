//===- RankLoader.h - loads the ranks of a process ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_RANKLOADER_H
#define SLUICE_RUNTIME_ENGINE_RANKLOADER_H

#include "runtime/engine/SessionLinks.h"
#include "runtime/pipeline/RankRuntime.h"

namespace sluice::engine {

/// What a run needs of the pipeline, in addition to its options.
struct PipelineNeeds {
  /// Nullopt: one request at a time.
  std::optional<ServingOptions> serving;
  /// Whether weights are verified again and again while the session serves.
  bool verifiesOn = false;
  /// The tokens that the target will generate, for --oracle-acceptance.
  std::vector<int32_t> truth;
};

/// Loads the programs of the ranks that are in this process, and makes the
/// ranks of them. Not thread-safe.
class RankLoader {
public:
  /// All must outlive the ranks. `cores` is this process's part of the
  /// processors that the job may use.
  RankLoader(Engine &engine, const PipelineConfig &config, SessionLinks &links,
             const PipelineNeeds &needs, const cpu::CoreShare &cores)
      : engine(engine), config(config), links(links), needs(needs),
        cores(cores) {}

  /// Returns the ranks, which have not been started, in the order of
  /// links.ends(). Fails if a program cannot be loaded or the memory of a
  /// device does not suffice for all of them.
  Expected<std::vector<std::unique_ptr<pipeline::RankRuntime>>> load();

private:
  /// A program that is planned and not made yet.
  struct Part {
    size_t end; ///< its rank's communicator
    bool isDraft;
    LocalStage stage;
    device::StepLimits limits;
  };

  Expected<pipeline::RankSetup> setUp(size_t end);
  Status setUpStage(size_t end, const RankRole &role,
                    pipeline::RankSetup &setup);
  Status setUpDraft(size_t end, pipeline::RankSetup &setup);
  Status loadPart(size_t end, bool isDraft, std::string_view program,
                  GroupLinks *group = nullptr);
  Status makeParts(std::vector<pipeline::RankSetup> &setups);
  std::unique_ptr<pipeline::Guesser> makeGuesser() const;
  int64_t teamsHere() const;
  CpuTeam teamOfPart() const;

  Engine &engine;
  const PipelineConfig &config;
  SessionLinks &links;
  const PipelineNeeds &needs;
  const cpu::CoreShare &cores;
  std::vector<Part> parts;
};

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_RANKLOADER_H
