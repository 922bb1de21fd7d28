//===- WeightPacker.h - conversion of weights to kernels' form ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_WEIGHTPACKER_H
#define SLUICE_RUNTIME_PROGRAM_WEIGHTPACKER_H

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/linear/PackedWeight.h"
#include "runtime/program/MappedModelFiles.h"
#include "runtime/program/PackedFile.h"

#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace sluice {

/// Which weights a packed file has.
enum class PackedContents : uint8_t {
  NotInFiles, // the weights whose form in the model's files is not the kernels'
              // form
  Everything, // all, so that the model's files are not needed
};

/// Returns a linear weight's shape for the kernels.
cpu::LinearSpec linearSpec(const WeightDescriptor &weight);

/// Plans a program's packed file. Error: a weight has a form that cannot be
/// packed; the message names the weight's file, one of the executable's
/// `files`.
Expected<PackedFileLayout> planPackedFile(std::span<const ModelFile> files,
                                          const ProgramDescriptor &program,
                                          PackedContents contents);

/// Receives a weight's pieces, in order and without gaps. An error ends the
/// packing with that error.
class PieceTarget {
public:
  /// Returns memory for the bytes [first, last) of the weight that is being
  /// packed.
  virtual Expected<uint8_t *> begin(uint64_t first, uint64_t last) = 0;
  /// Tells that these bytes are complete.
  virtual Status end(uint64_t first, uint64_t last) = 0;

protected:
  ~PieceTarget() = default;
};

/// Checks and packs one weight after another, each with all threads of a pool.
/// Refers to the constructor's arguments. For use by one thread.
class WeightPacker {
public:
  WeightPacker(const MappedModelFiles &files, cpu::ThreadPool &pool)
      : files(files), pool(pool) {}

  /// Checks that the stored weight, and its scales apart, have the digests that
  /// they had when the program was compiled, if these are known. The error
  /// names file and weight. Bytes that two weights share are checked once.
  Status checkUnchanged(const WeightDescriptor &weight);

  /// Checks that every element of the stored weight is finite, and remains
  /// finite in the format in which the program computes. The error names file
  /// and weight. A table that two weights share is checked once.
  Status check(const WeightDescriptor &weight);

  /// Packs this weight into `target`, in pieces of some MiB. Each piece is
  /// checked as in check() first.
  Status pack(const WeightDescriptor &weight, PieceTarget &target);

private:
  /// Returns false if the matrix was marked before.
  bool markChecked(const WeightDescriptor &weight, const SlicedMatrix &matrix);
  Status result(const WeightDescriptor &weight,
                std::optional<int64_t> badRow) const;

  const MappedModelFiles &files;
  cpu::ThreadPool &pool;
  /// Includes their slices: whether of columns, and the bounds.
  std::set<std::tuple<const uint8_t *, Format, bool, std::vector<int64_t>>>
      checked;
  std::set<const uint8_t *> unchanged;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_WEIGHTPACKER_H
