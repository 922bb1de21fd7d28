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

/// Writes all of `text` to stdout at once, unbuffered, so that text streams.
/// Errors: a full disk, a closed pipe.
Status writeOutput(std::string_view text);

/// To be called before any file is opened. Where the program was started with
/// standard descriptors closed (`>&-`), the next files would get their numbers,
/// and output and messages would be written into them: this opens /dev/null in
/// their place, so that reading or writing them fails as it would have done.
void holdStandardDescriptors();

/// Writes one line to stderr. Nothing can be done when that fails.
void writeNote(std::string_view line);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_STANDARDOUTPUT_H
