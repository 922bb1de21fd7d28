//===- FatBinary.cpp - the chips that an image has code for ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is not documented. This is what the fatbinary of CUDA 13 writes,
// and has written for long: a header of 16 bytes, then entries, each with a
// header that says how long it is and for which chip.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/FatBinary.h"

#include <algorithm>
#include <cstring>

namespace sluice::cuda {

namespace {

constexpr uint32_t magic = 0xba55ed50;

struct Header {
  uint32_t magic;
  uint16_t version, headerBytes;
  uint64_t bytes; ///< bytes of all entries
};

struct Entry {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bytes; ///< bytes after the header
  uint32_t unused[3];
  uint32_t chip;
  uint32_t others[6];
  uint64_t unpackedBytes; ///< 0 if it is not compressed
};

enum Kind : uint16_t { Ptx = 1, Cubin = 2 };

template <typename T>
bool readAt(std::span<const uint8_t> image, size_t at, T &to) {
  if (at > image.size() || image.size() - at < sizeof(T))
    return false;
  std::memcpy(&to, image.data() + at, sizeof(T));
  return true;
}

/// Returns the entries of PTX and code. Stops where the image is truncated.
std::vector<Entry> entriesOf(std::span<const uint8_t> image) {
  std::vector<Entry> entries;
  Header header;
  if (!readAt(image, 0, header) || header.magic != magic)
    return entries;
  Entry entry;
  for (size_t at = header.headerBytes; readAt(image, at, entry);) {
    if (entry.kind == Ptx || entry.kind == Cubin)
      entries.push_back(entry);
    const size_t remaining = image.size() - at;
    if (entry.headerBytes < sizeof(Entry) || entry.headerBytes > remaining ||
        entry.bytes > remaining - entry.headerBytes)
      break;
    at += entry.headerBytes + entry.bytes;
  }
  return entries;
}

} // namespace

uint64_t codeBytesOf(std::span<const uint8_t> image) {
  std::vector<Entry> entries = entriesOf(image);
  if (entries.empty())
    return image.size();
  uint64_t largest = 0;
  for (const Entry &entry : entries)
    largest = std::max({largest, entry.bytes, entry.unpackedBytes});
  return largest;
}

std::vector<std::string> chipsOf(std::span<const uint8_t> image) {
  std::vector<std::string> chips;
  for (const Entry &entry : entriesOf(image)) {
    std::string name =
        (entry.kind == Ptx ? "compute_" : "sm_") + std::to_string(entry.chip);
    if (std::find(chips.begin(), chips.end(), name) == chips.end())
      chips.push_back(std::move(name));
  }
  std::sort(chips.begin(), chips.end(),
            [](const std::string &a, const std::string &b) {
              auto number = [](const std::string &name) {
                return std::stoul(name.substr(name.find('_') + 1));
              };
              return std::pair(a[0] == 'c', number(a)) <
                     std::pair(b[0] == 'c', number(b));
            });
  return chips;
}

} // namespace sluice::cuda
