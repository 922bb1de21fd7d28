//===- ProgramDescriptor.h - what an executable knows of itself -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler emits native code and, beside it, one JSON constant: which
// weights the code reads and where they lie in the model's files, the shapes of
// its caches, the size of its buffers. The compiler writes that constant and
// the runtime reads it, both through this file, so the two can not drift apart.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H
#define SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H

#include "runtime/base/Status.h"
#include "runtime/formats/BlockFormat.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The shape of one layer's cached keys and values.
struct CacheShape {
  int64_t kvHeads = 0;
  int64_t headDim = 0;
};

/// One table of rotary frequencies; layers that rotate alike share it.
struct RopeTable {
  std::vector<float> inverseFrequencies; // [rotaryDim / 2]
  float attentionFactor = 1.0f;          // multiplies every cosine and sine
};

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

/// A weight's place in the model's files. A tied table appears twice, once for
/// each of its uses.
struct WeightDescriptor {
  std::string name;
  int64_t file = 0;    // index into ProgramDescriptor::files
  uint64_t offset = 0; // bytes from the file's start
  uint64_t bytes = 0;  // rows * rowBytes(stored, cols)
  int64_t rows = 0;    // as stored; Linear: [out][in], transposed: [in][out]
  int64_t cols = 0;
  Format stored = Format::F32; // in the file
  Format format = Format::F32; // that the program computes in
  bool transposed = false;     // Linear only
  WeightUse use = WeightUse::Vector;
};

/// Everything the runtime needs to know of an emitted program.
struct ProgramDescriptor {
  /// The version of this structure's JSON form, and of the interface between
  /// emitted code and the runtime.
  static constexpr int64_t formatVersion = 1;

  std::string name;
  std::string architecture;
  std::string quantization; // as shown to people: "q8_0", "f16"
  std::string cpu;          // ISA level: avx2, avx512, avx512vnni

  int64_t contextLength = 0;
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t layers = 0;

  // The arena holds rowFloats floats for each row of a step's capacity, then
  // outputFloats for each row whose logits are asked for.
  int64_t rowFloats = 0;
  int64_t outputFloats = 0;
  int64_t logitsOffset = 0; // in floats per output row: logits[output][vocab]

  std::vector<CacheShape> caches;    // one per attending layer
  std::vector<RopeTable> ropeTables; // numbered as the program names them
  std::vector<ModelFile> files;
  std::vector<WeightDescriptor> weights; // numbered as the program names them
  std::vector<int32_t> eosTokens;
  std::vector<std::string> phases; // that the compiler went through
  bool embedded = false;           // packed weights lie in the executable

  /// Reads the JSON form. Errors: not JSON, a member that is missing, of the
  /// wrong type or out of its range, named.
  static Expected<ProgramDescriptor> parse(std::string_view json);

  /// Writes the JSON form. Errors: what validate() finds, text that is not
  /// UTF-8.
  Expected<std::string> toJson() const;

  /// Checks every number against its range and every index against what it
  /// indexes, so that users of a parsed descriptor need not.
  Status validate() const;

  /// A hash of everything that decides the packed form of the weights: they,
  /// the identities of their files and the CPU level, but no paths.
  uint64_t packingHash() const;

  /// Elements of all weights, a tied one counted once.
  int64_t parameterCount() const;

  /// Bytes of cached keys and values for one token of one sequence, at
  /// `elementBytes` for each number.
  int64_t cacheBytesPerToken(int64_t elementBytes) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PROGRAMDESCRIPTOR_H
