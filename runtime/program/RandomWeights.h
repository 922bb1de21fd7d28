//===- RandomWeights.h - a program's weights, made of a seed --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How fast a model is depends on its shape alone. For speed tests its weights
// can be made in memory, as its files would have them: then no files are
// needed. What is here makes them in the host's memory; a GPU makes most of its
// own (device/cuda/weights/WeightMaker.h), of the same numbers.
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

/// A weight's numbers, of the seed: with a standard deviation of one over the
/// root of a product's inputs; norms about 1, biases about 0. They depend on
/// the seed and on the weight's place in the files, not on the program: those
/// of a stage, of a member of a group and of another target are the whole
/// model's. Pure.
RandomRows randomRows(const WeightDescriptor &weight, uint64_t seed);

/// Reading from several threads is safe.
class RandomWeights {
public:
  /// Addresses for the program's weights; no memory is taken yet. Of those that
  /// `elsewhere` says are made elsewhere, by their numbers, nothing is reserved
  /// unless others share their place; empty: there are none. Error: the system
  /// has not so many.
  static Expected<RandomWeights>
  reserve(const ProgramDescriptor &program,
          const std::vector<bool> &elsewhere = {});

  /// Writes the weights that have been reserved. Asks `cancelled`, which may be
  /// empty, now and then. Error: interrupted.
  Status fill(const ProgramDescriptor &program, uint64_t seed,
              cpu::ThreadPool &pool, const std::function<bool()> &cancelled);

  /// What stands for the bytes from `offset` of a file on, where a weight of
  /// the program, or its scales, begin; null: that is made elsewhere.
  const uint8_t *data(int64_t file, uint64_t offset) const;

private:
  using FileOffset = std::pair<int64_t, uint64_t>; // file and offset

  bool add(int64_t file, uint64_t offset, uint64_t bytes);

  cpu::ZeroedMemory memory;
  std::map<FileOffset, uint64_t> offsets; // tied weights have one
  uint64_t total = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_RANDOMWEIGHTS_H
