//===- PipelineOptions.h - how the ranks of a job run ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_PIPELINEOPTIONS_H
#define SLUICE_RUNTIME_ENGINE_PIPELINEOPTIONS_H

#include "runtime/base/Status.h"
#include "runtime/core/Speculation.h"
#include "runtime/formats/Activations.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine {

/// How rows travel between stages on GPUs.
enum class TransportOption : uint8_t {
  Auto, // NCCL if every stage has its own GPU
  Nccl,
  Host // through the hosts' memory
};

/// Returns the name of the option's value: "auto", "nccl", "host".
std::string_view transportName(TransportOption transport);

struct PipelineOptions {
  SpeculationOptions speculation;
  bool modeGiven = false;       ///< else Async if there is a draft
  std::optional<int64_t> depth; ///< nullopt: the plan's
  std::optional<int64_t> width; ///< nullopt: the plan's
  ActivationFormat activations = ActivationFormat::F32;
  TransportOption transport = TransportOption::Auto;
  bool fuse = true;
  std::string traceFile;

  std::string emulate;       ///< a cluster file; empty: none
  std::string emulateTarget; ///< a described model; empty: the file's
  std::string emulateDraft;
  int64_t maxLatencyMicros = -1; ///< of emulated checkpoints; -1: the program's

  /// Replaces the draft model by an oracle whose guesses are right with this
  /// chance.
  std::optional<double> oracleAcceptance;
  uint64_t oracleSeed = 1;

  /// The names of the options that were given.
  std::vector<std::string> given;
  bool isGiven(std::string_view name) const;
  /// Returns an option that was given and has no effect without a pipeline, or
  /// "".
  std::string needsPipeline() const;
};

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_PIPELINEOPTIONS_H
