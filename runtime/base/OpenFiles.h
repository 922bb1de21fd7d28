//===- OpenFiles.h - how many files a process may open --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_OPENFILES_H
#define SLUICE_RUNTIME_BASE_OPENFILES_H

#include <cstdint>

namespace sluice {

/// Raises the process's limit on open files as far as its user may (from the
/// soft to the hard one), and returns what holds then. The soft one is small,
/// mostly 1024, for the sake of programs that use select(), which none of ours
/// do. Thread-safe.
int64_t raiseOpenFileLimit();

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_OPENFILES_H
