//===- GrammarCompiler.h - compiles a grammar's tables --------------------===//
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

/// Compiles the grammar whose texts `root` matches. Whatever cannot lead to the
/// end of a text is left out, so every beginning of a text that the tables
/// accept can be completed. Errors: a rule is left-recursive, the grammar
/// matches no text at all, it exceeds a limit, or the meter ends the work.
Expected<GrammarTables> compileGrammar(const GrammarBuilder &builder,
                                       RuleId root, WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARCOMPILER_H
