//===- TokenIndex.h - maps a token's spelling to its id -------------------===//
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

/// A hash table with open addressing over the tokens of a spec, which must
/// outlive it. Immutable once filled, then thread-safe.
class TokenIndex {
public:
  /// Makes room for `count` tokens.
  explicit TokenIndex(size_t count);

  /// Adds a token; if there is one of the same spelling, adds nothing and
  /// returns its id.
  std::optional<TokenId> insert(std::string_view text, TokenId id);

  std::optional<TokenId> find(std::string_view text) const;

  /// Returns the length of the longest spelling, in bytes.
  size_t longest() const { return maxLength; }

private:
  struct Slot {
    std::string_view text;
    uint32_t hash = 0;
    TokenId id = -1; // -1 if free
  };
  size_t findSlot(std::string_view text, uint64_t hash) const;

  std::vector<Slot> slots; // the size is a power of two, at least half free
  size_t maxLength = 0;
};

/// Checks what TokenizerSpec::validate() checks, and returns the index of the
/// tokens, which the check has to build.
Expected<TokenIndex> validateAndIndex(const TokenizerSpec &spec);

/// Returns a hash of `bytes` that is the same on every machine.
uint64_t hashBytes(std::string_view bytes);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENINDEX_H
