//===- ZeroedMemory.cpp - large memory that costs nothing until it is used ===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/ZeroedMemory.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <sys/mman.h>
#include <utility>

namespace sluice::cpu {

Expected<ZeroedMemory> ZeroedMemory::allocate(uint64_t bytes,
                                              const char *what) {
  ZeroedMemory memory;
  if (bytes == 0)
    return memory;
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return failure(what, ": ", bytes, " bytes is more than can be addressed");
  void *base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return failure(what, ": cannot reserve ", bytes,
                   " bytes: ", std::strerror(errno));
  memory.base = base;
  memory.length = bytes;
  return memory;
}

Status ZeroedMemory::makeResident(const char *what) {
  if (length == 0)
    return {};
  // This is only advice: large pages become resident sooner and need fewer TLB
  // entries.
  ::madvise(base, length, MADV_HUGEPAGE);
  if (::madvise(base, length, MADV_POPULATE_WRITE) == 0)
    return {};
  if (errno != EINVAL)
    return failure(what, ": cannot have ", length,
                   " bytes: ", std::strerror(errno));
  // Kernels before 5.14 do not have MADV_POPULATE_WRITE.
  constexpr uint64_t pageBytes = 4096;
  auto *bytes = static_cast<volatile char *>(base);
  for (uint64_t at = 0; at < length; at += pageBytes)
    bytes[at] = bytes[at];
  return {};
}

ZeroedMemory::ZeroedMemory(ZeroedMemory &&other) noexcept
    : base(std::exchange(other.base, nullptr)),
      length(std::exchange(other.length, 0)) {}

ZeroedMemory &ZeroedMemory::operator=(ZeroedMemory &&other) noexcept {
  std::swap(base, other.base);
  std::swap(length, other.length);
  return *this;
}

ZeroedMemory::~ZeroedMemory() {
  if (base)
    ::munmap(base, length);
}

} // namespace sluice::cpu
