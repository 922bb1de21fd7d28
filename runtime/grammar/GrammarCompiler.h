//===- GrammarCompiler.h - makes a grammar's tables -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARCOMPILER_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARCOMPILER_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/GrammarBuilder.h"
#include "runtime/grammar/GrammarTables.h"

namespace sluice::grammar {

/// The tables of the grammar whose texts `root` matches. What cannot lead to
/// the end of a text is left out, so that every text that is begun within the
/// tables can be completed. Errors: a rule is left-recursive, the grammar
/// matches no text at all, it is larger than its limits, or the meter ends the
/// work.
Expected<GrammarTables> compileGrammar(const GrammarBuilder &builder,
                                       RuleId root, WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARCOMPILER_H
