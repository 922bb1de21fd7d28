//===- CountRanges.h - counts from which a counted rule can end -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A counted rule ends with a count between two bounds. This code finds the
// states and counts from which the rule can still end, so that a text never
// leads where no end is left. Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_COUNTRANGES_H
#define SLUICE_RUNTIME_GRAMMAR_COUNTRANGES_H

#include "runtime/grammar/Determinizer.h"
#include "runtime/grammar/GrammarTables.h"

namespace sluice::grammar {

/// For each state of the rule, the counts with which a byte can follow and the
/// rule can end afterwards. The ranges are sorted and do not touch.
using CountRanges = std::vector<std::vector<GrammarTables::CountRange>>;

/// Finds the ranges of a counted rule, which must be countable, and adds their
/// number to `rangeCount`, which counts those of the whole grammar. The ranges
/// are exact: a rule that only matches texts of every third length may have one
/// range for each length. Takes about as long as visiting each state once for
/// each end of a range, whatever the bounds are. Errors: `rangeCount` exceeds
/// maxCountRanges, or the meter ends the work.
Expected<CountRanges> findCountRanges(const RuleAutomata &automata, RuleId rule,
                                      uint32_t min, uint32_t max,
                                      size_t &rangeCount, WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_COUNTRANGES_H
