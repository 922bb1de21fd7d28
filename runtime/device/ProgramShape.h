//===- ProgramShape.h - the part of a program common to all devices -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ProgramShape is what the programs of all devices have in common. A
// program's descriptor (runtime/program) and each device's type of program
// derive from it and add their own members.
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

/// The sizes, caches, tables and plan of one program.
struct ProgramShape {
  /// Whether rows enter as tokens and leave as logits. Otherwise they enter and
  /// leave as hiddenSize activations each, from the previous stage and to the
  /// next one.
  bool hasEmbedding = true;
  bool hasOutput = true;

  /// How many programs compute it together, as a tensor-parallel group.
  int64_t members = 1;

  // Of the model that the program is of or is a part of.
  int64_t contextLength = 0; ///< positions are below it
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;

  // The arena holds rowFloats floats for each row of a step's capacity, then
  // outputFloats for each output of its capacity.
  int64_t rowFloats = 0;
  int64_t outputFloats = 0;
  int64_t logitsOffset = 0; ///< output offset of logits[output][vocabSize]

  std::vector<CacheShape> caches;    ///< one for each layer that attends
  std::vector<RopeTable> ropeTables; ///< numbered as in the program

  /// The tasks of a step.
  StepPlan step;

  /// Checks the sizes that matter to the executors of every device. Errors: a
  /// number is out of its range (so that products with the rows of a step stay
  /// far from overflow); the logits lie outside an output's floats.
  Status checkSizes() const;
};

/// Checks that `value` is in [min, max]; `what` names it in the error.
Status checkRange(const char *what, int64_t value, int64_t min, int64_t max);

} // namespace sluice::device

#endif // SLUICE_RUNTIME_DEVICE_PROGRAMSHAPE_H
