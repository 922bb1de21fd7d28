//===- CpuTarget.h - the CPU an executable is built for -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_CPUTARGET_H
#define SLUICE_TARGET_CPUTARGET_H

#include "runtime/base/Status.h"
#include "runtime/device/cpu/CpuFeatures.h"

#include <string>
#include <string_view>

namespace sluice {

/// The instruction set for both halves of an executable: `isa` selects the
/// runtime's micro-kernels, and the names for LLVM say what generated code may
/// use.
struct CpuTarget {
  cpu::Isa isa;
  std::string llvmCpu;      // as in -mcpu
  std::string llvmFeatures; // as in -mattr
  /// Generated code tells ThreadSanitizer what it reads and writes. The runtime
  /// must be built for ThreadSanitizer too.
  bool sanitizesThreads = false;
};

/// Returns the target for an instruction set of the runtime's kernels.
CpuTarget getCpuTarget(cpu::Isa isa);

/// Returns the target for `--cpu name`: `native` (this machine's), `x86-64-v3`,
/// `x86-64-v4`, `x86-64-v4+vnni`. Fails on another name, and on `native` if the
/// machine is below x86-64-v3.
Expected<CpuTarget> getCpuTarget(std::string_view name);

} // namespace sluice

#endif // SLUICE_TARGET_CPUTARGET_H
