//===- CpuFeatures.cpp - the instruction sets of executables --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CpuFeatures.h"

#include <array>

namespace sluice::cpu {

namespace {

enum Feature : FeatureBits {
  Avx = 1u << 0,
  Avx2 = 1u << 1,
  Fma = 1u << 2,
  F16c = 1u << 3,
  Bmi1 = 1u << 4,
  Bmi2 = 1u << 5,
  Lzcnt = 1u << 6,
  Movbe = 1u << 7,
  Avx512f = 1u << 8,
  Avx512bw = 1u << 9,
  Avx512cd = 1u << 10,
  Avx512dq = 1u << 11,
  Avx512vl = 1u << 12,
  Avx512Vnni = 1u << 13,
};

struct FeatureName {
  FeatureBits bit;
  std::string_view name; ///< as in /proc/cpuinfo
};

constexpr std::array<FeatureName, 14> featureNames = {{
    {Avx, "avx"},
    {Avx2, "avx2"},
    {Fma, "fma"},
    {F16c, "f16c"},
    {Bmi1, "bmi1"},
    {Bmi2, "bmi2"},
    {Lzcnt, "abm"},
    {Movbe, "movbe"},
    {Avx512f, "avx512f"},
    {Avx512bw, "avx512bw"},
    {Avx512cd, "avx512cd"},
    {Avx512dq, "avx512dq"},
    {Avx512vl, "avx512vl"},
    {Avx512Vnni, "avx512_vnni"},
}};

constexpr FeatureBits v3 =
    Avx | Avx2 | Fma | F16c | Bmi1 | Bmi2 | Lzcnt | Movbe;
constexpr FeatureBits v4 =
    v3 | Avx512f | Avx512bw | Avx512cd | Avx512dq | Avx512vl;

struct Level {
  Isa isa;
  std::string_view name;
  std::string_view description;
  FeatureBits needs;
};

constexpr std::array<Level, 3> levels = {{
    {Isa::Avx2, "avx2", "x86-64-v3", v3},
    {Isa::Avx512, "avx512", "x86-64-v4", v4},
    {Isa::Avx512Vnni, "avx512vnni", "x86-64-v4 with VNNI", v4 | Avx512Vnni},
}};

const Level *findLevel(std::string_view name) {
  for (const Level &level : levels)
    if (level.name == name)
      return &level;
  return nullptr;
}

} // namespace

std::string_view isaName(Isa isa) {
  return levels[static_cast<size_t>(isa)].name;
}

std::optional<Isa> parseIsa(std::string_view name) {
  if (const Level *level = findLevel(name))
    return level->isa;
  return std::nullopt;
}

FeatureBits detectFeatures() {
  // The builtin checks both CPUID and what the operating system saves (XGETBV).
  // It accepts literals only.
  FeatureBits bits = 0;
  auto note = [&bits](int supported, Feature feature) {
    if (supported)
      bits |= feature;
  };
  note(__builtin_cpu_supports("avx"), Avx);
  note(__builtin_cpu_supports("avx2"), Avx2);
  note(__builtin_cpu_supports("fma"), Fma);
  note(__builtin_cpu_supports("f16c"), F16c);
  note(__builtin_cpu_supports("bmi"), Bmi1);
  note(__builtin_cpu_supports("bmi2"), Bmi2);
  note(__builtin_cpu_supports("lzcnt"), Lzcnt);
  note(__builtin_cpu_supports("movbe"), Movbe);
  note(__builtin_cpu_supports("avx512f"), Avx512f);
  note(__builtin_cpu_supports("avx512bw"), Avx512bw);
  note(__builtin_cpu_supports("avx512cd"), Avx512cd);
  note(__builtin_cpu_supports("avx512dq"), Avx512dq);
  note(__builtin_cpu_supports("avx512vl"), Avx512vl);
  note(__builtin_cpu_supports("avx512vnni"), Avx512Vnni);
  return bits;
}

Status requireIsa(std::string_view name, FeatureBits features) {
  const Level *level = findLevel(name);
  if (!level)
    return failure("this executable was built for '", name,
                   "', which this runtime does not know");
  FeatureBits missing = level->needs & ~features;
  if (!missing)
    return {};
  std::string list;
  for (const FeatureName &feature : featureNames)
    if (missing & feature.bit)
      list += (list.empty() ? "" : ", ") + std::string(feature.name);
  return failure("this executable was built for ", name, " (",
                 level->description, "), and this CPU lacks: ", list);
}

Status requireIsa(std::string_view name) {
  return requireIsa(name, detectFeatures());
}

std::optional<Isa> bestIsa(FeatureBits features) {
  std::optional<Isa> best;
  for (const Level &level : levels)
    if (!(level.needs & ~features))
      best = level.isa;
  return best;
}

} // namespace sluice::cpu
