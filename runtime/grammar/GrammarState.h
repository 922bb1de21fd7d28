//===- GrammarState.h - where a text is in its grammar --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   auto grammar = std::make_shared<const TokenGrammar>(*parsed, trie);
//   GrammarState state(grammar);
//   std::vector<uint64_t> mask(grammar->maskWords());
//   for each token:
//     if (Status s = state.fillMask(mask); !s.ok()) return s;
//     token = sample(logits, mask);
//     if (!state.advance(token)) return ...;
//     if (state.hasEnded()) break;
//
//   GrammarState guess = state;             // a branch of a tree of guesses
//   guess.advance(guessed);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARSTATE_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARSTATE_H

#include "runtime/grammar/TokenGrammar.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::grammar {

struct MatchItem;
class GrammarMatcher;

/// Where a text is in its grammar. Copies share their stacks, under a lock: a
/// copy costs a few words, whatever the text's length and depth.
/// Thread-compatible: one thread can make a mask of a state while another
/// copies it, and advances and drops the copies.
class GrammarState {
public:
  /// At the start of a text.
  explicit GrammarState(std::shared_ptr<const TokenGrammar> grammar);
  GrammarState(const GrammarState &other);
  GrammarState(GrammarState &&other) noexcept;
  GrammarState &operator=(const GrammarState &other);
  GrammarState &operator=(GrammarState &&other) noexcept;
  ~GrammarState();

  /// Whether `token` may come next. An end token may where isComplete().
  /// False for every token after an end token, and for ids outside of the
  /// vocabulary.
  bool accepts(TokenId token) const;

  /// Takes `token`. False, and nothing changes, where accepts() says no.
  bool advance(TokenId token);

  /// The text so far is one that the grammar matches.
  bool isComplete() const;

  /// In how many ways the text so far can be read; 1 for most grammars.
  size_t readings() const;

  /// An end token has been taken.
  bool hasEnded() const { return ended; }

  /// Sets bit t % 64 of word t / 64 of `bits` for each token t that may come
  /// next, and clears the others; `bits` has maskWords() words. Time: a few
  /// microseconds with the masks of its places cached (bench/GrammarBench.cpp).
  /// Errors: no token may come next (the vocabulary lacks the bytes that the
  /// grammar asks for, or the text has ended), or the grammar is too ambiguous
  /// to be followed in reasonable time. Where a text can be read in nearly
  /// maxItems ways, or lies in nearly maxStackDepth rules (GrammarLimits.h), a
  /// token that the mask allows may still be one that advance() refuses.
  Status fillMask(std::span<uint64_t> bits) const;
  /// The same with less, or more, than maxMaskSteps. Masks of places that are
  /// made before the meter ends the work are kept, so that another call begins
  /// behind them.
  Status fillMask(std::span<uint64_t> bits, WorkMeter &meter) const;

private:
  struct Family;

  bool matchToken(TokenId token, GrammarMatcher &matcher, WorkMeter &meter,
                  size_t &begin) const;
  void hold(GrammarMatcher &matcher, size_t begin);
  void addReferences() const;
  void releaseItems();
  Status addReturns(std::span<uint64_t> bits, WorkMeter &meter) const;

  std::shared_ptr<const TokenGrammar> grammar;
  std::shared_ptr<Family> family; ///< the state's, and its copies'
  std::vector<MatchItem> items;   ///< each holds a reference to its entry
  bool ended = false;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARSTATE_H
