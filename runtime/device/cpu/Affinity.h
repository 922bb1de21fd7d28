//===- Affinity.h - the processors that a thread may run on ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_AFFINITY_H
#define SLUICE_RUNTIME_DEVICE_CPU_AFFINITY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::cpu {

/// Hardware threads by the kernel's numbers, in ascending order.
using ProcessorSet = std::vector<int32_t>;

/// An affinity mask in the kernel's form, for any number of processors.
class AffinityMask {
public:
  /// Makes an empty mask.
  AffinityMask() = default;
  explicit AffinityMask(const ProcessorSet &processors);

  /// Returns the calling thread's mask, or an empty one if it cannot be read.
  static AffinityMask ofThisThread();
  ProcessorSet processors() const;

  /// Reads the calling thread's mask into this one, which must have room for as
  /// many processors. Returns whether that succeeded. Allocates nothing.
  bool readAgain();
  /// Makes this the calling thread's mask. If the kernel refuses, because none
  /// of the processors exists any more, the thread keeps the mask that it has.
  void apply() const;

private:
  size_t bytes() const { return words.size() * sizeof(unsigned long); }

  std::vector<unsigned long> words; ///< in the layout of cpu_set_t
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_AFFINITY_H
