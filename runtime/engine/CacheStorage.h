//===- CacheStorage.h - how the KV cache stores numbers -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_CACHESTORAGE_H
#define SLUICE_RUNTIME_ENGINE_CACHESTORAGE_H

#include "runtime/device/cpu/CacheFormat.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/program/ProgramDescriptor.h"

#include <string_view>
#include <variant>

namespace sluice::engine {

/// The values of --cache-type. f32 and q8_0 are for CPUs, f16, bf16 and fp8 for
/// GPUs.
enum class CacheType : uint8_t { Default, F32, Q8_0, F16, BF16, FP8 };

/// A CPU's or a GPU's storage.
using CacheStorage = std::variant<cpu::CacheFormat, cuda::CacheKind>;

/// Return the storage for a type, which must not be one of the other device.
cpu::CacheFormat cpuCacheFormat(CacheType type);
cuda::CacheKind gpuCacheKind(CacheType type);

/// Returns the name that --cache-type uses.
std::string_view cacheStorageName(const CacheStorage &storage);

/// Returns the bytes of a page in all layers of a program.
int64_t cachePageBytes(const ProgramDescriptor &program,
                       const CacheStorage &storage);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_CACHESTORAGE_H
