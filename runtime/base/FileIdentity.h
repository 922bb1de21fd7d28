//===- FileIdentity.h - a hash that detects changed files -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Detects that a file has changed. An executable refers to its model's files,
// and a packed cache was made from them. Reading gigabytes at each start would
// cost more than packing saves, so the identity hashes the size and samples of
// the content: the first bytes, where formats keep their headers, and short
// runs spread evenly over the whole file.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_FILEIDENTITY_H
#define SLUICE_RUNTIME_BASE_FILEIDENTITY_H

#include "runtime/base/MappedFile.h"

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

/// FNV-1a over `bytes`, continuing from `seed`. Not safe against adversaries.
uint64_t fnv1a(std::span<const uint8_t> bytes,
               uint64_t seed = 0xcbf29ce484222325u);

/// Returns sixteen hexadecimal digits: a hash of the size, the first MiB and 4
/// KiB from each of 256 places spread evenly over the file, the last of which
/// is its end. A file smaller than 2 MiB is hashed completely.
std::string fileIdentity(std::span<const uint8_t> bytes);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_FILEIDENTITY_H
