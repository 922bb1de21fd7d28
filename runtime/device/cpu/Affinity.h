//===- Affinity.h - which processors a thread may run on ------------------===//
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

/// Hardware threads by the kernel's numbers, ascending.
using ProcessorSet = std::vector<int32_t>;

/// A mask as the kernel has it, of any number of processors.
class AffinityMask {
public:
  /// Of no processor.
  AffinityMask() = default;
  explicit AffinityMask(const ProcessorSet &processors);

  /// Of the calling thread; where it cannot be read, of no processor.
  static AffinityMask ofThisThread();
  ProcessorSet processors() const;

  /// Reads the calling thread's mask again, of as many processors as this one
  /// has room for; allocates nothing. Whether it could.
  bool readAgain();
  /// Makes it the calling thread's mask. Where the kernel refuses, which it
  /// does when none of the processors is there any more, the thread keeps the
  /// one it has.
  void apply() const;

private:
  size_t bytes() const { return words.size() * sizeof(unsigned long); }

  std::vector<unsigned long> words; ///< as in cpu_set_t
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_AFFINITY_H
