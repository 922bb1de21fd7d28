//===- PackedFile.cpp - the format of files of packed weights -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PackedFile.h"

#include "runtime/base/FileIdentity.h"

#include <cstddef>
#include <cstring>

using namespace sluice;

namespace {

constexpr char headerMagic[8] = {'S', 'L', 'U', 'P', 'A', 'C', 'K', '\n'};
constexpr char trailerMagic[16] = {'S', 'L', 'U', 'I', 'C', 'E', '-', 'E',
                                   'M', 'B', 'E', 'D', 'D', 'E', 'D', '\n'};
// Incremented when the packed form of any weight or the file's form changes.
constexpr uint32_t packedVersion = 3;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t weights;
  char cpu[16]; // padded with zeros
  uint64_t hash;
  uint64_t payloadOffset;
  uint64_t totalBytes;
  uint64_t checksum; // of the header, with 0 here, and the table
};
static_assert(sizeof(Header) == 64);

/// The end of the file, after the table of payloads.
struct Trailer {
  char magic[16];
  uint64_t payloads;
  uint64_t checksum; // of the table of payloads
};
static_assert(sizeof(Trailer) == 32);
static_assert(sizeof(PackedSection) == 24);
static_assert(sizeof(PackedPlace) == 16);

bool alignUp(uint64_t &value, uint64_t alignment) {
  if (__builtin_add_overflow(value, alignment - 1, &value))
    return false;
  value &= ~(alignment - 1);
  return value <= uint64_t(INT64_MAX);
}

uint64_t checksum(Header header, std::span<const uint8_t> table) {
  header.checksum = 0;
  uint64_t hash =
      fnv1a({reinterpret_cast<const uint8_t *>(&header), sizeof(header)});
  return fnv1a(table, hash);
}

std::string cpuName(const Header &header) {
  return {header.cpu, strnlen(header.cpu, sizeof(header.cpu))};
}

/// Returns whether every section lies inside the payload.
bool sectionsFit(const PackedFileLayout &layout) {
  for (const PackedSection &section : layout.sections) {
    if (section.bytes == 0)
      continue;
    if (section.offset < layout.payloadOffset ||
        section.offset % packedSectionAlignment != 0 ||
        section.offset > layout.totalBytes ||
        section.bytes > layout.totalBytes - section.offset)
      return false;
  }
  return true;
}

} // namespace

Expected<PackedFileLayout>
PackedFileLayout::plan(std::span<const uint64_t> sectionBytes) {
  if (sectionBytes.size() > UINT32_MAX)
    return failure("packed weights: too many weights");
  Status tooLarge = failure("packed weights: too large");
  PackedFileLayout layout;
  uint64_t next = sizeof(Header) + sectionBytes.size() * sizeof(PackedSection);
  if (!alignUp(next, packedPageBytes))
    return tooLarge;
  layout.payloadOffset = next;
  for (uint64_t bytes : sectionBytes) {
    layout.sections.push_back({bytes ? next : 0, bytes, 0});
    if (__builtin_add_overflow(next, bytes, &next) ||
        !alignUp(next, packedSectionAlignment))
      return tooLarge;
  }
  layout.totalBytes = next;
  return layout;
}

