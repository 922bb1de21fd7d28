//===- MappingFaults.h - error messages for failing mappings --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handles the SIGBUS that touching a mapped file raises if the file was
// truncated or the disk cannot read it. The process cannot continue without the
// bytes, but it can say which file failed: it writes one line to standard error
// and ends with status 1.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_MAPPINGFAULTS_H
#define SLUICE_RUNTIME_BASE_MAPPINGFAULTS_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice {

/// Notes that the file at `path` is mapped at these addresses. The first call
/// installs the handler of SIGBUS; for other addresses it calls the previous
/// handler. Thread-safe.
void noteMapping(const uint8_t *base, size_t length, const std::string &path);

/// Removes a note; must be called before the file is unmapped. `base` is that
/// of noteMapping(). Thread-safe.
void forgetMapping(const uint8_t *base);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_MAPPINGFAULTS_H
