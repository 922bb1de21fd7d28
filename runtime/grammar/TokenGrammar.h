//===- TokenGrammar.h - a grammar over a vocabulary -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_TOKENGRAMMAR_H
#define SLUICE_RUNTIME_GRAMMAR_TOKENGRAMMAR_H

#include "runtime/grammar/Grammar.h"
#include "runtime/grammar/TokenTrie.h"

#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace sluice::grammar {

/// A position of a text in a rule and, if `caller` is set, in the rule that
/// called it. Internal to runtime/grammar.
struct RulePlace {
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  uint32_t state;
  uint32_t count;         ///< the count so far, in a counted rule
  uint32_t caller = none; ///< the state to which the rule returns
  bool operator==(const RulePlace &) const = default;
};

/// The part of a mask that a place decides by its rule, or by the rule's
/// caller: the tokens that the rest of the rule takes as a whole, and the nodes
/// of the trie at which the rule can end before a token does. What may follow
/// at these nodes depends on the stack. Internal to runtime/grammar.
struct StateMask {
  struct Nodes {
    uint32_t first;
    uint32_t last; ///< exclusive
  };
  std::vector<uint64_t> words; ///< a bit for each token; empty if few are set
  std::vector<TokenId> tokens; ///< the tokens, if they are few
  std::vector<Nodes> returns;
  size_t returnCount = 0; ///< the number of nodes in `returns`

  void addReturns(uint32_t first, uint32_t last);
  size_t bytes() const;
};

/// A grammar over the tokens of one vocabulary, with a cache of masks that all
/// texts of the grammar share. Make one for each grammar in use. Thread-safe.
class TokenGrammar {
public:
  static constexpr size_t defaultCacheBytes = size_t(16) << 20;

  TokenGrammar(Grammar grammar, std::shared_ptr<const TokenTrie> trie,
               size_t cacheBytes = defaultCacheBytes);

  const Grammar &grammar() const { return rules; }
  const TokenTrie &trie() const { return *vocabulary; }
  /// Returns how many words of 64 bits a mask over the vocabulary has.
  size_t maskWords() const { return (vocabulary->vocabularySize() + 63) / 64; }

  /// Returns how many bytes the cache holds now; at most `cacheBytes`.
  size_t cachedBytes() const;

  /// Returns the mask of a place, from the cache or newly made. Errors: it
  /// takes too many entries, or the meter ends the work. Internal to
  /// runtime/grammar.
  Expected<std::shared_ptr<const StateMask>> maskOf(RulePlace place,
                                                    WorkMeter &meter) const;
  static Status tooAmbiguous();

private:
  using Mask = std::shared_ptr<const StateMask>;
  struct Entry {
    RulePlace place;
    Mask mask;
  };
  struct PlaceHash {
    size_t operator()(const RulePlace &place) const;
  };

  uint32_t countThatMatters(uint32_t state, uint32_t count) const;
  Expected<Mask> makeMask(RulePlace place, WorkMeter &meter) const;
  Mask find(const RulePlace &place) const;
  void keep(const RulePlace &place, const Mask &mask) const;

  Grammar rules;
  std::shared_ptr<const TokenTrie> vocabulary;
  size_t cacheLimit;

  mutable std::mutex mutex;
  mutable std::list<Entry> byUse; ///< most recently used first
  mutable std::unordered_map<RulePlace, std::list<Entry>::iterator, PlaceHash>
      entries;
  mutable size_t held = 0; ///< bytes of all masks
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_TOKENGRAMMAR_H