std::vector<uint8_t> sluice::encodePackedHeader(const PackedFileLayout &layout,
                                                const PackedKey &key) {
  Header header = {};
  std::memcpy(header.magic, headerMagic, sizeof(headerMagic));
  header.version = packedVersion;
  header.weights = uint32_t(layout.sections.size());
  std::memcpy(header.cpu, key.cpu.data(),
              std::min(key.cpu.size(), sizeof(header.cpu)));
  header.hash = key.hash;
  header.payloadOffset = layout.payloadOffset;
  header.totalBytes = layout.totalBytes;

  std::vector<uint8_t> bytes(layout.payloadOffset);
  size_t tableBytes = layout.sections.size() * sizeof(PackedSection);
  if (tableBytes > 0)
    std::memcpy(bytes.data() + sizeof(Header), layout.sections.data(),
                tableBytes);
  header.checksum =
      checksum(header, {bytes.data() + sizeof(Header), tableBytes});
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

bool sluice::isPackedFile(std::span<const uint8_t> bytes) {
  return bytes.size() >= sizeof(headerMagic) &&
         std::memcmp(bytes.data(), headerMagic, sizeof(headerMagic)) == 0;
}

Expected<PackedFileLayout>
sluice::readPackedHeader(std::span<const uint8_t> bytes, const PackedKey &key,
                         size_t weights) {
  Header header;
  if (bytes.size() < sizeof(header))
    return failure("is cut short");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (!isPackedFile(bytes))
    return failure("is not a file of packed weights");
  if (header.version != packedVersion)
    return failure("is of version ", header.version, ", not ", packedVersion);
  uint64_t tableBytes = uint64_t(header.weights) * sizeof(PackedSection);
  if (tableBytes > bytes.size() - sizeof(header))
    return failure("is cut short");
  std::span<const uint8_t> table = bytes.subspan(sizeof(header), tableBytes);
  if (checksum(header, table) != header.checksum)
    return failure("is damaged");
  if (cpuName(header) != key.cpu)
    return failure("was packed for ", cpuName(header), ", not ", key.cpu);
  if (header.hash != key.hash || header.weights != weights)
    return failure("was packed for another program");
  if (header.totalBytes != bytes.size())
    return failure("has ", bytes.size(), " bytes, not ", header.totalBytes);

  PackedFileLayout layout;
  layout.payloadOffset = header.payloadOffset;
  layout.totalBytes = header.totalBytes;
  layout.sections.resize(header.weights);
  if (tableBytes > 0)
    std::memcpy(layout.sections.data(), table.data(), tableBytes);
  if (!sectionsFit(layout))
    return failure("is damaged");
  return layout;
}

std::vector<uint8_t>
sluice::encodePackedTrailer(std::span<const PackedPlace> payloads) {
  std::span<const uint8_t> table = {
      reinterpret_cast<const uint8_t *>(payloads.data()),
      payloads.size_bytes()};
  Trailer trailer = {};
  std::memcpy(trailer.magic, trailerMagic, sizeof(trailerMagic));
  trailer.payloads = payloads.size();
  trailer.checksum = fnv1a(table);
  std::vector<uint8_t> bytes(table.begin(), table.end());
  bytes.resize(table.size() + sizeof(trailer));
  std::memcpy(bytes.data() + table.size(), &trailer, sizeof(trailer));
  return bytes;
}

std::optional<std::span<const uint8_t>>
sluice::findEmbeddedPackedFile(std::span<const uint8_t> executable,
                               int64_t program) {
  Trailer trailer;
  if (executable.size() < sizeof(trailer) || program < 0)
    return std::nullopt;
  size_t end = executable.size() - sizeof(trailer);
  std::memcpy(&trailer, executable.data() + end, sizeof(trailer));
  if (std::memcmp(trailer.magic, trailerMagic, sizeof(trailerMagic)) != 0 ||
      trailer.payloads > end / sizeof(PackedPlace) ||
      uint64_t(program) >= trailer.payloads)
    return std::nullopt;
  size_t tableBytes = trailer.payloads * sizeof(PackedPlace);
  end -= tableBytes;
  std::span<const uint8_t> table = executable.subspan(end, tableBytes);
  if (fnv1a(table) != trailer.checksum)
    return std::nullopt;
  PackedPlace payload;
  std::memcpy(&payload, table.data() + size_t(program) * sizeof(PackedPlace),
              sizeof(payload));
  if (payload.offset % packedPageBytes != 0 || payload.offset > end ||
      payload.bytes > end - payload.offset)
    return std::nullopt;
  return executable.subspan(payload.offset, payload.bytes);
}
