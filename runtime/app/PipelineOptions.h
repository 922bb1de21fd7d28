//===- PipelineOptions.h - how stages and a draft run ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an executable with stages or a draft runs: the part of the command line
// that no single-stage executable needs.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_PIPELINEOPTIONS_H
#define SLUICE_RUNTIME_APP_PIPELINEOPTIONS_H

#include "runtime/base/Status.h"
#include "runtime/core/Speculation.h"
#include "runtime/formats/Activations.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::app {

/// How rows travel between stages on GPUs.
enum class TransportOption : uint8_t {
  Auto, // by NCCL where every stage has its own GPU
  Nccl,
  Host // through the hosts' memory
};

/// "auto", "nccl", "host".
std::string_view transportName(TransportOption transport);

struct PipelineOptions {
  SpeculationOptions speculation;
  bool modeGiven = false;       ///< else Async where there is a draft
  std::optional<int64_t> depth; ///< else the plan's
  std::optional<int64_t> width; ///< else the plan's
  ActivationFormat activations = ActivationFormat::F32;
  TransportOption transport = TransportOption::Auto;
  bool fuse = true;
  std::string traceFile;

  std::string emulate;       ///< a cluster file; empty: none
  std::string emulateTarget; ///< a described model; empty: the file's
  std::string emulateDraft;
  int64_t maxLatencyMicros = -1; ///< emulated checkpoints; -1: the program's

  /// Guesses by an oracle that is right with this chance; no draft model.
  std::optional<double> oracleAcceptance;
  uint64_t oracleSeed = 1;

  /// The names of those that were given.
  std::vector<std::string> given;
  bool isGiven(std::string_view name) const;
  /// One that was given and does nothing where there is no pipeline; or empty.
  std::string needsPipeline() const;
};

/// Adds the options to a command.
void addPipelineOptions(CLI::App &command, PipelineOptions &options);

/// After parsing. Error: options that have no effect together.
Status settlePipelineOptions(const CLI::App &command, PipelineOptions &options);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_PIPELINEOPTIONS_H
