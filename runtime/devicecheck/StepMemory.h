//===- StepMemory.h - the device memory that a step leaves ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Covers a model's memory after its weights: caches, values, partial sums,
// tables. Two devices that run the same step with the same limits have the same
// bytes there, except for the addresses of pages, which are left out.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICECHECK_STEPMEMORY_H
#define SLUICE_RUNTIME_DEVICECHECK_STEPMEMORY_H

#include "runtime/device/cuda/CudaExecutor.h"

#include <string>
#include <vector>

namespace sluice::devicecheck {

using HostBytes = std::vector<uint8_t>;

/// How two states of the memory differ.
struct Difference {
  bool isEqual = true; ///< bit for bit
  /// The largest difference of numbers that the kernel has written, relative to
  /// the largest of these numbers; infinite if one is not a finite number.
  double largest = 0;
  /// Offset of the first byte that differs, from the start of the memory.
  uint64_t at = 0;
};

/// Accesses the memory of one executor, on its device. Thread-compatible; used
/// by the thread that runs the steps, between steps and after their nodes.
class StepMemory {
public:
  /// `executor` and `device` outlive it.
  StepMemory(cuda::CudaExecutor &executor, cuda::Device &device);

  Expected<HostBytes> read() const;
  /// Restores a state of the memory that read() has returned, for this device
  /// or another one.
  Status write(const HostBytes &bytes) const;

  /// Returns the bytes of the weights and of the rope tables. They are the same
  /// on two devices that have made them from the same seed.
  Expected<HostBytes> readWeights() const;
  Status writeWeights(const HostBytes &bytes) const;

  /// Returns how `found` differs from `expected`. Both were read after the same
  /// kernel, and `before` was read before it. Words that hold floats are
  /// compared as floats.
  Difference compare(const HostBytes &found, const HostBytes &expected,
                     const HostBytes &before) const;

  /// Returns what lies at a byte of the memory: "values + 4096".
  std::string placeOf(uint64_t at) const;
  /// Returns what lies at a byte of the weights.
  std::string placeInWeights(uint64_t at) const { return describe(at); }
  /// Returns the operands of a kernel that are addresses in this memory:
  /// "weight = weight blk.0.attn_q + 0, y = values + 4096". Empty if the node
  /// is not a kernel.
  std::string operandsOf(const cuda::GraphNode &node) const;

private:
  struct Region {
    uint64_t begin; ///< an offset in the arena
    std::string name;
  };
  std::string describe(uint64_t offset) const;
  Expected<HostBytes> readAt(uint64_t offset, uint64_t bytes) const;
  Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) const;

  cuda::Device &device;
  const cuda::MemoryPlan &plan;
  cuda::DeviceAddress arena;
  cuda::Stream stream;
  uint64_t begin; ///< start of the memory in the arena
  /// The part of the memory that holds addresses, which differ from device to
  /// device.
  uint64_t addressesBegin, addressesEnd;
  std::vector<Region> regions; ///< ascending
};

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_STEPMEMORY_H
