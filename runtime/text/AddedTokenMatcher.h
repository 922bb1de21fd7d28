//===- AddedTokenMatcher.h - splits a text at its added tokens ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_ADDEDTOKENMATCHER_H
#define SLUICE_RUNTIME_TEXT_ADDEDTOKENMATCHER_H

#include "runtime/text/ByteTrie.h"
#include "runtime/text/TokenizerSpec.h"

#include <array>
#include <span>
#include <string_view>

namespace sluice::text {

/// Finds the leftmost added tokens of a text, and at each place the longest of
/// them. Immutable once filled, then thread-safe.
class AddedTokenMatcher {
public:
  /// A segment of the text: an added token, or the text between two of them.
  struct Segment {
    std::string_view text;
    TokenId id = -1; // -1 for text
  };

  /// Makes split() find `spelling` as `token`.
  void add(std::string_view spelling, const AddedToken &token);

  /// Appends the segments of `text`; segments of text are never empty. A
  /// special token counts as text unless `parseSpecial` is set, and also if it
  /// begins at one of the offsets in `literal`, which ascend.
  void split(std::string_view text, bool parseSpecial,
             std::vector<Segment> &segments,
             std::span<const size_t> literal = {}) const;

private:
  /// Returns the index and length of the longest token that begins at `at`;
  /// {-1, 0} if there is none.
  std::pair<int32_t, size_t> longestAt(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens;
  ByteTrie trie;                     // values are indices into `tokens`
  std::array<bool, 256> begins = {}; // whether a token begins with the byte
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_ADDEDTOKENMATCHER_H
