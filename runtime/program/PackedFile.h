//===- PackedFile.h - the file of weights that are ready to use -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights as the micro-kernels of one CPU level read them, in one file that is
// mapped and used as it lies:
//
//   header   magic, version, CPU level, the descriptor's packing hash, sizes
//   table    for each of the descriptor's weights: offset, bytes, digest
//   payload  from the next page on, each section at a multiple of 64 bytes
//
// Each program of an executable has one. It stands beside the executable as a
// cache, or at a page boundary inside the executable, where a trailer in the
// executable's last bytes says where.
// Numbers are little-endian, as on every CPU that the kernels exist for.
// Header and table carry a checksum, which is looked at when the file is
// opened. The payload may have gigabytes: whether its sections have the digests
// of the table (ByteDigest.h), a WeightVerifier finds out.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PACKEDFILE_H
#define SLUICE_RUNTIME_PROGRAM_PACKEDFILE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Where a packed file, and its payload, begin.
constexpr uint64_t packedPageBytes = 4096;
/// What a section's offset is a multiple of.
constexpr uint64_t packedSectionAlignment = 64;

/// One weight's bytes; `bytes` is 0 for a weight that is not in the file.
struct PackedSection {
  uint64_t offset = 0; // from the packed file's start
  uint64_t bytes = 0;
  uint64_t digest = 0; // of the bytes; known once they are packed
};

/// Where a packed file lies in an executable.
struct PackedPlace {
  uint64_t offset = 0; // from the executable's start
  uint64_t bytes = 0;
};

/// What a packed file was made from and for.
struct PackedKey {
  std::string cpu;
  uint64_t hash = 0; // ProgramDescriptor::packingHash()
};

/// Where everything lies in a packed file.
struct PackedFileLayout {
  std::vector<PackedSection> sections; // one for each weight
  uint64_t payloadOffset = 0;
  uint64_t totalBytes = 0;

  /// Places sections of the given sizes in order, without digests. Errors: more
  /// bytes than fit 63 bits, more weights than 32 bits count.
  static Expected<PackedFileLayout>
  plan(std::span<const uint64_t> sectionBytes);
};

/// Header and table, padded to the payload's start.
std::vector<uint8_t> encodePackedHeader(const PackedFileLayout &layout,
                                        const PackedKey &key);

/// Whether the bytes are those of a packed file, of any version and in whatever
/// state: something that this program may replace.
bool isPackedFile(std::span<const uint8_t> bytes);

/// Reads the table of a packed file that fills `bytes`, when it was made for
/// `key` and `weights` weights. The error is the reason alone, fit to follow
/// the file's name: "was packed for avx2".
Expected<PackedFileLayout> readPackedHeader(std::span<const uint8_t> bytes,
                                            const PackedKey &key,
                                            size_t weights);

/// The last bytes of an executable that holds packed files; `payloads` says
/// where, in the order of the descriptor's programs.
std::vector<uint8_t> encodePackedTrailer(std::span<const PackedPlace> payloads);

/// Finds the packed file of program number `program` inside an executable's
/// bytes; nullopt where there is none. A trailer that is damaged or points
/// outside the file counts as none.
std::optional<std::span<const uint8_t>>
findEmbeddedPackedFile(std::span<const uint8_t> executable, int64_t program);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PACKEDFILE_H
