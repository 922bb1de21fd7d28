//===- EmulatedMemory.cpp - the memory of an emulated device --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/EmulatedMemory.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace sluice::cuda::emulator {

namespace {

constexpr size_t alignment = 256;
constexpr size_t guardBytes = 256;
constexpr uint8_t guard = 0xa5;

/// Allocates memory with guard bytes before and after it.
uint8_t *allocateGuarded(uint64_t bytes, uint8_t leftover) {
  size_t inner = (bytes + alignment - 1) / alignment * alignment;
  auto *base = static_cast<uint8_t *>(
      std::aligned_alloc(alignment, inner + 2 * guardBytes));
  if (!base)
    return nullptr;
  std::memset(base, guard, guardBytes);
  std::memset(base + guardBytes, leftover, bytes);
  std::memset(base + guardBytes + bytes, guard, inner - bytes + guardBytes);
  return base + guardBytes;
}

void releaseGuarded(uint8_t *memory, uint64_t bytes) {
  for (size_t i = 1; i <= guardBytes; ++i)
    if (memory[-std::ptrdiff_t(i)] != guard || memory[bytes + i - 1] != guard)
      std::abort(); // A kernel has written outside its memory.
  std::free(memory - guardBytes);
}

} // namespace

uint64_t EmulatedMemory::freeBytes() {
  std::lock_guard lock(mutex);
  return all - used;
}

bool EmulatedMemory::isEmpty() {
  std::lock_guard lock(mutex);
  return blocks.empty() && mapped.empty();
}

Expected<DeviceAddress> EmulatedMemory::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex);
  const bool fails = ++allocations == failAllocation || bytes > all - used;
  uint8_t *memory = fails ? nullptr : allocateGuarded(bytes, leftover);
  if (!memory)
    return failure("cuMemAlloc: out of memory");
  used += bytes;
  blocks[addressOf(memory)] = bytes;
  return addressOf(memory);
}

void EmulatedMemory::release(DeviceAddress memory) {
  std::lock_guard lock(mutex);
  auto found = blocks.find(memory);
  if (found == blocks.end())
    std::abort();
  releaseGuarded(pointer(memory), found->second);
  used -= found->second;
  blocks.erase(found);
}

Expected<HostMemory> EmulatedMemory::allocateHost(uint64_t bytes) {
  std::lock_guard lock(mutex);
  MappedMemory memory(bytes);
  uint8_t *host = memory.host(), *device = memory.device();
  if (++hostAllocations == failHostAllocation || !host)
    return failure("cuMemHostAlloc: out of memory");
  mapped.emplace(host, std::move(memory));
  return HostMemory{host, addressOf(device), bytes};
}

void EmulatedMemory::releaseHost(const HostMemory &memory) {
  std::lock_guard lock(mutex);
  if (mapped.erase(memory.host) == 0)
    std::abort();
}

bool EmulatedMemory::take(uint64_t bytes) {
  std::lock_guard lock(mutex);
  if (bytes > all - used)
    return false;
  used += bytes;
  return true;
}

void EmulatedMemory::giveBack(uint64_t bytes) {
  std::lock_guard lock(mutex);
  used -= bytes;
}

std::map<DeviceAddress, std::vector<uint8_t>> EmulatedMemory::copy() {
  std::lock_guard lock(mutex);
  std::map<DeviceAddress, std::vector<uint8_t>> made;
  for (const auto &[begin, bytes] : blocks)
    made[begin].assign(pointer(begin), pointer(begin) + bytes);
  return made;
}

void EmulatedMemory::spoil(
    const std::map<DeviceAddress, std::vector<uint8_t>> &before) {
  std::vector<uint8_t *> changed;
  for (const auto &[begin, bytes] : before)
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4)
      if (std::memcmp(pointer(begin) + at, bytes.data() + at, 4) != 0)
        changed.push_back(pointer(begin) + at);
  if (changed.empty())
    return;
  // This changes a 32-bit float by up to a quarter, and one of two 16-bit
  // floats by a part of it.
  uint32_t word;
  uint8_t *spoilt = changed[changed.size() / 2];
  std::memcpy(&word, spoilt, sizeof(word));
  word ^= uint32_t{1} << 21;
  std::memcpy(spoilt, &word, sizeof(word));
}

bool isMapped(uint64_t word) {
  // Programs, heaps, maps and stacks lie in this range; small numbers and pairs
  // of them do not.
  constexpr uint64_t first = uint64_t{0x5000} << 32, end = uint64_t{1} << 47;
  if (word < first || word >= end)
    return false;
  constexpr uint64_t page = 4096;
  unsigned char present = 0;
  return ::mincore(pointer(word / page * page), page, &present) == 0;
}

bool EmulatedMemory::isForeign(uint64_t word) {
  std::lock_guard lock(mutex);
  auto next = blocks.upper_bound(word);
  if (next != blocks.begin()) {
    const auto &[begin, bytes] = *std::prev(next);
    if (word <= begin + bytes)
      return false;
  }
  for (const auto &[host, memory] : mapped)
    if (memory.isDevices(pointer(word)))
      return false;
  return isMapped(word);
}

} // namespace sluice::cuda::emulator
