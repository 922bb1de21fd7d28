//===- CountRanges.h - with which counts a rule can end -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A counted rule ends with a count between two bounds. Here it is found out
// from which of its states, with which counts, it still can: a text never goes
// where no end is left. Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_COUNTRANGES_H
#define SLUICE_RUNTIME_GRAMMAR_COUNTRANGES_H

#include "runtime/grammar/Determinizer.h"
#include "runtime/grammar/GrammarTables.h"

namespace sluice::grammar {

/// [state of the rule]: the counts with which a byte can follow and an end be
/// reached after it; sorted and apart.
using CountRanges = std::vector<std::vector<GrammarTables::CountRange>>;

/// Of a counted rule, which is countable; adds to `rangeCount`, which is that
/// of the grammar. Exact: a rule with texts of every third length only may have
/// a range for each. Time: about that of looking at each state once for each
/// end of a range, whatever the bounds are. Errors: `rangeCount` comes to more
/// than maxCountRanges, or the meter ends the work.
Expected<CountRanges> findCountRanges(const RuleAutomata &automata, RuleId rule,
                                      uint32_t min, uint32_t max,
                                      size_t &rangeCount, WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_COUNTRANGES_H
