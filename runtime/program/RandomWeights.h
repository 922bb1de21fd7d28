//===- RandomWeights.h - weights made from a seed -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The speed of a model depends on its shape alone. For speed tests, weights can
// be made in memory in the form of the model's files, and no files are needed.
// This class makes them in the host's memory. A GPU makes most of its weights
// itself (device/cuda/weights/WeightMaker.h), with the same numbers.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_RANDOMWEIGHTS_H
#define SLUICE_RUNTIME_PROGRAM_RANDOMWEIGHTS_H

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/ZeroedMemory.h"
#include "runtime/formats/RandomRow.h"
#include "runtime/program/ProgramDescriptor.h"

#include <functional>
#include <map>

namespace sluice {

/// Returns the description of a weight's random numbers. Their standard
/// deviation is one over the square root of the number of inputs; norms are
/// about 1 and biases about 0. The numbers depend on the seed and on the
/// weight's place in the files, not on the program. Therefore a stage, a member
/// of a group and a program for another target have the numbers of the whole
/// model. Pure.
RandomRows randomRows(const WeightDescriptor &weight, uint64_t seed);

/// Owns the random weights of a program. Several threads may read at the same
/// time.
class RandomWeights {
public:
  /// Reserves addresses for the program's weights, without using memory yet.
  /// `elsewhere` says for each weight whether it is made elsewhere; such a
  /// weight is skipped unless another weight shares its place. If it is empty,
  /// all are made here. Error: the system does not have enough addresses.
  static Expected<RandomWeights>
  reserve(const ProgramDescriptor &program,
          const std::vector<bool> &elsewhere = {});

  /// Writes the weights that have been reserved. Calls `cancelled`, which may
  /// be empty, now and then. Error: the work was cancelled.
  Status fill(const ProgramDescriptor &program, uint64_t seed,
              cpu::ThreadPool &pool, const std::function<bool()> &cancelled);

  /// Returns the bytes that stand for the file's content from `offset` on;
  /// `offset` must be where a weight of the program, or its scales, begin.
  /// Returns null if they are made elsewhere.
  const uint8_t *data(int64_t file, uint64_t offset) const;

private:
  using FileOffset = std::pair<int64_t, uint64_t>; // file and offset

  bool add(int64_t file, uint64_t offset, uint64_t bytes);

  cpu::ZeroedMemory memory;
  std::map<FileOffset, uint64_t> offsets; // tied weights have one entry
  uint64_t total = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_RANDOMWEIGHTS_H
