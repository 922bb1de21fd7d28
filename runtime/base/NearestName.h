//===- NearestName.h - what a misspelt word may have meant ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_NEARESTNAME_H
#define SLUICE_RUNTIME_BASE_NEARESTNAME_H

#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// The one of `names` that `word` was probably meant to be: the first of those
/// that the fewest changes turn it into, where a change is a letter too many,
/// too few or another one, or two letters that have changed places. A name
/// whose prefix the word is counts as one change away. Empty where even the
/// nearest needs more changes than a third of its letters.
std::string nearestName(std::string_view word,
                        std::span<const std::string> names);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_NEARESTNAME_H
