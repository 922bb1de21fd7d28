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

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::grammar {

// The source.
inline constexpr size_t maxGbnfBytes = size_t(1) << 20;
inline constexpr size_t maxGbnfRules = 1 << 16;
inline constexpr size_t maxSchemaValues = 1 << 18; ///< JSON values in a schema
/// Members of all of a schema's objects together.
inline constexpr size_t maxSchemaMembers = 1 << 14;
inline constexpr size_t maxPatternBytes = 1 << 14;
/// Members within members, and choices within choices, that are looked into to
/// find out whether two schemas keep apart.
inline constexpr size_t maxNestedOverlap = 4;
/// Sets of values that an array of unique items can have at some place.
inline constexpr size_t maxUniquePlaces = 1 << 10;
/// For the grammars of a request. Each step has a limit of its own, of about a
/// second at most; this one is for many patterns that come near it, and for
/// many schemas.
inline constexpr std::chrono::seconds maxGrammarTime{4};
/// Groups within groups of a GBNF rule or a pattern, values within values of a
/// schema.
inline constexpr size_t maxDepth = 128;

// The automaton.
inline constexpr size_t maxBuilderEdges = size_t(1) << 22;
inline constexpr size_t maxStates = size_t(1) << 19;
/// States with a table of all bytes, 1 KiB each; the others search.
inline constexpr size_t maxDenseRows = 1 << 14;
/// Members of the state sets that are looked at while a rule is made
/// deterministic: bounds the time.
inline constexpr size_t maxSetMembers = size_t(1) << 24;
/// The same for bodies of repetitions, to find out whether they can be counted,
/// and how many of them are looked at.
inline constexpr size_t maxTrialMembers = 1 << 14;
inline constexpr size_t maxTrials = 1 << 10;
/// Edges that are looked at to find out with which counts the counted rules of
/// a grammar can end, and ranges of counts that their states have: for all of
/// the rules together.
inline constexpr size_t maxCountSteps = size_t(1) << 25;
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
/// Edges of frames that come up on the way: bounds the memory, to 40 MiB.
inline constexpr size_t maxScratchEdges = size_t(1) << 20;
/// Past this many nodes at which a mask's rule can end, the mask is made with
/// the rule's caller (see TokenGrammar).
inline constexpr size_t maxReturnNodes = 1 << 6;

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARLIMITS_H
