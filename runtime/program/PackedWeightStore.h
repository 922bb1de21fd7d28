//===- PackedWeightStore.h - a program's weights, ready for its kernels ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights come from one of four places, tried in this order:
//
//   embedded   the program's descriptor says that they are in the executable
//   cached     <executable>.weights, when it was packed from the same files for
//              the same program
//   packed     the model's files; the packed form becomes <executable>.weights
//              once the disk has it, for which nobody waits
//   in memory  the same, where that file cannot be written
//
// Where an executable has several programs, each has a file of its own,
// <executable>.<program>.weights, so that a rank packs and maps its own part.
//
// Where they are made of a seed instead, they are packed in memory.
//
// All but the last are mapped: several processes share them, and the kernel can
// drop and reread their pages. A cache that somebody else can write, who is not
// root, is not used: he would decide what is computed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PACKEDWEIGHTSTORE_H
#define SLUICE_RUNTIME_PROGRAM_PACKEDWEIGHTSTORE_H

#include "runtime/device/cpu/Weights.h"
#include "runtime/device/cpu/ZeroedMemory.h"
#include "runtime/program/PackedFileWriter.h"
#include "runtime/program/WeightVerifier.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice {

struct WeightLoadOptions {
  FileSearch search;
  PackingOptions packing;
  /// Makes the weights of this seed, in memory; no file is read or written.
  std::optional<uint64_t> randomSeed;
  /// Finds out before anything is computed whether what was packed at another
  /// time is what it was: a damaged cache is packed again, all else is an
  /// error.
  bool verifyFirst = false;
  /// Given lines that the user should see: why a cache is not used; also by
  /// another thread, as long as the store lives. May be empty.
  std::function<void(std::string_view)> note;
  /// Called by another thread where the disk refuses packed weights that are in
  /// use already: what is computed with them from then on may be wrong. Empty:
  /// ends the process.
  std::function<void(const Status &)> lost;
};

/// Owns, or maps, all that its weights refer to. Reading from several threads
/// is safe.
class PackedWeightStore {
public:
  enum class Origin : uint8_t { Embedded, Cached, Packed, InMemory };

  /// Errors: a model's file that is missing or another one, a weight that is
  /// damaged, not finite or cannot be packed, not enough memory, cancellation.
  /// Of the executable's program number `program`.
  static Expected<PackedWeightStore>
  load(const ExecutableDescriptor &executable, int64_t program,
       const WeightLoadOptions &options);

  PackedWeightStore(PackedWeightStore &&) = default;

  /// In the descriptor's order; valid as long as the store lives.
  const std::vector<cpu::CpuWeight> &weights() const { return views; }

  Origin origin() const { return source; }

  /// All that the weights consist of, as far as it is known what it was; valid
  /// as long as the store lives.
  const std::vector<KnownBytes> &knownBytes() const { return known; }

  /// Waits until the disk has what was packed, as the store's end does.
  void waitUntilKept() {
    if (keeper.joinable())
      keeper.join();
  }

private:
  class Loader;
  PackedWeightStore() = default;

  Origin source = Origin::InMemory;
  std::optional<MappedModelFiles> files;
  std::shared_ptr<const MappedFile> packedFile; // the cache, or the executable
  cpu::ZeroedMemory memory;
  std::vector<cpu::CpuWeight> views;
  std::vector<KnownBytes> known;
  std::jthread keeper; // of what was packed
};

/// The path of the packed weights that a program keeps; `path` is the
/// executable's.
std::string packedCachePath(const ExecutableDescriptor &executable,
                            int64_t program, const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PACKEDWEIGHTSTORE_H
