//===- WeightVerifier.h - the detection of damaged weights ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Disks, copies and memory lose bits, and files can be overwritten. The digest
// of a weight's bytes is known from packing or, if the bytes are used as the
// model's file has them, from compilation. Therefore everything that the
// kernels read can be verified, before the first step or while steps run:
//
//   Expected<const KnownBytes *> damaged = findDamage(known, packing);
//   WeightVerifier verifier(known, pace, onDamage);
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

/// A weight's bytes and their known digest.
struct KnownBytes {
  enum class Source : uint8_t { Cache, Executable, ModelFile, Memory };

  std::string weight = ""; // the weight's name
  Source source = Source::Memory;
  std::string file = ""; // empty for Memory
  std::span<const uint8_t> bytes = {};
  uint64_t digest = 0; // their ByteDigest when it was recorded
  /// For Cache only: the file, which is removed if it is damaged.
  std::shared_ptr<const MappedFile> cache = nullptr;
};

/// Adds the bytes and the digest of a weight, and of its scales apart, as the
/// model's file has them. Adds nothing if the weights are random or the
/// compiler has not seen the file. The result refers to the mapped files.
void addKnownBytes(const MappedModelFiles &files,
                   const WeightDescriptor &weight,
                   std::vector<KnownBytes> &known);

/// Returns the same for all weights of a program, whose files are `files`.
/// Bytes that two weights share occur once.
std::vector<KnownBytes> knownBytesOf(const MappedModelFiles &files,
                                     const ProgramDescriptor &program);

/// Compares bytes with their digests, on the threads of `options`, with a
/// progress line. Returns the first that differ, or null. Error: cancellation.
Expected<const KnownBytes *> findDamage(std::span<const KnownBytes> known,
                                        const PackingOptions &options);

/// Returns an error that says what is damaged and what to do. If it is a cache,
/// removes the cache first, so that the next start packs the weights again.
Status reportDamage(const KnownBytes &damaged);

/// The speed at which a WeightVerifier reads, in bytes a second. At this speed
/// a first pass over any model costs concurrent steps a small share of their
/// memory bandwidth, and later passes cost nothing that is noticeable.
struct VerifierPace {
  uint64_t first = uint64_t(1) << 30;
  /// For all passes after the first; none if there is only one.
  std::optional<uint64_t> later = std::nullopt;

  static constexpr uint64_t idle = uint64_t(64) << 20;
};

/// How much a WeightVerifier has found intact so far.
struct VerifiedCounts {
  uint64_t bytes = 0;
  uint64_t passes = 0; // over all weights
};

/// Compares bytes with their digests on a thread of its own, which runs while
/// the processors have nothing else to do.
class WeightVerifier {
public:
  /// The memory of the bytes must outlive the verifier. At the first bytes that
  /// differ, the verifier's thread calls `damaged` with the result of
  /// reportDamage() and ends.
  WeightVerifier(std::vector<KnownBytes> known, const VerifierPace &pace,
                 std::function<void(const Status &)> damaged);
  /// Ends the thread within some milliseconds.
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
  std::jthread thread; // last, because it uses the other members
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_WEIGHTVERIFIER_H
