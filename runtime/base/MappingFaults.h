//===- MappingFaults.h - files that fail while they are mapped ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mapped file that somebody cuts short, or that the disk cannot read, makes
// itself felt by SIGBUS wherever its bytes are touched. The process cannot go
// on without them, but it can say which file it was: it writes one line to
// standard error and ends with status 1.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_MAPPINGFAULTS_H
#define SLUICE_RUNTIME_BASE_MAPPINGFAULTS_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice {

/// Notes that the file at `path` is mapped at these addresses. The first call
/// installs the handler of SIGBUS; for addresses that nobody has noted, the one
/// that was there before is called. Thread-safe.
void noteMapping(const uint8_t *base, size_t length, const std::string &path);

/// Before the file is unmapped; `base` as it was noted. Thread-safe.
void forgetMapping(const uint8_t *base);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_MAPPINGFAULTS_H
