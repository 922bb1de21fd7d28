//===- CacheStorage.cpp - how the KV cache stores numbers -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/CacheStorage.h"

#include "runtime/device/cpu/KvCache.h"
#include "runtime/device/cuda/MemoryPlan.h"

using namespace sluice;
using namespace sluice::engine;

cpu::CacheFormat engine::cpuCacheFormat(CacheType type) {
  return type == CacheType::Q8_0 ? cpu::CacheFormat::Q8_0
                                 : cpu::CacheFormat::F32;
}

cuda::CacheKind engine::gpuCacheKind(CacheType type) {
  return type == CacheType::BF16  ? cuda::CacheKind::BF16
         : type == CacheType::FP8 ? cuda::CacheKind::E4M3
                                  : cuda::CacheKind::F16;
}

std::string_view engine::cacheStorageName(const CacheStorage &storage) {
  if (const auto *format = std::get_if<cpu::CacheFormat>(&storage))
    return cpu::cacheFormatName(*format);
  switch (std::get<cuda::CacheKind>(storage)) {
  case cuda::CacheKind::BF16:
    return "bf16";
  case cuda::CacheKind::E4M3:
    return "fp8";
  case cuda::CacheKind::F16:
    break;
  }
  return "f16";
}

int64_t engine::cachePageBytes(const ProgramDescriptor &program,
                               const CacheStorage &storage) {
  int64_t bytes = 0;
  for (const device::CacheShape &shape : program.caches)
    if (const auto *kind = std::get_if<cuda::CacheKind>(&storage))
      bytes += cuda::layerPageBytes(shape, *kind);
    else
      bytes += cpu::CacheLayout(shape, std::get<cpu::CacheFormat>(storage))
                   .pageBytes();
  return bytes;
}
