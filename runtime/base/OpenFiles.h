//===- OpenFiles.h - the limit of open files ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_OPENFILES_H
#define SLUICE_RUNTIME_BASE_OPENFILES_H

#include <cstdint>

namespace sluice {

/// Raises the process's limit of open files from the soft to the hard limit,
/// and returns the new limit. The soft limit is small, mostly 1024, for
/// programs that use select(), which ours do not. Thread-safe.
int64_t raiseOpenFileLimit();

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_OPENFILES_H
