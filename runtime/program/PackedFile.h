//===- PackedFile.h - the format of files of packed weights ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A packed file contains weights in the form that the micro-kernels of one CPU
// level read. It is mapped and used without conversion:
//
//   header   magic, version, CPU level, the descriptor's packing hash, sizes
//   table    for each of the descriptor's weights: offset, bytes, digest
//   payload  from the next page on, each section at a multiple of 64 bytes
//
// Each program of an executable has one. It is either a file beside the
// executable, which serves as a cache, or a part of the executable that begins
// at a page boundary; then a trailer in the executable's last bytes gives its
// place.
//
// Numbers are little-endian, as on every CPU that has kernels. Header and table
// have a checksum, which is checked when the file is opened. The payload may
// have gigabytes: a WeightVerifier checks whether its sections have the digests
// of the table (ByteDigest.h).
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

/// The alignment of a packed file in an executable, and of its payload.
constexpr uint64_t packedPageBytes = 4096;
/// Every section's offset is a multiple of it.
constexpr uint64_t packedSectionAlignment = 64;

/// One weight's bytes; `bytes` is 0 if the weight is not in the file.
struct PackedSection {
  uint64_t offset = 0; // from the packed file's start, in bytes
  uint64_t bytes = 0;
  uint64_t digest = 0; // of the bytes; set after packing
};

/// The place of a packed file in an executable.
struct PackedPlace {
  uint64_t offset = 0; // from the executable's start, in bytes
  uint64_t bytes = 0;
};

/// Identifies the program and the weights that a packed file was made for.
struct PackedKey {
  std::string cpu;
  uint64_t hash = 0; // ProgramDescriptor::packingHash()
};

/// The places of all parts of a packed file.
struct PackedFileLayout {
  std::vector<PackedSection> sections; // one for each weight
  uint64_t payloadOffset = 0;
  uint64_t totalBytes = 0;

  /// Places sections of the given sizes in order, without digests. Errors: more
  /// bytes than fit in 63 bits, more weights than fit in 32 bits.
  static Expected<PackedFileLayout>
  plan(std::span<const uint64_t> sectionBytes);
};

/// Returns header and table, padded to the payload's start.
std::vector<uint8_t> encodePackedHeader(const PackedFileLayout &layout,
                                        const PackedKey &key);

/// Returns whether the bytes are a packed file of any version and in any state.
/// This program may replace such a file.
bool isPackedFile(std::span<const uint8_t> bytes);

/// Reads the table of the packed file `bytes` if it was made for `key` and for
/// `weights` weights. The error is only the reason, for use after the file's
/// name: "was packed for avx2".
Expected<PackedFileLayout> readPackedHeader(std::span<const uint8_t> bytes,
                                            const PackedKey &key,
                                            size_t weights);

/// Returns the last bytes of an executable that contains packed files.
/// `payloads` are their places, in the order of the descriptor's programs.
std::vector<uint8_t> encodePackedTrailer(std::span<const PackedPlace> payloads);

/// Finds the packed file of program number `program` in an executable's bytes.
/// Returns nullopt if there is none, or if the trailer is damaged or points
/// outside the file.
std::optional<std::span<const uint8_t>>
findEmbeddedPackedFile(std::span<const uint8_t> executable, int64_t program);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PACKEDFILE_H
