//===- ModelShape.h - models that are described ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models that are described and not there: a 70B that a tiny model plays in an
// emulated run, or that the simulator runs. The ops of a layer are those that
// importing such a model makes, so a described model costs what a real one of
// its shape does.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_MODELSHAPE_H
#define SLUICE_RUNTIME_CLUSTER_MODELSHAPE_H

#include "runtime/base/Status.h"
#include "runtime/cluster/CostModel.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::cluster {

struct ModelShape {
  std::string name;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t feedForward = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headDim = 0;
  int64_t vocab = 0;
  /// Of matrix weights, scales included: 4.5 is q4_k. Vectors are f32.
  double bitsPerWeight = 16;
  /// Whether the feed-forward part is gated: three matrices instead of two.
  bool gated = true;
  /// Whether the output layer uses the embedding's table.
  bool tied = false;
  bool operator==(const ModelShape &) const = default;

  /// Errors: a number that is not positive or is too large to be meant
  /// (layers 4096, widths 2^20, vocab 2^22), heads that are no multiple of the
  /// key heads, bits outside [1, 32].
  Status validate() const;

  /// Parameters in all.
  int64_t parameters() const;

  /// What its parts cost. The shape is valid.
  ModelCost cost() const;
};

/// Bits of a weight in a format: those of BlockFormat.h, and q2_k and q3_k,
/// which only descriptions use.
std::optional<double> bitsOfFormat(std::string_view format);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_MODELSHAPE_H
