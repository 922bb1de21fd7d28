//===- GrammarLimits.h - what a grammar may cost --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a grammar may cost. A grammar comes with a request, from anybody, so
// that each part of its making has a limit; what exceeds one is refused with
// an error that names it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARLIMITS_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARLIMITS_H

#include "runtime/base/WorkMeter.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::grammar {

/// What the making of all of a request's grammars may cost together: for their
/// meter. The time is for a busy machine; on an idle one the steps end first,
/// with which the same grammar is refused everywhere.
inline constexpr WorkMeter::Limits maxGrammarWork = {
    .time = std::chrono::seconds(4),
    .steps = size_t(1) << 26,
    .bytes = size_t(256) << 20,
};

// The source.
inline constexpr size_t maxGbnfBytes = size_t(1) << 20;
inline constexpr size_t maxGbnfRules = 1 << 16;
inline constexpr size_t maxSchemaValues = 1 << 18; ///< JSON values in a schema
inline constexpr size_t maxSchemaBytes = size_t(32) << 20; ///< that these take
/// Members of all of a schema's objects together.
inline constexpr size_t maxSchemaMembers = 1 << 14;
inline constexpr size_t maxPatternBytes = 1 << 14;
/// Members within members, and choices within choices, that are looked into to
/// find out whether two schemas keep apart.
inline constexpr size_t maxNestedOverlap = 4;
/// Sets of values that an array of unique items can have at some place.
inline constexpr size_t maxUniquePlaces = 1 << 10;
/// Groups within groups of a GBNF rule or a pattern, values within values of a
/// schema.
inline constexpr size_t maxDepth = 128;

// The automaton.
inline constexpr size_t maxBuilderEdges = size_t(1) << 22;
inline constexpr size_t maxStates = size_t(1) << 19;
/// States with a table of all bytes, 1 KiB each; the others search.
inline constexpr size_t maxDenseRows = 1 << 14;
/// Steps to find out whether the body of a repetition can be counted, and how
/// many bodies are looked at.
inline constexpr size_t maxTrialSteps = 1 << 14;
inline constexpr size_t maxTrials = 1 << 10;
/// Ranges of counts that the states of the counted rules of a grammar have
/// together.
inline constexpr size_t maxCountRanges = size_t(1) << 20;
/// States and edges of the automaton of a pattern, format or range of numbers.
inline constexpr size_t maxTextStates = 1 << 15;
inline constexpr size_t maxTextEdges = 1 << 19;

// A text being matched.
/// Ways to read the text so far that are followed at once.
inline constexpr size_t maxItems = 1 << 10;
/// Calls of rules that one byte can bring about.
inline constexpr size_t maxPendingCalls = 1 << 14;
/// Rules within rules.
inline constexpr uint32_t maxStackDepth = 1 << 14;
/// Steps for one mask (see GrammarMatcher): bounds its time, to about half a
/// second.
inline constexpr size_t maxMaskSteps = size_t(1) << 24;
/// Edges of entries that come up on the way: bounds the memory, to 40 MiB.
inline constexpr size_t maxScratchEdges = size_t(1) << 20;
/// Past this many nodes at which a mask's rule can end, the mask is made with
/// the rule's caller (see TokenGrammar).
inline constexpr size_t maxReturnNodes = 1 << 6;

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARLIMITS_H
