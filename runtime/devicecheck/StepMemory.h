//===- StepMemory.h - what a step leaves in device memory -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of a model behind its weights: caches, values, partial sums,
// tables. Two devices that run the same step with the same limits have the same
// bytes there but for the addresses of pages, which are left out.
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
  /// Of numbers that the kernel has written, in units of the largest of them;
  /// infinite where one is no number.
  double largest = 0;
  uint64_t at = 0; ///< of the first byte that differs, from the memory's begin
};

/// The memory of one executor, on its device. Thread-compatible; for the thread
/// that runs its steps, between them and behind their nodes.
class StepMemory {
public:
  /// `executor` and `device` outlive it.
  StepMemory(cuda::CudaExecutor &executor, cuda::Device &device);

  Expected<HostBytes> read() const;
  /// Brings the memory to a state that read() has returned, of this device or
  /// of another one.
  Status write(const HostBytes &bytes) const;

  /// Of the weights, tables of rotations included: the same on two devices that
  /// have made them of the same seed.
  Expected<HostBytes> readWeights() const;
  Status writeWeights(const HostBytes &bytes) const;

  /// How `found` differs from `expected`, both read behind the same kernel;
  /// `before`: in front of it. Words are compared as floats, where they are.
  Difference compare(const HostBytes &found, const HostBytes &expected,
                     const HostBytes &before) const;

  /// What lies at a byte of the memory: "values + 4096".
  std::string placeOf(uint64_t at) const;
  /// And at a byte of the weights.
  std::string placeInWeights(uint64_t at) const { return describe(at); }
  /// The operands of a kernel, as far as they are addresses here: "weight =
  /// weight blk.0.attn_q + 0, y = values + 4096". Empty of what is no kernel.
  std::string operandsOf(const cuda::GraphNode &node) const;

private:
  struct Region {
    uint64_t begin; ///< offset in the arena
    std::string name;
  };
  std::string describe(uint64_t offset) const;
  Expected<HostBytes> readAt(uint64_t offset, uint64_t bytes) const;
  Status writeAt(uint64_t offset, std::span<const uint8_t> bytes) const;

  cuda::Device &device;
  const cuda::MemoryPlan &plan;
  cuda::DeviceAddress arena;
  cuda::Stream stream;
  uint64_t begin; ///< of the memory in the arena
  /// Addresses, which differ from device to device: in the memory.
  uint64_t addressesBegin, addressesEnd;
  std::vector<Region> regions; ///< ascending
};

} // namespace sluice::devicecheck

#endif // SLUICE_RUNTIME_DEVICECHECK_STEPMEMORY_H
