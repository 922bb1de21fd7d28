//===- ReadFile.h - reads files and pipes to their end --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_READFILE_H
#define SLUICE_RUNTIME_BASE_READFILE_H

#include "runtime/base/Status.h"

#include <string>
#include <sys/stat.h>

namespace sluice {

/// Reads what an open file, a pipe or a terminal has, to its end. Fails with
/// "cannot read: ...", also if the user interrupts it, and with "has more than
/// N bytes", so that an endless pipe does not fill the memory. The caller says
/// of what.
Expected<std::string> readToEnd(int descriptor, size_t maxBytes);

/// Opens the file and reads it to its end; it may be a pipe, as `<(...)` gives.
/// Notes it as an input (InputFiles.h) and, unless `mode` is null, sets that to
/// its mode. Fails as readToEnd() does, and with "cannot open: ...".
Expected<std::string> readFile(const std::string &path, size_t maxBytes,
                               mode_t *mode = nullptr);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_READFILE_H
