//===- GrammarLimits.h - limits of grammars -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limits of grammars. A grammar comes with an untrusted request, so each
// part of compiling it has a limit. What exceeds one is refused with an error
// that names the limit.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARLIMITS_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARLIMITS_H

#include "runtime/base/WorkMeter.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::grammar {

/// The limits of the meter for compiling all grammars of one request together.
/// On an idle machine the steps run out first, so the same grammar is refused
/// everywhere; the time is for a busy machine.
inline constexpr WorkMeter::Limits maxGrammarWork = {
    .time = std::chrono::seconds(4),
    .steps = size_t(1) << 26,
    .bytes = size_t(256) << 20,
};

// Limits of the source.
inline constexpr size_t maxGbnfBytes = size_t(1) << 20;
inline constexpr size_t maxGbnfRules = 1 << 16;
inline constexpr size_t maxSchemaValues = 1 << 18; ///< JSON values in a schema
/// The memory of a schema's JSON values.
inline constexpr size_t maxSchemaBytes = size_t(32) << 20;
/// The members of all of a schema's objects together.
inline constexpr size_t maxSchemaMembers = 1 << 14;
inline constexpr size_t maxPatternBytes = 1 << 14;
/// How deep members within members, and choices within choices, are compared to
/// find out whether two schemas exclude each other.
inline constexpr size_t maxNestedOverlap = 4;
/// The sets of values that may have been written at one place in an array of
/// unique items.
inline constexpr size_t maxUniquePlaces = 1 << 10;
/// The nesting of groups in a GBNF rule or a pattern, and of values in a
/// schema.
inline constexpr size_t maxDepth = 128;

// Limits of the automaton.
inline constexpr size_t maxBuilderEdges = size_t(1) << 22;
inline constexpr size_t maxStates = size_t(1) << 19;
/// States with a table of all bytes, of 1 KiB each; the other states search
/// their edges.
inline constexpr size_t maxDenseRows = 1 << 14;
/// The steps for finding out whether the body of a repetition can be counted,
/// and how many bodies are examined.
inline constexpr size_t maxTrialSteps = 1 << 14;
inline constexpr size_t maxTrials = 1 << 10;
/// The ranges of counts in all states of a grammar's counted rules together.
inline constexpr size_t maxCountRanges = size_t(1) << 20;
/// The states and edges of the automaton of a pattern, format or range of
/// numbers.
inline constexpr size_t maxTextStates = 1 << 15;
inline constexpr size_t maxTextEdges = 1 << 19;

// Limits of matching a text.
/// How many ways of reading the text so far are followed at once.
inline constexpr size_t maxItems = 1 << 10;
/// The calls of rules that one byte can cause.
inline constexpr size_t maxPendingCalls = 1 << 14;
/// The nesting of rules.
inline constexpr uint32_t maxStackDepth = 1 << 14;
/// The steps for one mask (see GrammarMatcher), which bounds its time to about
/// half a second.
inline constexpr size_t maxMaskSteps = size_t(1) << 24;
/// The edges of entries that arise during a match, which bounds the memory to
/// 40 MiB.
inline constexpr size_t maxScratchEdges = size_t(1) << 20;
/// If a mask's rule can end at more nodes than this, the mask is made together
/// with the rule's caller (see TokenGrammar).
inline constexpr size_t maxReturnNodes = 1 << 6;

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARLIMITS_H
