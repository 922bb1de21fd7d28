//===- ProgramShape.h - what every target's program says of itself --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A descriptor (runtime/program) and the programs that executors of each device
// are made from are ProgramShapes, each with what it has besides.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_PROGRAMSHAPE_H
#define SLUICE_RUNTIME_DEVICE_PROGRAMSHAPE_H

#include "runtime/base/Status.h"
#include "runtime/device/StepPlan.h"

#include <cstdint>
#include <vector>

namespace sluice::device {

/// The shape of one layer's cached keys and values.
struct CacheShape {
  int64_t kvHeads = 0;
  int64_t headDim = 0;
};

/// One table of rotary frequencies; layers that rotate alike share it.
struct RopeTable {
  std::vector<float> inverseFrequencies; ///< one for each pair of dimensions
  float attentionFactor = 1;             ///< multiplies every cosine and sine
};

struct ProgramShape {
  /// Whether rows come in as tokens, and go out as logits; otherwise as rows of
  /// hiddenSize activations, from the stage before and to the one behind.
  bool hasEmbedding = true;
  bool hasOutput = true;

  /// How many programs compute it together, as a tensor-parallel group.
  int64_t members = 1;

  // Of the model that the program is of or is a part of.
  int64_t contextLength = 0; ///< positions are below it
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;

  // The arena holds rowFloats floats for each row of a step's capacity, then
  // outputFloats for each row whose logits are asked for.
  int64_t rowFloats = 0;
  int64_t outputFloats = 0;
  int64_t logitsOffset = 0; ///< output offset of logits[output][vocabSize]

  std::vector<CacheShape> caches;    ///< one for each layer that attends
  std::vector<RopeTable> ropeTables; ///< numbered as the program names them

  /// What a step does. A program for a GPU has its own form of it, and no tasks
  /// here.
  StepPlan step;

  /// What executors of every device ask of the sizes of a step. Errors: a
  /// number out of its range (products with the rows of a step stay far from
  /// overflow), logits that lie outside an output's floats.
  Status checkSizes() const;
};

/// Errors: a value that is not in [least, most].
Status checkRange(const char *what, int64_t value, int64_t min, int64_t max);

} // namespace sluice::device

#endif // SLUICE_RUNTIME_DEVICE_PROGRAMSHAPE_H
