//===- ModelShape.h - models that exist only as descriptions --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes a model that does not exist as files, such as a 70B model that a
// tiny model stands for in an emulated run, or that the simulator runs. The ops
// of its layers are those that importing such a model makes, so it costs the
// same as a real model of its shape.
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
  /// Bits of a matrix weight, including scales: 4.5 is q4_k. Vectors are f32.
  double bitsPerWeight = 16;
  /// Whether the feed-forward part is gated: three matrices instead of two.
  bool gated = true;
  /// Whether the output layer uses the embedding's table.
  bool tied = false;
  bool operator==(const ModelShape &) const = default;

  /// Fails if a number is not positive or implausibly large (layers 4096,
  /// widths 2^20, vocab 2^22), heads are not a multiple of the key heads, or
  /// bits are outside [1, 32].
  Status validate() const;

  /// Returns the number of parameters.
  int64_t parameters() const;

  /// Returns the costs of the model's parts. The shape must be valid.
  ModelCost cost() const;
};

/// Returns the bits of a weight in a format: one of BlockFormat.h, or q2_k or
/// q3_k, which only descriptions use.
std::optional<double> bitsOfFormat(std::string_view format);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_MODELSHAPE_H
