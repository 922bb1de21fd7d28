//===- DescribedProgram.cpp - a GPU's program from its descriptor ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/DescribedProgram.h"

#include <algorithm>

namespace sluice::cuda {

namespace {

StoredMatrix matrixOf(const WeightDescriptor &weight,
                      const MappedModelFiles *files) {
  static constexpr uint8_t unread = 0;
  const SlicedMatrix matrix =
      files ? files->matrix(weight) : weight.matrix(&unread, &unread);
  return {matrix.data,       weight.stored,     weight.format,
          matrix.usedRows(), matrix.usedCols(), matrix.scales,
          weight.slice,      weight.rows,       weight.cols};
}

/// Returns the number of the linear weight that shares its bytes with `table`,
/// such as an output layer tied to the embedding, or -1 if there is none.
int64_t tiedTo(const WeightDescriptor &table,
               std::span<const WeightDescriptor> others) {
  auto isPartner = [&](int64_t index) {
    return std::ranges::any_of(others, [&](const WeightDescriptor &each) {
      return each.partner == index;
    });
  };
  for (int64_t i = 0; i < std::ssize(others); ++i) {
    const WeightDescriptor &other = others[size_t(i)];
    if (other.use == WeightUse::Linear && !other.transposed &&
        other.partner < 0 && !isPartner(i) && other.file == table.file &&
        other.offset == table.offset && other.stored == table.stored &&
        other.format == table.format && other.rows == table.rows &&
        other.cols == table.cols && other.isAsInFile())
      return i;
  }
  return -1;
}

/// `others` are all weights of the program.
CudaWeight weightOf(const WeightDescriptor &weight,
                    std::span<const WeightDescriptor> others,
                    const MappedModelFiles *files) {
  StoredMatrix matrix = matrixOf(weight, files);
  switch (weight.use) {
  case WeightUse::Linear: {
    LinearWeight linear = {weight.name, matrix, weight.transposed, {}};
    if (weight.partner >= 0)
      linear.partner = matrixOf(others[size_t(weight.partner)], files);
    for (const WeightDescriptor &other : others)
      linear.isPartner |=
          other.partner >= 0 && &others[size_t(other.partner)] == &weight;
    return linear;
  }
  case WeightUse::Rows:
    return TableWeight{weight.name, matrix, tiedTo(weight, others)};
  case WeightUse::Vector:
    break;
  }
  return VectorWeight{weight.name, matrix};
}

} // namespace

CudaProgram describedProgram(const ProgramDescriptor &descriptor,
                             const MappedModelFiles *files) {
  CudaProgram program = {descriptor, {}, {}};
  for (const WeightDescriptor &weight : descriptor.weights)
    program.weights.push_back(weightOf(weight, descriptor.weights, files));
  return program;
}

} // namespace sluice::cuda
