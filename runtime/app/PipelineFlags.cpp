//===- PipelineFlags.cpp - the options of pipelines on command lines ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/PipelineFlags.h"

#include "runtime/base/OptionChecks.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

void addSpeculation(CLI::App &command, PipelineOptions &options) {
  addChoice<SpeculationMode>(
      command, "--speculate", options.speculation.mode,
      {{"off", SpeculationMode::Off},
       {"sync", SpeculationMode::Sync},
       {"async", SpeculationMode::Async}},
      "MODE",
      "off: no guesses; sync: draft, verify as one batch, repeat; async: "
      "guesses in flight all the time. Default: async where there is a "
      "draft");
  command
      .add_option("--speculate-depth", options.depth,
                  "Guesses on one path at most; with sync: how many are "
                  "drafted before each verification, default 4")
      ->type_name("N")
      ->check(within<int64_t>(1, 256));
  command
      .add_option("--speculate-width", options.width,
                  "Candidates taken for each position at most; 1, sync's "
                  "default: a chain")
      ->type_name("N")
      ->check(within<int64_t>(1, 64));
}

void addTransport(CLI::App &command, PipelineOptions &options) {
  addChoice<ActivationFormat>(
      command, "--activations", options.activations,
      {{"f32", ActivationFormat::F32},
       {"bf16", ActivationFormat::BF16},
       {"f16", ActivationFormat::F16}},
      "FORMAT",
      "Rows between stages as f32, bf16 or f16; 16 bits halve the traffic "
      "and round, so tokens can differ. Default: f32");
  std::vector<std::pair<std::string, TransportOption>> transports;
  for (TransportOption each :
       {TransportOption::Auto, TransportOption::Nccl, TransportOption::Host})
    transports.emplace_back(transportName(each), each);
  addChoice(
      command, "--transport", options.transport, std::move(transports), "HOW",
      "Rows between stages on GPUs: nccl: from GPU to GPU; host: through "
      "the machines' memory; auto: by NCCL where every stage has a GPU of "
      "its own. Default: auto");
  addText(command, "--trace", options.traceFile, "FILE",
          "Write what every rank did, for Perfetto or chrome://tracing");
}

void addEmulation(CLI::App &command, PipelineOptions &options) {
  const char *group = "Emulation";
  auto add = [&](const char *name, std::string &value, const char *type,
                 const char *help) {
    return addText(command, name, value, type, help)->group(group);
  };
  CLI::Option *emulate =
      add("--emulate", options.emulate, "CLUSTER.yaml",
          "Let steps and messages take as long as on the described machines");
  add("--emulate-target", options.emulateTarget, "MODEL",
      "The described model whose layers the stages have; default: the file's")
      ->needs(emulate);
  add("--emulate-draft", options.emulateDraft, "MODEL", "The same, the draft")
      ->needs(emulate);
  command
      .add_option("--emulate-max-latency-us", options.maxLatencyMicros,
                  "Longest stretch of a step without a checkpoint; 0: none; "
                  "default: as the program was compiled for")
      ->type_name("N")
      ->check(within<int64_t>(0, int64_t(1) << 40))
      ->needs(emulate)
      ->group(group);
}

void addTesting(CLI::App &command, PipelineOptions &options) {
  const char *group = "Testing";
  SpeculationOptions &speculation = options.speculation;
  CLI::Option *acceptance =
      command
          .add_option("--oracle-acceptance", options.oracleAcceptance,
                      "Guess the true token with this chance, instead of by "
                      "the draft model")
          ->type_name("A")
          ->check(within(0.0, 1.0))
          ->group(group);
  command
      .add_option("--oracle-seed", options.oracleSeed,
                  "Another seed, other guesses")
      ->type_name("N")
      ->check(seed())
      ->needs(acceptance)
      ->group(group);
  auto flag = [&](const char *name, bool &value, bool set, const char *help) {
    command.add_flag_callback(
               name, [&value, set] { value = set; }, help)
        ->group(group);
  };
  flag("--sync-split", speculation.splitRows, true,
       "With sync: each row leaves as a frame of its own");
  flag("--no-cancel", speculation.cancel, false,
       "Do not tell stages what is dead");
  flag("--no-continuous", speculation.continuous, false,
       "Guess nothing new while results are outstanding");
  flag("--no-fuse", options.fuse, false, "One frame a step");
}

/// Fails if options were given that have no effect in the mode.
Status checkMode(const PipelineOptions &options) {
  SpeculationMode mode =
      options.modeGiven ? options.speculation.mode : SpeculationMode::Async;
  if (mode != SpeculationMode::Sync && options.isGiven("--sync-split"))
    return failure("--sync-split: only with --speculate sync");
  if (mode != SpeculationMode::Async && options.isGiven("--no-continuous"))
    return failure("--no-continuous: only with --speculate async");
  for (const char *name :
       {"--speculate-depth", "--speculate-width", "--oracle-acceptance"})
    if (mode == SpeculationMode::Off && options.isGiven(name))
      return failure(name, ": not with --speculate off");
  return {};
}

} // namespace

void app::addPipelineOptions(CLI::App &command, PipelineOptions &options) {
  addSpeculation(command, options);
  addTransport(command, options);
  addEmulation(command, options);
  addTesting(command, options);
}

Status app::settlePipelineOptions(const CLI::App &command,
                                  PipelineOptions &options) {
  for (const char *name :
       {"--speculate", "--speculate-depth", "--speculate-width",
        "--activations", "--transport", "--trace", "--emulate",
        "--emulate-draft", "--oracle-acceptance", "--sync-split", "--no-cancel",
        "--no-continuous", "--no-fuse"})
    if (command.count(name) > 0)
      options.given.emplace_back(name);
  options.modeGiven = options.isGiven("--speculate");
  return checkMode(options);
}
