//===- WeightDigests.h - what the bytes of weights are known by -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler reads all weights once and records their digests (ByteDigest.h).
// A file's identity (FileIdentity.h), which every start looks at, is made of
// samples; the digests notice each byte, where all of them are read anyway:
// when weights are packed, and when they are verified.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_WEIGHTDIGESTS_H
#define SLUICE_RUNTIME_PROGRAM_WEIGHTDIGESTS_H

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/program/ExecutableDescriptor.h"

namespace sluice {

/// The ByteDigest of bytes, computed by all threads of a pool.
uint64_t digestOf(std::span<const uint8_t> bytes, cpu::ThreadPool &pool);

/// Records the digests of all weights of all programs. A weight gets none where
/// its file is missing or another one, and where the file has a hole in place
/// of it: that is a model's shape, whose weights nobody reads. Shows a progress
/// line.
void recordDigests(ExecutableDescriptor &executable);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_WEIGHTDIGESTS_H
