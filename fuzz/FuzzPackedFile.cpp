//===- FuzzPackedFile.cpp - fuzzes the readers of packed files ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PackedFile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace sluice;

namespace {

/// PackedSections or PackedPlaces with the numbers that the bytes happen to be.
template <typename Entry>
std::vector<Entry> entriesIn(std::span<const uint8_t> bytes) {
  constexpr size_t max = 16;
  std::vector<Entry> entries(std::min(max, bytes.size() / sizeof(Entry)));
  if (!entries.empty())
    std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(Entry));
  return entries;
}

/// Whoever reads a section by the layout stays inside the file.
void expectInside(const PackedFileLayout &layout, size_t fileBytes) {
  for (const PackedSection &section : layout.sections)
    if (section.bytes > 0 && (section.offset > fileBytes ||
                              section.bytes > fileBytes - section.offset))
      std::abort();
}

void readHeader(std::span<const uint8_t> file, size_t weights) {
  const PackedKey key{"avx2", 7};
  Expected<PackedFileLayout> layout = readPackedHeader(file, key, weights);
  if (layout && layout->sections.size() != weights)
    std::abort();
  if (layout)
    expectInside(*layout, file.size());
}

/// A header that is intact, whatever it says of sections, before a file of as
/// many bytes as it says.
void readMadeHeader(std::span<const uint8_t> bytes) {
  PackedFileLayout layout;
  layout.sections = entriesIn<PackedSection>(bytes);
  layout.payloadOffset = packedPageBytes;
  layout.totalBytes = packedPageBytes + bytes.size();
  std::vector<uint8_t> file = encodePackedHeader(layout, {"avx2", 7});
  file.resize(layout.totalBytes);
  readHeader(file, layout.sections.size());
}

void findPayloads(std::span<const uint8_t> executable) {
  for (int64_t program : {-1, 0, 1, 17}) {
    std::optional<std::span<const uint8_t>> found =
        findEmbeddedPackedFile(executable, program);
    if (found &&
        (found->data() < executable.data() ||
         found->data() + found->size() > executable.data() + executable.size()))
      std::abort();
  }
}

/// The same for a trailer.
void findByMadeTrailer(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> executable(2 * packedPageBytes);
  std::vector<uint8_t> trailer =
      encodePackedTrailer(entriesIn<PackedPlace>(bytes));
  executable.insert(executable.end(), trailer.begin(), trailer.end());
  findPayloads(executable);
}

} // namespace

/// Any bytes are refused, or say of nothing that it lies outside the file. Few
/// inputs have the right checksum, so that what they say is also given one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const uint8_t> bytes(data, size);
  for (size_t weights : {0, 1, 3})
    readHeader(bytes, weights);
  readMadeHeader(bytes);
  findPayloads(bytes);
  findByMadeTrailer(bytes);
  return 0;
}
