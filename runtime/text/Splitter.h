//===- Splitter.h - splits a text at the matches of a pattern -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_SPLITTER_H
#define SLUICE_RUNTIME_TEXT_SPLITTER_H

#include "runtime/text/Regex.h"
#include "runtime/text/TokenizerSpec.h"

namespace sluice::text {

/// Splits `text` at `matches`, which are in order and do not overlap, and
/// appends the pieces that are not empty. With `invert`, the text between the
/// matches takes the place of the matches.
void splitAt(std::string_view text, const std::vector<Span> &matches,
             SplitBehavior behavior, bool invert,
             std::vector<std::string_view> &out);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_SPLITTER_H
