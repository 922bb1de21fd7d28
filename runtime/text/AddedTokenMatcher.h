//===- AddedTokenMatcher.h - cuts added tokens out of a text --------------===//
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

/// Finds the leftmost added tokens, of those at one place the longest.
/// Immutable once filled, then thread-safe.
class AddedTokenMatcher {
public:
  /// A stretch of the text: an added token, or what is between two.
  struct Segment {
    std::string_view text;
    TokenId id = -1; // -1: text
  };

  /// Looks for `spelling` from now on and takes it as `token`.
  void add(std::string_view spelling, const AddedToken &token);

  /// Appends the segments of `text`, none of them empty text. Special tokens
  /// are text unless `parseSpecial`, and where they begin at an offset of
  /// `literal`, which ascend.
  void split(std::string_view text, bool parseSpecial,
             std::vector<Segment> &segments,
             std::span<const size_t> literal = {}) const;

private:
  /// The longest token that begins at `at`; {-1, 0} where there is none.
  std::pair<int32_t, size_t> longestAt(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens;
  ByteTrie trie;                     // values are places in `tokens`
  std::array<bool, 256> begins = {}; // whether a token begins with the byte
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_ADDEDTOKENMATCHER_H
