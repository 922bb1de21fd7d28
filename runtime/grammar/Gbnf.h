//===- Gbnf.h - parser and compiler of llama.cpp's grammar format ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to runtime/grammar; use Grammar::fromGbnf().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GBNF_H
#define SLUICE_RUNTIME_GRAMMAR_GBNF_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/Expression.h"
#include "runtime/grammar/GrammarTables.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::grammar {

/// A parsed GBNF text. References are indices into `rules`.
struct GbnfGrammar {
  struct Rule {
    std::string name;
    ExpressionId body;
  };
  ExpressionTree expressions;
  std::vector<Rule> rules;
  uint32_t root = 0;
};

/// Parses a GBNF text. Errors name the line: the text is not GBNF, a rule is
/// defined twice or never, or there is no `root`.
Expected<GbnfGrammar> parseGbnf(std::string_view text);

/// Compiles a parsed text. Errors: those of compileGrammar().
Expected<GrammarTables> compileGbnf(const GbnfGrammar &grammar,
                                    WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GBNF_H
