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

/// A level of instruction set. An executable is built for one; kernels of every
/// level are in the runtime. Each level contains those before it.
enum class Isa : uint8_t {
  Avx2,       ///< x86-64-v3
  Avx512,     ///< x86-64-v4
  Avx512Vnni, ///< x86-64-v4 with VNNI
};

/// "avx2", "avx512", "avx512vnni".
std::string_view isaName(Isa isa);
std::optional<Isa> parseIsa(std::string_view name);

/// What this CPU and operating system offer, one bit a feature; the features
/// that no level asks for are left out.
using FeatureBits = uint32_t;
FeatureBits detectFeatures();

/// Success when `features` hold all that level `name` needs. Otherwise an error
/// that names what is missing, as /proc/cpuinfo spells it.
Status requireIsa(std::string_view name, FeatureBits features);
Status requireIsa(std::string_view name);

/// The highest level that `features` hold; none below x86-64-v3.
std::optional<Isa> bestIsa(FeatureBits features);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_CPUFEATURES_H
