//===- StandardOutput.h - writing to the user -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_STANDARDOUTPUT_H
#define SLUICE_RUNTIME_BASE_STANDARDOUTPUT_H

#include "runtime/base/Status.h"

#include <string_view>

namespace sluice {

/// Writes all of `text` to stdout, unbuffered, so that it streams. Fails if the
/// disk is full or the pipe closed.
Status writeOutput(std::string_view text);

/// Opens /dev/null for standard descriptors that were closed when the program
/// started (`>&-`). Otherwise the next files would get their numbers, and
/// output and messages would be written into them. Reading or writing these
/// descriptors still fails. Must be called before any file is opened.
void holdStandardDescriptors();

/// Writes one line to stderr; errors are ignored.
void writeNote(std::string_view line);

/// Writes "PROGRAM: error: MESSAGE" to stderr. Control characters become
/// spaces, so that a message that quotes a user's text stays on one line.
void writeError(std::string_view message);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_STANDARDOUTPUT_H
