//===- CpuTarget.cpp - the CPU an executable is built for -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Target/CpuTarget.h"

using namespace sluice;

CpuTarget sluice::getCpuTarget(cpu::Isa isa) {
  switch (isa) {
  case cpu::Isa::Avx2:
    return {isa, "x86-64-v3", ""};
  case cpu::Isa::Avx512:
    return {isa, "x86-64-v4", ""};
  case cpu::Isa::Avx512Vnni:
    break;
  }
  return {cpu::Isa::Avx512Vnni, "x86-64-v4", "+avx512vnni"};
}

Expected<CpuTarget> sluice::getCpuTarget(std::string_view name) {
  if (name == "x86-64-v3")
    return getCpuTarget(cpu::Isa::Avx2);
  if (name == "x86-64-v4")
    return getCpuTarget(cpu::Isa::Avx512);
  if (name == "x86-64-v4+vnni")
    return getCpuTarget(cpu::Isa::Avx512Vnni);
  if (name != "native")
    return failure("unknown CPU '", name,
                   "': expected native, x86-64-v3, x86-64-v4 or "
                   "x86-64-v4+vnni");
  std::optional<cpu::Isa> best = cpu::bestIsa(cpu::detectFeatures());
  if (!best)
    return cpu::requireIsa(cpu::isaName(cpu::Isa::Avx2));
  return getCpuTarget(*best);
}
