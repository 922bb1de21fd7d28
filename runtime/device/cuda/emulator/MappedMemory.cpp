//===- MappedMemory.cpp - host memory at two addresses --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/MappedMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::cuda::emulator {

static constexpr uint8_t poison = 0xff, guard = 0xa5;

size_t MappedMemory::mapped() const {
  constexpr size_t page = 4096;
  return (size + 2 * guardBytes + page - 1) / page * page;
}

MappedMemory::MappedMemory(size_t bytes) : size(bytes) {
  int file = ::memfd_create("sluice-mapped", MFD_CLOEXEC);
  if (file < 0)
    return;
  bool fits = ::ftruncate(file, static_cast<off_t>(mapped())) == 0;
  for (uint8_t *&view : views) {
    void *at = fits ? ::mmap(nullptr, mapped(), PROT_READ | PROT_WRITE,
                             MAP_SHARED, file, 0)
                    : MAP_FAILED;
    fits = at != MAP_FAILED;
    view = fits ? static_cast<uint8_t *>(at) : nullptr;
  }
  ::close(file);
  if (!fits) {
    if (views[0])
      ::munmap(std::exchange(views[0], nullptr), mapped());
    return;
  }
  std::memset(views[0], guard, mapped());
  std::memset(host(), poison, size);
}

MappedMemory::~MappedMemory() {
  if (!views[0])
    return;
  const uint8_t *end = host() + size;
  auto isGuard = [](uint8_t byte) { return byte == guard; };
  if (!std::all_of(views[0], views[0] + guardBytes, isGuard) ||
      !std::all_of(end, end + guardBytes, isGuard))
    std::abort(); // Something was written outside the memory.
  for (uint8_t *view : views)
    ::munmap(view, mapped());
}

} // namespace sluice::cuda::emulator
