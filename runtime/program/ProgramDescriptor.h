//===- ProgramDescriptor.h - what the runtime knows of a program ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which weights an emitted program reads and where they lie in the model's
// files, the shapes of its caches, the size of its buffers. Programs are part
// of what ExecutableDescriptor.h describes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H
#define SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H

#include "runtime/base/Status.h"
#include "runtime/device/ProgramShape.h"
#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/WeightSlice.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A model's file as it was when the program was compiled.
struct ModelFile {
  std::string path;     // as recorded: absolute
  uint64_t size = 0;    // bytes
  std::string identity; // fileIdentity() of its bytes
};

/// What the program does with a weight, which decides how it is laid out.
enum class WeightUse : uint8_t {
  Linear, // matrix product: packed into panels for the CPU
  Rows,   // table looked up by row (embeddings): used as stored
  Vector, // norm weights, biases: converted to f32
};

std::string_view weightUseName(WeightUse use);

/// What a program's code is for.
enum class ProgramTarget : uint8_t { Cpu, Cuda };

std::string_view programTargetName(ProgramTarget target);

/// The scales of e4m3 numbers that have none beside them, in a file too.
struct ScalesDescriptor {
  int64_t file = 0;
  uint64_t offset = 0;
  Format format = Format::F32;
  int64_t rows = 1; // of scales, as ScaleGrid has them
  int64_t cols = 1;
  std::optional<uint64_t> digest = {}; // as WeightDescriptor has it

  uint64_t bytes() const;
};

/// A weight's place in the model's files. A tied table appears twice, once for
/// each of its uses.
struct WeightDescriptor {
  std::string name;
  int64_t file = 0;    // index into ExecutableDescriptor::files
  uint64_t offset = 0; // bytes from the file's start
  uint64_t bytes = 0;  // rows * storedRowBytes()
  int64_t rows = 0;    // as stored; Linear: [out][in], transposed: [in][out]
  int64_t cols = 0;
  Format stored = Format::F32; // in the file
  Format format = Format::F32; // that the program computes in
  bool transposed = false;     // Linear only
  WeightUse use = WeightUse::Vector;
  /// Linear of a Cuda program, computed with a gate: the number of the weight
  /// of the same shape whose columns alternate with this one's, the gate's; -1:
  /// none. The partner has no partner, and no place of its own.
  int64_t partner = -1;
  WeightSlice slice = {}; // what the program has of it; Linear and Vector only
  // Stored is E4M3, and only numbers lie at `offset`; Linear, not transposed.
  std::optional<ScalesDescriptor> scales = {};
  /// ByteDigest of its `bytes` when the program was compiled; nothing: the file
  /// was not there, or has a hole in place of them.
  std::optional<uint64_t> digest = {};

  /// As stored, of what the program has.
  int64_t usedRows() const { return matrix(nullptr, nullptr).usedRows(); }
  int64_t usedCols() const { return matrix(nullptr, nullptr).usedCols(); }
  /// Of a row in its file; nothing where it is not whole blocks.
  std::optional<uint64_t> storedRowBytes() const;
  /// Whether the program has rows as they lie in the file, and all of them.
  bool isAsInFile() const { return slice.isWhole() && !scales; }
  /// The weight whose bytes begin at `data`, and its scales apart at
  /// `scalesData`; refers to this.
  SlicedMatrix matrix(const uint8_t *data, const uint8_t *scalesData) const;
};

/// What the runtime needs to know of one emitted program: a stage of a model, a
/// whole model, or a draft, for one target. One of
/// ExecutableDescriptor::programs, where programs of one name do the same.
struct ProgramDescriptor : device::ProgramShape {
  // Part of a file's name; of a program for CUDA, its name in
  // sluice_program_graph_table.
  std::string name;
  ProgramTarget target = ProgramTarget::Cpu;
  std::string cpu; // ISA level: avx2, avx512, avx512vnni; Cuda: empty

  int64_t firstLayer = 0;
  int64_t layers = 0;

  int64_t checkpoints = 0; // that a step of it passes
  // The most rows of a step with which no stretch between checkpoints takes
  // longer than ExecutionPlan::maxLatency, as predicted.
  int64_t stepRows = 512;

  std::vector<WeightDescriptor> weights; // numbered as the program names them

  /// Checks every number against its range and every index against what it
  /// indexes, so that users of a parsed descriptor need not. Part of
  /// ExecutableDescriptor::validate().
  Status validate(std::span<const ModelFile> files) const;

  /// A hash of everything that decides the packed form of the weights: they,
  /// the identities of their files and the CPU level, but no paths.
  uint64_t packingHash(std::span<const ModelFile> files) const;

  /// Bytes of cached keys and values for one token of one sequence, at
  /// `elementBytes` for each number.
  int64_t cacheBytesPerToken(int64_t elementBytes) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H
