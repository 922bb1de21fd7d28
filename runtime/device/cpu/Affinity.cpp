//===- Affinity.cpp - the processors that a thread may run on -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Affinity.h"

#include <climits>
#include <sched.h>

namespace sluice::cpu {

namespace {

constexpr int32_t wordBits = sizeof(unsigned long) * CHAR_BIT;
/// No kernel supports more.
constexpr size_t maxProcessors = size_t{1} << 20;

} // namespace

AffinityMask::AffinityMask(const ProcessorSet &processors) {
  if (processors.empty())
    return;
  words.resize(static_cast<size_t>(processors.back() / wordBits + 1));
  for (int32_t processor : processors)
    words[static_cast<size_t>(processor / wordBits)] |=
        1UL << (processor % wordBits);
}

AffinityMask AffinityMask::ofThisThread() {
  AffinityMask mask;
  // The kernel refuses a mask that is smaller than its own, so this tries ever
  // larger ones.
  for (size_t processors = CPU_SETSIZE; processors <= maxProcessors;
       processors *= 2) {
    mask.words.assign(processors / wordBits, 0);
    if (mask.readAgain())
      return mask;
  }
  return {};
}

bool AffinityMask::readAgain() {
  return !words.empty() &&
         ::sched_getaffinity(0, bytes(),
                             reinterpret_cast<cpu_set_t *>(words.data())) == 0;
}

void AffinityMask::apply() const {
  if (!words.empty())
    (void)::sched_setaffinity(
        0, bytes(), reinterpret_cast<const cpu_set_t *>(words.data()));
}

ProcessorSet AffinityMask::processors() const {
  ProcessorSet set;
  for (size_t word = 0; word < words.size(); ++word)
    for (int32_t bit = 0; bit < wordBits; ++bit)
      if (words[word] >> bit & 1)
        set.push_back(static_cast<int32_t>(word) * wordBits + bit);
  return set;
}

} // namespace sluice::cpu
