//===- TargetOptions.h - the options of a benchmark of a server -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_TARGETOPTIONS_H
#define SLUICE_RUNTIME_BENCH_TARGETOPTIONS_H

#include "runtime/bench/BenchOptions.h"
#include "runtime/bench/HttpBackend.h"

namespace sluice::bench {

struct TargetOptions {
  BenchOptions bench;
  HttpOptions http;
};

/// Adds the options to a command, the server's URL as the one without a name.
/// `options` must outlive the parsing. Wrong values cause CLI11's
/// ValidationErrors.
void addTargetOptions(CLI::App &command, TargetOptions &options);

/// Completes the options after parsing: checks them together, reads the key
/// file, and says in the report which server is measured. Fails if options
/// exclude or need each other, or if the key file cannot be read.
Status settleTargetOptions(const CLI::App &command, TargetOptions &options);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_TARGETOPTIONS_H
