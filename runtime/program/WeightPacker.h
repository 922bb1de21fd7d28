//===- WeightPacker.h - stored weights into the form that kernels read ----===//
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

/// Which weights a packed file holds.
enum class PackedContents : uint8_t {
  NotInFiles, // those that no model file has in the form that kernels read
  Everything, // all, so that the model's files are not needed
};

/// The linear weight's shape for the kernels.
cpu::LinearSpec linearSpec(const WeightDescriptor &weight);

/// The layout of a program's packed file. Error: a weight in a form that
/// cannot be packed; it names one of `files`, the executable's.
Expected<PackedFileLayout> planPackedFile(std::span<const ModelFile> files,
                                          const ProgramDescriptor &program,
                                          PackedContents contents);

/// Where a weight's pieces go, in order and without gaps. An error ends the
/// packing with that error.
class PieceTarget {
public:
  /// Memory for bytes [first, last) of the weight that is being packed.
  virtual Expected<uint8_t *> begin(uint64_t first, uint64_t last) = 0;
  /// They are there.
  virtual Status end(uint64_t first, uint64_t last) = 0;

protected:
  ~PieceTarget() = default;
};

/// Checks and packs one weight after another, each with all threads of a pool.
/// Refers to what it is made with. For one thread.
class WeightPacker {
public:
  WeightPacker(const MappedModelFiles &files, cpu::ThreadPool &pool)
      : files(files), pool(pool) {}

  /// Whether the stored weight, and its scales apart, are what they were when
  /// the program was compiled, as far as that is known. The error names file
  /// and weight. What two weights share is looked at once.
  Status checkUnchanged(const WeightDescriptor &weight);

  /// Whether every element of the stored weight is finite and stays so in the
  /// format that the program computes in. The error names file and weight. A
  /// table that two weights share is checked once.
  Status check(const WeightDescriptor &weight);

  /// Packs the layout's bytes for this weight into `target`, in pieces of some
  /// MiB, each checked as by check() before it goes there.
  Status pack(const WeightDescriptor &weight, PieceTarget &target);

private:
  /// False where it was marked before.
  bool markChecked(const WeightDescriptor &weight, const SlicedMatrix &matrix);
  Status result(const WeightDescriptor &weight,
                std::optional<int64_t> badRow) const;

  const MappedModelFiles &files;
  cpu::ThreadPool &pool;
  /// With their slices: whether of columns, and the bounds.
  std::set<std::tuple<const uint8_t *, Format, bool, std::vector<int64_t>>>
      checked;
  std::set<const uint8_t *> unchanged;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_WEIGHTPACKER_H
