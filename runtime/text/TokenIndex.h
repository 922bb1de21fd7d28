//===- TokenIndex.h - from a token's spelling to its id -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_TOKENINDEX_H
#define SLUICE_RUNTIME_TEXT_TOKENINDEX_H

#include "runtime/text/TokenizerSpec.h"

#include <string_view>

namespace sluice::text {

/// A hash table with open addressing over the tokens of a description, which
/// must outlive it. Immutable once filled, then thread-safe.
class TokenIndex {
public:
  /// Makes room for `count` tokens.
  explicit TokenIndex(size_t count);

  /// Adds a token, or returns the id of the one that is spelt the same.
  std::optional<TokenId> insert(std::string_view text, TokenId id);

  std::optional<TokenId> find(std::string_view text) const;

  /// The length of the longest spelling, in bytes.
  size_t longest() const { return maxLength; }

private:
  struct Slot {
    std::string_view text;
    uint32_t hash = 0;
    TokenId id = -1; // -1: free
  };
  size_t findSlot(std::string_view text, uint64_t hash) const;

  std::vector<Slot> slots; // a power of two, at least half free
  size_t maxLength = 0;
};

/// What TokenizerSpec::validate checks, and the index of the tokens, which has
/// to be made for it anyway.
Expected<TokenIndex> validateAndIndex(const TokenizerSpec &spec);

/// A hash of some bytes; the same on every machine.
uint64_t hashBytes(std::string_view bytes);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENINDEX_H
