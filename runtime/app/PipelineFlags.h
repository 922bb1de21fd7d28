//===- PipelineFlags.h - the command-line options of pipelines ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_PIPELINEFLAGS_H
#define SLUICE_RUNTIME_APP_PIPELINEFLAGS_H

#include "runtime/engine/PipelineOptions.h"

namespace CLI {
class App;
}

namespace sluice::app {

/// Adds the options to a command.
void addPipelineOptions(CLI::App &command, engine::PipelineOptions &options);

/// Completes the options after parsing. Fails if options contradict each other.
Status settlePipelineOptions(const CLI::App &command,
                             engine::PipelineOptions &options);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_PIPELINEFLAGS_H
