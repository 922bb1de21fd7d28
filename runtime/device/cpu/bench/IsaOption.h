//===- IsaOption.h - a command-line option for instruction sets -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_BENCH_ISAOPTION_H
#define SLUICE_RUNTIME_DEVICE_CPU_BENCH_ISAOPTION_H

#include "runtime/device/cpu/CpuFeatures.h"

#include <CLI/CLI.hpp>
#include <string>

namespace sluice::cpu::bench {

/// Accepts a level of instruction set that this processor has.
inline CLI::Validator usableIsa() {
  return CLI::Validator(
      [](std::string &text) {
        Status usable = requireIsa(text);
        return usable.ok() ? std::string() : usable.message();
      },
      "");
}

} // namespace sluice::cpu::bench

#endif // SLUICE_RUNTIME_DEVICE_CPU_BENCH_ISAOPTION_H
