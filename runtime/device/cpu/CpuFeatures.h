//===- CpuFeatures.h - the instruction sets that executables are built for ===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_CPUFEATURES_H
#define SLUICE_RUNTIME_DEVICE_CPU_CPUFEATURES_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::cpu {

/// A level of instruction set. Each executable is built for one level; the
/// runtime has kernels for all levels. Each level contains the ones before it.
enum class Isa : uint8_t {
  Avx2,       ///< x86-64-v3
  Avx512,     ///< x86-64-v4
  Avx512Vnni, ///< x86-64-v4 with VNNI
};

/// "avx2", "avx512", "avx512vnni".
std::string_view isaName(Isa isa);
std::optional<Isa> parseIsa(std::string_view name);

/// The features that this CPU and operating system offer, one bit for each
/// feature that some level needs.
using FeatureBits = uint32_t;
FeatureBits detectFeatures();

/// Returns success if `features` contain all that level `name` needs, and
/// otherwise an error that names the missing ones, spelled as in /proc/cpuinfo.
/// The second form checks this machine.
Status requireIsa(std::string_view name, FeatureBits features);
Status requireIsa(std::string_view name);

/// Returns the highest level that `features` contain, or none below x86-64-v3.
std::optional<Isa> bestIsa(FeatureBits features);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_CPUFEATURES_H
