//===- NearestName.h - suggestions for misspelt words ---------------------===//
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

/// Returns the name that `word` was probably meant to be: the first of those
/// with the fewest changes, where a change is a letter too many, too few or
/// wrong, or two swapped letters. A name that begins with `word` counts as one
/// change away. Returns "" if even the nearest name needs more changes than a
/// third of its letters.
std::string nearestName(std::string_view word,
                        std::span<const std::string> names);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_NEARESTNAME_H
