//===- ServingFlags.cpp - the command-line options of concurrent requests -===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/ServingFlags.h"

#include "runtime/base/OptionChecks.h"

#include <CLI/CLI.hpp>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

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
