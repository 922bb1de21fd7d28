//===- ServingFlags.h - the command-line options of concurrent requests ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_SERVINGFLAGS_H
#define SLUICE_RUNTIME_APP_SERVINGFLAGS_H

#include "runtime/engine/ServingOptions.h"

namespace CLI {
class App;
}

namespace sluice::app {

/// Adds the options that all commands share: all but `requests` and
/// `scheduler`.
void addServingOptions(CLI::App &command, engine::ServingOptions &options);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_SERVINGFLAGS_H
