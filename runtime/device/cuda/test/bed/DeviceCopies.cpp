//===- DeviceCopies.cpp - a launch's arrays on a device -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/bed/DeviceCopies.h"

#include "runtime/device/cuda/emulator/EmulatedMemory.h"
#include "runtime/device/cuda/test/bed/KernelFacts.h"

#include <bit>
#include <cstring>

using namespace sluice;
using namespace sluice::cuda;

namespace {

constexpr uint64_t alignment = 256, guardBytes = 256;
constexpr uint8_t guard = 0xa5;
/// What arenas take at least, so that most launches find memory.
constexpr uint64_t leastArenaBytes = 4 << 20;

} // namespace

//===----------------------------------------------------------------------===//
// Arenas
//===----------------------------------------------------------------------===//

void CopyArena::begin() { image.clear(); }

uint64_t CopyArena::add(uint64_t bytes) {
  // Guard bytes lie before the first array and behind each.
  const uint64_t offset = image.empty() ? guardBytes : image.size();
  const uint64_t end = (offset + bytes + alignment - 1) / alignment * alignment;
  image.resize(end + guardBytes, guard);
  return offset;
}

Status CopyArena::reserve(Device &device) {
  if (image.size() <= memory.bytes)
    return {};
  release(device);
  const uint64_t bytes =
      std::max(leastArenaBytes, std::bit_ceil<uint64_t>(image.size()));
  if (isHosts) {
    Expected<HostMemory> made = device.allocateHost(bytes);
    if (!made)
      return made.status();
    memory = *made;
    return {};
  }
  Expected<DeviceAddress> made = device.allocate(bytes);
  if (!made)
    return made.status();
  memory = {nullptr, *made, bytes};
  return {};
}

void CopyArena::release(Device &device) {
  if (memory.bytes == 0)
    return;
  if (isHosts)
    device.releaseHost(memory);
  else
    device.release(memory.device);
  memory = {};
}

Status CopyArena::upload(Device &device, Stream stream) const {
  if (image.empty())
    return {};
  if (!isHosts)
    return device.copyToDevice(memory.device, image.data(), image.size(),
                               stream);
  std::memcpy(memory.host, image.data(), image.size());
  return {};
}

Status CopyArena::download(Device &device, Stream stream) {
  found.resize(image.size());
  if (image.empty())
    return {};
  if (!isHosts)
    return device.copyToHost(found.data(), memory.device, found.size(), stream);
  std::memcpy(found.data(), memory.host, found.size());
  return {};
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

DeviceCopies::~DeviceCopies() {
  own.release(device);
  hosts.release(device);
}

Status DeviceCopies::place(const KernelLaunch &launch) {
  copies.clear();
  own.begin();
  hosts.begin();
  for (size_t i = 0; i < launch.words.size(); ++i)
    if (Status s = refer(launch.words[i], fieldName(launch.kernel, i)); !s.ok())
      return s;
  // Arrays that arrays lead to come behind them in the list.
  for (size_t i = 0; i < copies.size(); ++i) {
    const ArrayCopy copy = copies[i];
    for (size_t at = 0; copy.array->hasAddresses && at < copy.array->bytes();
         at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, copy.array->data() + at, sizeof(word));
      if (Status s = refer(word, copy.name + " at byte " + std::to_string(at));
          !s.ok())
        return s;
    }
  }
  if (own.bytes() + hosts.bytes() > mostCopiedBytes)
    return failure("its arrays take ", own.bytes() + hosts.bytes(),
                   " bytes, the limit is ", mostCopiedBytes);
  for (CopyArena *arena : {&own, &hosts})
    if (Status s = arena->reserve(device); !s.ok())
      return s;
  for (const ArrayCopy &copy : copies)
    fill(copy);
  translated.clear();
  for (uint64_t word : launch.words)
    translated.push_back(translate(word));
  return {};
}

/// Makes a place for the array that the word leads to, if there is one.
Status DeviceCopies::refer(uint64_t word, const std::string &name) {
  ArrayMemory *array = ArrayMemory::at(word);
  if (!array) {
    if (emulator::isMapped(word))
      return failure(name, " is an address of the host that no array has");
    return {};
  }
  for (ArrayCopy &copy : copies)
    if (copy.array == array) {
      copy.name += " = " + name;
      return {};
    }
  CopyArena &arena = array->isHosts ? hosts : own;
  copies.push_back({array, name, arena.add(array->bytes())});
  return {};
}

uint64_t DeviceCopies::translate(uint64_t word) {
  ArrayMemory *array = ArrayMemory::at(word);
  for (const ArrayCopy &copy : copies)
    if (copy.array == array)
      return arenaOf(copy).address() + copy.offset + (word - array->address());
  return word;
}

void DeviceCopies::fill(const ArrayCopy &copy) {
  std::span<uint8_t> to = arenaOf(copy).at(copy.offset, copy.array->bytes());
  if (!to.empty())
    std::memcpy(to.data(), copy.array->data(), to.size());
  for (size_t at = 0; copy.array->hasAddresses && at < to.size();
       at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, &to[at], sizeof(word));
    word = translate(word);
    std::memcpy(&to[at], &word, sizeof(word));
  }
}

Status DeviceCopies::upload() {
  for (CopyArena *arena : {&own, &hosts})
    if (Status s = arena->upload(device, stream); !s.ok())
      return s;
  return {};
}

Status DeviceCopies::download() {
  for (CopyArena *arena : {&own, &hosts})
    if (Status s = arena->download(device, stream); !s.ok())
      return s;
  if (Status s = device.synchronize(stream); !s.ok())
    return s;
  for (const ArrayCopy &copy : copies)
    if (copy.array->hasAddresses)
      restoreAddresses(copy);
  return {};
}

/// Words that are as they were uploaded become what they are on the host.
void DeviceCopies::restoreAddresses(const ArrayCopy &copy) {
  CopyArena &arena = arenaOf(copy);
  const uint64_t bytes = copy.array->bytes();
  std::span<uint8_t> to = arena.foundAt(copy.offset, bytes);
  std::span<uint8_t> before = arena.at(copy.offset, bytes);
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t))
    if (std::memcmp(&to[at], &before[at], sizeof(uint64_t)) == 0)
      std::memcpy(&to[at], copy.array->data() + at, sizeof(uint64_t));
}

std::span<const uint8_t> DeviceCopies::found(const ArrayCopy &copy) {
  return arenaOf(copy).foundAt(copy.offset, copy.array->bytes());
}

std::string DeviceCopies::writtenBeside() {
  std::string beside = writtenBeside(own);
  return beside.empty() ? writtenBeside(hosts) : beside;
}

std::string DeviceCopies::writtenBeside(CopyArena &arena) {
  // In the order of their places, which is that of the list.
  const ArrayCopy *before = nullptr;
  uint64_t at = 0;
  auto check = [&](uint64_t end, const ArrayCopy *next) -> std::string {
    for (uint8_t byte : arena.foundAt(at, end - at)) {
      if (byte != guard) {
        const uint64_t begin =
            before ? before->offset + before->array->bytes() : 0;
        if (!before || (next && end - at < at - begin))
          return std::to_string(end - at) + " bytes before " + next->name;
        return std::to_string(at - begin) + " bytes behind the end of " +
               before->name;
      }
      ++at;
    }
    return {};
  };
  for (const ArrayCopy &copy : copies) {
    if (&arenaOf(copy) != &arena)
      continue;
    if (std::string beside = check(copy.offset, &copy); !beside.empty())
      return beside;
    before = &copy;
    at = copy.offset + copy.array->bytes();
  }
  return before ? check(arena.bytes(), nullptr) : std::string();
}
