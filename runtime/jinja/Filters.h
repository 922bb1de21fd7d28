//===- Filters.h - filters of sequences, and shared helpers ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_FILTERS_H
#define SLUICE_RUNTIME_JINJA_FILTERS_H

#include "runtime/jinja/Builtins.h"

namespace sluice::text::jinja {

/// The subject and the parameters, as Builtin::run takes them.
using FilterArguments = std::span<const Value>;

Value dictsortFilter(Runtime &runtime, FilterArguments arguments);
Value firstFilter(Runtime &runtime, FilterArguments arguments);
Value itemsFilter(Runtime &runtime, FilterArguments arguments);
Value joinFilter(Runtime &runtime, FilterArguments arguments);
Value lastFilter(Runtime &runtime, FilterArguments arguments);
Value listFilter(Runtime &runtime, FilterArguments arguments);
Value maxFilter(Runtime &runtime, FilterArguments arguments);
Value minFilter(Runtime &runtime, FilterArguments arguments);
Value reverseFilter(Runtime &runtime, FilterArguments arguments);
Value sortFilter(Runtime &runtime, FilterArguments arguments);
Value uniqueFilter(Runtime &runtime, FilterArguments arguments);

/// Returns the (key, value) tuples of a dict.
std::vector<Value> pairsOf(Runtime &runtime, const Dict &dict);

/// Calls replaceText(), after counting its cost.
std::string replaceCounted(Runtime &runtime, std::string_view text,
                           std::string_view pattern, std::string_view content,
                           int64_t limit);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_FILTERS_H
