//===- GrammarState.h - the state of a text in its grammar ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the tokens of a text follow a grammar:
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
struct Workspace;

/// The state of a text in its grammar. Copies share their stacks under a lock,
/// so a copy costs a few words, whatever the length and depth of the text.
/// Thread-compatible; moreover, one thread can fill the mask of a state while
/// another copies it, and advances and destroys the copies.
class GrammarState {
public:
  /// Starts a new text.
  explicit GrammarState(std::shared_ptr<const TokenGrammar> grammar);
  GrammarState(const GrammarState &other);
  GrammarState(GrammarState &&other) noexcept;
  GrammarState &operator=(const GrammarState &other);
  GrammarState &operator=(GrammarState &&other) noexcept;
  ~GrammarState();

  /// Returns whether `token` may come next. An end token may come if
  /// isComplete(). After an end token no token may come, and no token outside
  /// the vocabulary ever may.
  bool accepts(TokenId token) const;

  /// Appends `token` to the text. If accepts() is false for it, returns false
  /// and changes nothing.
  bool advance(TokenId token);

  /// Returns whether the grammar matches the text so far.
  bool isComplete() const;

  /// Returns in how many ways the text so far can be read; 1 for most grammars.
  size_t readings() const;

  /// Returns whether an end token has been appended.
  bool hasEnded() const { return ended; }

  /// Sets bit t % 64 of word t / 64 of `bits` for each token t that may come
  /// next, and clears the others. `bits` has maskWords() words. Takes a few
  /// microseconds if the masks of the places in the rules (RulePlace) at which
  /// the text stands are cached (bench/GrammarBench.cpp).
  ///
  /// Errors: no token may come next (the vocabulary lacks the bytes that the
  /// grammar needs, or the text has ended), or the grammar is too ambiguous to
  /// be followed in reasonable time. If a text can be read in nearly maxItems
  /// ways, or is nested in nearly maxStackDepth rules (GrammarLimits.h),
  /// advance() may refuse a token that the mask allows.
  Status fillMask(std::span<uint64_t> bits) const;
  /// Like fillMask() above, with another limit than maxMaskSteps. The masks of
  /// places that were made before the meter ended the work stay cached, so
  /// another call goes on from there.
  Status fillMask(std::span<uint64_t> bits, WorkMeter &meter) const;

private:
  struct Family;

  bool matchToken(TokenId token, GrammarMatcher &matcher, WorkMeter &meter,
                  size_t &begin) const;
  void hold(Workspace &space, size_t begin);
  void addReferences() const;
  void releaseItems();
  Status addReturns(Workspace &space, std::span<uint64_t> bits,
                    WorkMeter &meter) const;

  std::shared_ptr<const TokenGrammar> grammar;
  /// Shared by the state and its copies.
  std::shared_ptr<Family> family;
  std::vector<MatchItem> items; ///< each holds a reference to its entry
  bool ended = false;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARSTATE_H
