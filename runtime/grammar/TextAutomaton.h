//===- TextAutomaton.h - sets of texts that can be combined ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deterministic automata over characters: what patterns, formats and ranges of
// numbers become, because those can be combined. Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_TEXTAUTOMATON_H
#define SLUICE_RUNTIME_GRAMMAR_TEXTAUTOMATON_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/Expression.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::grammar {

/// A set of texts. From every state an accepting one can be reached; without
/// states the set is empty. Immutable; copies share the states, and are as
/// thread-safe as the meter by which it was made, which outlives it.
class TextAutomaton {
public:
  struct Edge {
    uint32_t low; ///< code points
    uint32_t high;
    uint32_t target;
  };
  struct State {
    std::vector<Edge> edges; ///< sorted, disjoint
    bool accepting = false;
  };

  /// No text.
  TextAutomaton() = default;
  /// State 0 is the start. States that lead nowhere are left out. Charges the
  /// meter, which may end the work with that.
  TextAutomaton(std::vector<State> states, WorkMeter &meter);

  /// Every text.
  static TextAutomaton all();

  /// Just these, valid UTF-8. Errors: as below.
  static Expected<TextAutomaton> of(const std::vector<std::string> &texts,
                                    WorkMeter &meter);

  /// The texts of an expression without references. Errors here and below:
  /// more states or edges than an automaton may have, or the meter ends the
  /// work.
  static Expected<TextAutomaton> fromExpression(const ExpressionTree &tree,
                                                ExpressionId root,
                                                WorkMeter &meter);

  /// The texts that are in both.
  static Expected<TextAutomaton> intersection(const TextAutomaton &a,
                                              const TextAutomaton &b,
                                              WorkMeter &meter);
  /// The texts of `a` that are not in `b`.
  static Expected<TextAutomaton>
  difference(const TextAutomaton &a, const TextAutomaton &b, WorkMeter &meter);
  /// Whether `text`, valid UTF-8, is in the set.
  bool contains(std::string_view text) const;

  bool empty() const { return !shared; }
  const std::vector<State> &states() const;

private:
  struct Shared {
    std::vector<State> states;
    HeldBytes held;
  };
  explicit TextAutomaton(std::shared_ptr<const Shared> shared)
      : shared(std::move(shared)) {}

  std::shared_ptr<const Shared> shared; ///< null: no states
};

/// The texts of a set that have `min` to `max` characters. The length stays
/// beside the automaton, which would have a state for each otherwise.
struct SizedTexts {
  static constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

  TextAutomaton texts;
  uint32_t min = 0;
  uint32_t max = unbounded;

  bool bounded() const { return min > 0 || max != unbounded; }
  /// Whether `text`, valid UTF-8, is one of them.
  bool contains(std::string_view text) const;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_TEXTAUTOMATON_H
