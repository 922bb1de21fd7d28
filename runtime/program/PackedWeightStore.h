//===- PackedWeightStore.h - the weights that a CPU's program uses --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Provides a program's weights from one of four places, tried in this order:
//
//   embedded   in the executable, if the program's descriptor says so
//   cached     <executable>.weights, if it was packed from the same files for
//              the same program
//   packed     from the model's files; the packed form becomes
//              <executable>.weights once it is on the disk, and nothing waits
//              for that
//   in memory  as before, but the file <executable>.weights cannot be written
//
// If an executable has several programs, each has a file of its own,
// <executable>.<program>.weights, so that a rank packs and maps only its own
// part. Weights made from a seed are packed in memory.
//
// All but weights in memory are mapped: several processes share them, and the
// kernel can drop and reread their pages. A cache that a user other than root
// and this process's user can write is not used, because that user would decide
// what is computed.
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
  /// Makes weights from this seed, in memory; no file is read or written.
  std::optional<uint64_t> randomSeed;
  /// Whether to verify everything that was packed earlier before anything is
  /// computed. A damaged cache is packed again; any other damage is an error.
  bool verifyFirst = false;
  /// Receives messages for the user, such as why a cache is not used. May be
  /// called by another thread while the store lives. May be empty.
  std::function<void(std::string_view)> note;
  /// Called by another thread if the disk refuses packed weights that are in
  /// use already: results computed with them from then on may be wrong. If it
  /// is empty, the process ends.
  std::function<void(const Status &)> lost;
};

/// Owns or maps all memory that its weights refer to. Several threads may read
/// at the same time.
class PackedWeightStore {
public:
  enum class Origin : uint8_t { Embedded, Cached, Packed, InMemory };

  /// Loads the weights of program number `program` of the executable. Errors: a
  /// model's file that is missing or is another file; a weight that is damaged,
  /// not finite or cannot be packed; not enough memory; cancellation.
  static Expected<PackedWeightStore>
  load(const ExecutableDescriptor &executable, int64_t program,
       const WeightLoadOptions &options);

  PackedWeightStore(PackedWeightStore &&) = default;

  /// The weights in the descriptor's order; valid while the store lives.
  const std::vector<cpu::CpuWeight> &weights() const { return views; }

  Origin origin() const { return source; }

  /// All bytes of the weights whose digest is known; valid while the store
  /// lives.
  const std::vector<KnownBytes> &knownBytes() const { return known; }

  /// Waits until the packed weights are on the disk, as the destructor does.
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
  std::jthread keeper; // writes packed weights to the disk
};

/// Returns the path of a program's cache of packed weights; `path` is the
/// executable's.
std::string packedCachePath(const ExecutableDescriptor &executable,
                            int64_t program, const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PACKEDWEIGHTSTORE_H
