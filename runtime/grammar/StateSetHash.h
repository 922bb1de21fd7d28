//===- StateSetHash.h - hash of a list of states --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_STATESETHASH_H
#define SLUICE_RUNTIME_GRAMMAR_STATESETHASH_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::grammar {

/// Hashes a list of states, for maps from states of one automaton to the state
/// of another that stands for them. The order matters, so a list that means a
/// set must be sorted.
struct StateSetHash {
  size_t operator()(const std::vector<uint32_t> &states) const {
    uint64_t hash = states.size();
    for (uint32_t state : states)
      hash = (hash ^ state) * 0x9E3779B97F4A7C15 + (hash >> 29);
    return static_cast<size_t>(hash);
  }
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_STATESETHASH_H
