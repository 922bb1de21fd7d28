//===- Pattern.h - regular expressions of JSON schemas --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the patterns of JSON schemas. Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_PATTERN_H
#define SLUICE_RUNTIME_GRAMMAR_PATTERN_H

#include "runtime/grammar/TextAutomaton.h"

#include <optional>
#include <string_view>

namespace sluice::grammar {

/// Returns the texts in which a regular expression of ECMA-262 (the dialect of
/// JSON Schema's `pattern`) finds a match. Without `^` and `$` the match may
/// lie anywhere.
///
/// Supported: characters, `.`, classes, \d \w \s \D \W \S, the escapes of
/// characters, groups (named or not, captured or not), alternatives, * + ? {m}
/// {m,} {m,n} (greedy or lazy, which match the same texts), and `^` and `$` at
/// the ends of the pattern's alternatives. The error names any other construct
/// (assertions, back references, Unicode properties) and its place.
Expected<TextAutomaton> compilePattern(std::string_view pattern,
                                       WorkMeter &meter);

/// Returns the pattern of a string format of JSON Schema: date, time,
/// date-time, duration, email, hostname, ipv4, ipv6, uuid, uri. Where that is
/// simpler, it matches only a part of the format (a host of at most four
/// labels, no comments in an address), but never a text outside the format.
std::optional<std::string_view> formatPattern(std::string_view format);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_PATTERN_H
