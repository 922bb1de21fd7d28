//===- DescriptorChecks.h - limits on the numbers of a descriptor ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits and helpers for the files that check descriptors. Internal to
// runtime/program.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_DESCRIPTORCHECKS_H
#define SLUICE_RUNTIME_PROGRAM_DESCRIPTORCHECKS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice {

// Limits far above any real model, and so low that no product of two of them
// overflows 64 bits.
constexpr int64_t maxTokens = (int64_t(1) << 31) - 1;
constexpr int64_t maxDimension = int64_t(1) << 31;
constexpr int64_t maxLayers = 1 << 16;
constexpr int64_t maxGroupMembers = 256;
constexpr int64_t maxCheckpoints = 1 << 20;
constexpr int64_t maxStepRows = 1 << 20;
constexpr size_t maxProgramName = 128;

/// A number, and the least and the greatest value that it may have.
struct CheckedNumber {
  std::string_view what;
  int64_t value, low, high;
};

/// Returns an error for the first number that is out of its range.
Status checkRanges(std::span<const CheckedNumber> ranges);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_DESCRIPTORCHECKS_H
