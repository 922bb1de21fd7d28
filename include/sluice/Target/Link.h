//===- Link.h - linking of objects into executables -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_LINK_H
#define SLUICE_TARGET_LINK_H

#include "runtime/base/Status.h"

#include <span>
#include <string>

namespace sluice {

/// Links an object of emitObject() with the runtime's archive into an
/// executable at `output`. Runs the system's C++ compiler driver (`$CXX`, else
/// c++, g++, clang++ or clang++-22 in that order, from PATH); the result needs
/// nothing but the C library at run time. `runtimeArchive` is the path of
/// libsluice_runtime.a. The executable carries the runtime's kernels for GPUs,
/// some MB, only if `isForGpus`. `sanitizesThreads` links ThreadSanitizer.
/// Fails if there is no driver, if the runtime has another SLUICE_ABI_VERSION,
/// or with the first message of the linker.
Status linkExecutable(std::span<const char> object,
                      const std::string &runtimeArchive, bool isForGpus,
                      bool sanitizesThreads, const std::string &output);

/// Returns the path of the archive that belongs to this program:
/// ../lib/libsluice_runtime.a, or for the CUDA emulator
/// ../lib/libsluice_runtime_emulated.a.
Expected<std::string> findRuntimeArchive(bool isEmulated = false);

} // namespace sluice

#endif // SLUICE_TARGET_LINK_H
