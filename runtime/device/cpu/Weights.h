//===- Weights.h - the types of weights that a step uses ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_WEIGHTS_H
#define SLUICE_RUNTIME_DEVICE_CPU_WEIGHTS_H

#include "runtime/device/cpu/linear/PackedWeight.h"
#include "runtime/formats/BlockFormat.h"

#include <cstdint>
#include <span>
#include <variant>

namespace sluice::cpu {

/// A table whose rows are read one at a time (use "rows"): an embedding. The
/// rows are contiguous and stored as in the file, rowBytes(format, cols) each.
struct EmbeddingTable {
  Format format;
  const uint8_t *data; ///< not owned; any alignment
  int64_t rows;
  int64_t cols; ///< a whole number of the format's blocks
};

/// A weight; its type corresponds to its use in the descriptor: "linear",
/// "rows" or "vector". Owns nothing. Vectors are aligned to 64 bytes.
using CpuWeight =
    std::variant<PackedWeight, EmbeddingTable, std::span<const float>>;

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_WEIGHTS_H
