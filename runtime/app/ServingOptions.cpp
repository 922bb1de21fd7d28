//===- ServingOptions.cpp - the limits of concurrent requests -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/ServingOptions.h"

#include "runtime/base/OptionChecks.h"
#include "runtime/core/CachePages.h"

#include <CLI/CLI.hpp>

#include <algorithm>

using namespace sluice;
using namespace sluice::app;

void app::addServingOptions(CLI::App &command, ServingOptions &options) {
  command
      .add_option(
          "--cache-bytes", options.cacheBytes,
          "Memory of each rank's cache of keys and values, for what is "
          "certain of all requests; suffixes like 512MiB are understood")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false).description(""))
      ->default_str("4GiB") // in the form of the option's value, for the help
      ->group("Requests");
  command
      .add_option(
          "--max-itl-ms", options.interTokenMillis,
          "Keep prompts in each step so short that other requests wait "
          "no longer for their next token, as far as prompts make a step "
          "longer by more than a quarter; 0: prompts as fast as can be")
      ->type_name("X")
      ->check(within<double>(0, 1e6))
      ->capture_default_str()
      ->group("Requests");
  command
      .add_flag_callback(
          "--no-prefix-cache", [&options] { options.sharesPrefixes = false; },
          "Compute each prompt from its beginning, also where another began "
          "alike")
      ->group("Requests");
}

Expected<int64_t> app::pagesOf(const ServingOptions &options,
                               const ExecutableDescriptor &executable,
                               const CacheStorage &storage,
                               int64_t contextLength) {
  int64_t largest = 1;
  for (int64_t stage = 0; stage < std::ssize(executable.plan.stages); ++stage)
    largest = std::max(largest,
                       cachePageBytes(executable.stageProgram(stage), storage));
  int64_t pages = options.cacheBytes / largest;
  if (pages < 1)
    return failure("--cache-bytes: ", options.cacheBytes,
                   " bytes are less than one page of ", CachePages::pageTokens,
                   " tokens takes, ", largest);
  return std::min(pages,
                  options.requests * CachePages::pagesFor(contextLength));
}
