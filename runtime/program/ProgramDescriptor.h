//===- ProgramDescriptor.h - the description of one program ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes which weights an emitted program reads and where they are in the
// model's files, the shapes of its caches, and the sizes of its buffers. It is
// a part of ExecutableDescriptor.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H
#define SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H

#include "runtime/base/Status.h"
#include "runtime/core/Rows.h"
#include "runtime/device/ProgramShape.h"
#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/WeightSlice.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A model's file, as it was when the program was compiled.
struct ModelFile {
  std::string path;     // as recorded; absolute
  uint64_t size = 0;    // bytes
  std::string identity; // fileIdentity() of its bytes
};

/// How a program uses a weight, which determines the weight's layout.
enum class WeightUse : uint8_t {
  Linear, // matrix product: packed into panels for the CPU
  Rows,   // table looked up by row (embeddings): used as stored
  Vector, // norm weights, biases: converted to f32
};

std::string_view weightUseName(WeightUse use);

/// The kind of device that a program's code is for.
enum class ProgramTarget : uint8_t { Cpu, Cuda };

std::string_view programTargetName(ProgramTarget target);

/// The place in a file of scales that are stored apart from their e4m3 numbers.
struct ScalesDescriptor {
  int64_t file = 0;
  uint64_t offset = 0;
  Format format = Format::F32;
  int64_t rows = 1; // of scales, as in ScaleGrid
  int64_t cols = 1;
  std::optional<uint64_t> digest = {}; // as in WeightDescriptor

  uint64_t bytes() const;
};

/// The place of a weight in the model's files. A tied table appears twice, once
/// for each of its uses.
struct WeightDescriptor {
  std::string name;
  int64_t file = 0;    // index into ExecutableDescriptor::files
  uint64_t offset = 0; // bytes from the file's start
  uint64_t bytes = 0;  // rows * storedRowBytes()
  int64_t rows = 0;    // as stored; Linear: [out][in], transposed: [in][out]
  int64_t cols = 0;
  Format stored = Format::F32; // in the file
  Format format = Format::F32; // in which the program computes
  bool transposed = false;     // Linear only
  WeightUse use = WeightUse::Vector;
  /// Only for the weight of a gate, which is Linear and of a Cuda program: the
  /// number of its partner, a weight of the same shape whose columns alternate
  /// with this weight's. -1 means none. The partner itself has no partner and
  /// no place of its own.
  int64_t partner = -1;
  WeightSlice slice = {}; // the program's part; only for Linear and Vector
  // Only if `stored` is E4M3 and just the numbers are at `offset`; Linear, not
  // transposed.
  std::optional<ScalesDescriptor> scales = {};
  /// ByteDigest of the weight's bytes in the file when the program was
  /// compiled. None if the file was missing, or had a hole in their place.
  std::optional<uint64_t> digest = {};

  /// Rows and columns, as stored, of the part that the program has.
  int64_t usedRows() const { return matrix(nullptr, nullptr).usedRows(); }
  int64_t usedCols() const { return matrix(nullptr, nullptr).usedCols(); }
  /// The bytes of a row in its file, or none if it is not a whole number of
  /// blocks.
  std::optional<uint64_t> storedRowBytes() const;
  /// Whether the program has all rows, in the form in which the file has them.
  bool isAsInFile() const { return slice.isWhole() && !scales; }
  /// Returns the part of the weight that the program has. The weight's bytes
  /// begin at `data`, and the bytes of its scales, if it has any apart, at
  /// `scalesData`. The result refers to this descriptor.
  SlicedMatrix matrix(const uint8_t *data, const uint8_t *scalesData) const;
};

/// Describes one emitted program for one target: a stage of a model, a whole
/// model, or a draft. In ExecutableDescriptor::programs, programs of one name
/// do the same for different targets.
struct ProgramDescriptor : device::ProgramShape {
  std::string name; // a part of a file's name
  ProgramTarget target = ProgramTarget::Cpu;
  std::string cpu; // ISA level: avx2, avx512, avx512vnni; empty for Cuda

  int64_t firstLayer = 0;
  int64_t layers = 0;

  int64_t checkpoints = 0; // of each step
  // The most rows of a step for which no stretch between checkpoints is
  // predicted to take longer than ExecutionPlan::maxLatency.
  int64_t stepRows = defaultStepRows;

  std::vector<WeightDescriptor> weights; // numbered as in the program

  /// Checks that every number is in its range and every index refers to
  /// something. Users of a parsed descriptor need not check these again. Part
  /// of ExecutableDescriptor::validate().
  Status validate(std::span<const ModelFile> files) const;

  /// Returns a hash of everything that determines the packed form of the
  /// weights: the weights, the identities of their files and the CPU level, but
  /// no paths.
  uint64_t packingHash(std::span<const ModelFile> files) const;

  /// Returns the bytes of cached keys and values for one token of one sequence,
  /// if each element takes `elementBytes`.
  int64_t cacheBytesPerToken(int64_t elementBytes) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H
