//===- WeightVerifier.h - whether weights are what they were --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Disks, copies and memory lose bits, and files are written over. The digest of
// a weight's bytes is known from when they were packed or, of those that are
// used as the model's file has them, from when the program was compiled. So all
// that the kernels read can be compared, before the first step or beside it:
//
//   Expected<const KnownBytes *> damaged = findDamage(known, packing);
//   WeightVerifier verifier(known, pace, damaged);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_WEIGHTVERIFIER_H
#define SLUICE_RUNTIME_PROGRAM_WEIGHTVERIFIER_H

#include "runtime/base/MappedFile.h"
#include "runtime/program/MappedModelFiles.h"
#include "runtime/program/PackingOptions.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace sluice {

/// A weight's bytes, of which it is known what they were.
struct KnownBytes {
  enum class Source : uint8_t { Cache, Executable, ModelFile, Memory };

  std::string weight = ""; // its name
  Source source = Source::Memory;
  std::string file = ""; // Memory: empty
  std::span<const uint8_t> bytes = {};
  uint64_t digest = 0; // ByteDigest of what they were
  /// Of Cache: the file, which is removed where it is damaged.
  std::shared_ptr<const MappedFile> cache = nullptr;
};

/// Adds what is known of a weight as the model's file has it, and of its scales
/// apart: nothing, where the weights are random or the compiler has not seen
/// the file. Refers to the mapped files.
void addKnownBytes(const MappedModelFiles &files,
                   const WeightDescriptor &weight,
                   std::vector<KnownBytes> &known);

/// The same of all weights of a program, whose files these are; what two of
/// them share is there once.
std::vector<KnownBytes> knownBytesOf(const MappedModelFiles &files,
                                     const ProgramDescriptor &program);

/// Compares bytes with their digests, by as many threads as `options` has, with
/// a progress line. The first that differ; null: none. Error: cancellation.
Expected<const KnownBytes *> findDamage(std::span<const KnownBytes> known,
                                        const PackingOptions &options);

/// Says what is wrong with bytes that are not what they were, and what to do.
/// Where they are a cache's, it is removed first, so that the next start packs
/// the weights again.
Status reportDamage(const KnownBytes &damaged);

/// How fast a WeightVerifier reads, in bytes a second. So a pass over any model
/// costs the steps beside it a small share of what they read themselves, and of
/// the later passes nobody notices anything.
struct VerifierPace {
  uint64_t first = uint64_t(1) << 30;
  /// Of all passes behind the first; nothing: there is but one.
  std::optional<uint64_t> later = std::nullopt;

  static constexpr uint64_t idle = uint64_t(64) << 20;
};

/// What has been found to be what it was, so far.
struct VerifiedCounts {
  uint64_t bytes = 0;
  uint64_t passes = 0; // over all weights
};

/// Compares bytes with their digests by a thread of its own, which runs while
/// the processors have nothing else to do.
class WeightVerifier {
public:
  /// What the bytes lie in outlives the verifier. `damaged` is called with
  /// reportDamage() of the first bytes that differ, by the verifier's thread,
  /// which then ends.
  WeightVerifier(std::vector<KnownBytes> known, const VerifierPace &pace,
                 std::function<void(const Status &)> damaged);
  /// Ends the thread, within some milliseconds.
  ~WeightVerifier();
  WeightVerifier(const WeightVerifier &) = delete;
  WeightVerifier &operator=(const WeightVerifier &) = delete;

  /// Thread-safe.
  VerifiedCounts counts() const { return {bytes, passes}; }

private:
  class Pacer;

  void run(const std::stop_token &stop);
  bool verify(const KnownBytes &each, Pacer &pacer);

  std::vector<KnownBytes> known;
  VerifierPace pace;
  std::function<void(const Status &)> damaged;
  std::atomic<uint64_t> bytes = 0, passes = 0;
  std::jthread thread; // the last: it uses the others
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_WEIGHTVERIFIER_H
