//===- DeviceCopies.cpp - copies a launch's arrays to a device ------------===//
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
/// The minimum size of arenas, so that most launches find enough memory.
constexpr uint64_t minArenaBytes = 4 << 20;

} // namespace

//===----------------------------------------------------------------------===//
// Arenas
//===----------------------------------------------------------------------===//

void CopyArena::begin(Device &device) {
  image.clear();
  if (place == CopyPlace::Apart)
    release(device);
}

uint64_t CopyArena::add(uint64_t bytes) {
  // Guard bytes come before the first array and after each one.
  const uint64_t offset = image.empty() ? guardBytes : image.size();
  const uint64_t end = (offset + bytes + alignment - 1) / alignment * alignment;
  image.resize(end + guardBytes, guard);
  if (place == CopyPlace::Apart)
    pieces.push_back({offset, bytes, 0});
  return offset;
}

Status CopyArena::reserve(Device &device) {
  if (place == CopyPlace::Apart)
    return reserveApart(device);
  if (image.size() <= capacity)
    return {};
  release(device);
  const uint64_t bytes =
      std::max(minArenaBytes, std::bit_ceil<uint64_t>(image.size()));
  if (place == CopyPlace::Host) {
    Expected<HostMemory> made = device.allocateHost(bytes);
    if (!made)
      return made.status();
    mapped = *made;
  } else {
    Expected<DeviceAddress> made = device.allocate(bytes);
    if (!made)
      return made.status();
    pieces = {{0, bytes, *made}};
  }
  capacity = bytes;
  return {};
}

/// An array without elements gets some memory nevertheless.
Status CopyArena::reserveApart(Device &device) {
  for (Piece &piece : pieces) {
    Expected<DeviceAddress> made =
        device.allocate(std::max<uint64_t>(piece.bytes, 1));
    if (!made)
      return made.status();
    piece.memory = *made;
  }
  return {};
}

void CopyArena::release(Device &device) {
  for (Piece &piece : pieces)
    if (piece.memory)
      device.release(piece.memory);
  pieces.clear();
  if (mapped.bytes > 0)
    device.releaseHost(mapped);
  mapped = {};
  capacity = 0;
}

DeviceAddress CopyArena::address(uint64_t offset) const {
  if (place == CopyPlace::Host)
    return mapped.device + offset;
  for (const Piece &piece : pieces)
    if (piece.offset == offset || place == CopyPlace::Device)
      return piece.memory + (offset - piece.offset);
  return 0;
}

Status CopyArena::upload(Device &device, Stream stream) const {
  if (place == CopyPlace::Host && !image.empty())
    std::memcpy(mapped.host, image.data(), image.size());
  for (const Piece &piece : pieces) {
    const uint64_t bytes = used(piece);
    Status status =
        bytes == 0
            ? Status()
            : device.copyToDevice(piece.memory, image.data() + piece.offset,
                                  bytes, stream);
    if (!status.ok())
      return status;
  }
  return {};
}

Status CopyArena::download(Device &device, Stream stream) {
  found = image;
  if (place == CopyPlace::Host && !image.empty())
    std::memcpy(found.data(), mapped.host, found.size());
  for (const Piece &piece : pieces) {
    const uint64_t bytes = used(piece);
    Status status = bytes == 0 ? Status()
                               : device.copyToHost(found.data() + piece.offset,
                                                   piece.memory, bytes, stream);
    if (!status.ok())
      return status;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

DeviceCopies::~DeviceCopies() {
  own.release(device);
  hosts.release(device);
}

Status DeviceCopies::place(const BedLaunch &launch) {
  copies.clear();
  own.begin(device);
  hosts.begin(device);
  for (size_t i = 0; i < launch.words.size(); ++i)
    SLUICE_RETURN_IF_ERROR(refer(launch.words[i], fieldName(launch.kernel, i)));
  // Arrays to which other arrays point are appended to the list.
  for (size_t i = 0; i < copies.size(); ++i) {
    const ArrayCopy copy = copies[i];
    for (size_t at = 0; copy.array->hasAddresses && at < copy.array->bytes();
         at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, copy.array->data() + at, sizeof(word));
      SLUICE_RETURN_IF_ERROR(
          refer(word, copy.name + " at byte " + std::to_string(at)));
    }
  }
  if (own.bytes() + hosts.bytes() > maxCopiedBytes)
    return failure("its arrays take ", own.bytes() + hosts.bytes(),
                   " bytes, the limit is ", maxCopiedBytes);
  for (CopyArena *arena : {&own, &hosts})
    SLUICE_RETURN_IF_ERROR(arena->reserve(device));
  for (const ArrayCopy &copy : copies)
    fill(copy);
  translated.clear();
  for (uint64_t word : launch.words)
    translated.push_back(translate(word));
  return {};
}

/// Makes a place for the array that the word points into, if there is one.
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
      return arenaOf(copy).address(copy.offset) + (word - array->address());
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
    SLUICE_RETURN_IF_ERROR(arena->upload(device, stream));
  return {};
}

Status DeviceCopies::download() {
  for (CopyArena *arena : {&own, &hosts})
    SLUICE_RETURN_IF_ERROR(arena->download(device, stream));
  SLUICE_RETURN_IF_ERROR(device.synchronize(stream));
  for (const ArrayCopy &copy : copies)
    if (copy.array->hasAddresses)
      restoreAddresses(copy);
  return {};
}

/// Restores the host's values of words that have not changed since the upload.
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
  // Goes through the arrays in the order of their places, which is that of the
  // list.
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
