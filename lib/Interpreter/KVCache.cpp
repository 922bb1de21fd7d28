//===- KVCache.cpp - one layer's cached keys and values -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/KVCache.h"

#include <cassert>

using namespace sluice;
using namespace sluice::interpreter;

void KVCache::store(SequenceId sequence, int64_t position,
                    std::span<const float> key, std::span<const float> value) {
  Entries &entries = sequences[sequence];
  entries.numHeads = numHeads;
  entries.headSize = headSize;
  size_t end = position * numHeads * headSize;
  assert(end <= entries.keys.size() && "a cache has no holes");
  entries.keys.resize(end);
  entries.keys.insert(entries.keys.end(), key.begin(), key.end());
  entries.values.resize(end);
  entries.values.insert(entries.values.end(), value.begin(), value.end());
}
