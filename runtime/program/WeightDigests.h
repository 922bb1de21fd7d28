//===- WeightDigests.h - digests of the bytes of weights ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler reads all weights once and records their digests (ByteDigest.h).
// The identity of a file (FileIdentity.h), which is checked at every start,
// covers only samples. A digest covers every byte; it is checked when all bytes
// are read in any case: when weights are packed, and when they are verified.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_WEIGHTDIGESTS_H
#define SLUICE_RUNTIME_PROGRAM_WEIGHTDIGESTS_H

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/program/ExecutableDescriptor.h"

namespace sluice {

/// Returns the ByteDigest of bytes, computed by all threads of a pool.
uint64_t digestOf(std::span<const uint8_t> bytes, cpu::ThreadPool &pool);

/// Records the digests of all weights of all programs. A weight gets none if
/// its file is missing or is another file, or if the file has a hole in its
/// place: such a file has a model's shape only, and no program reads its
/// weights. Shows a progress line.
void recordDigests(ExecutableDescriptor &executable);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_WEIGHTDIGESTS_H
