//===- RegexSyntax.h - translates Oniguruma's patterns to PCRE2 -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_REGEXSYNTAX_H
#define SLUICE_RUNTIME_TEXT_REGEXSYNTAX_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace sluice::text {

/// Returns a PCRE2 pattern that matches what Oniguruma's `pattern` matches
/// (Ruby's syntax, which tokenizer.json uses). It accepts only constructs that
/// mean the same in both or that can be rewritten; the error names any other.
Expected<std::string> translateOniguruma(std::string_view pattern);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_REGEXSYNTAX_H
