//===- CacheStorage.h - how a cache is stored, wherever it is -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_CACHESTORAGE_H
#define SLUICE_RUNTIME_APP_CACHESTORAGE_H

#include "runtime/device/cpu/CacheFormat.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/program/ProgramDescriptor.h"

#include <string_view>
#include <variant>

namespace sluice::app {

/// As --cache-type names it: f32 and q8_0 are the CPU's, f16, bf16 and fp8 a
/// GPU's.
enum class CacheType : uint8_t { Default, F32, Q8_0, F16, BF16, FP8 };

/// On the CPU or on a GPU.
using CacheStorage = std::variant<cpu::CacheFormat, cuda::CacheKind>;

/// What the type, which is not another device's, is there.
cpu::CacheFormat cpuCacheFormat(CacheType type);
cuda::CacheKind gpuCacheKind(CacheType type);

/// As --cache-type names it.
std::string_view cacheStorageName(const CacheStorage &storage);

/// Bytes of a page in all layers of a program.
int64_t cachePageBytes(const ProgramDescriptor &program,
                       const CacheStorage &storage);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_CACHESTORAGE_H
