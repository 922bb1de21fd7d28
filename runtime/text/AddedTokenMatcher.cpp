//===- AddedTokenMatcher.cpp - splits a text at its added tokens ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/AddedTokenMatcher.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

using namespace sluice::text;

/// Returns where the character that ends at `end` begins.
static size_t characterBefore(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80)
    --begin;
  return begin;
}

static bool isWordAt(std::string_view text, size_t offset) {
  return isWordCharacter(nextCodePoint(text, offset));
}

static bool standsAlone(std::string_view text, size_t begin, size_t end) {
  return (begin == 0 || !isWordAt(text, characterBefore(text, begin))) &&
         (end == text.size() || !isWordAt(text, end));
}

static size_t skipSpaceBack(std::string_view text, size_t begin, size_t limit) {
  while (begin > limit) {
    size_t before = characterBefore(text, begin), offset = before;
    if (!isWhiteSpace(nextCodePoint(text, offset)))
      break;
    begin = before;
  }
  return std::max(begin, limit);
}

static size_t skipSpace(std::string_view text, size_t end) {
  while (end < text.size()) {
    size_t offset = end;
    if (!isWhiteSpace(nextCodePoint(text, offset)))
      break;
    end = offset;
  }
  return end;
}

void AddedTokenMatcher::add(std::string_view spelling,
                            const AddedToken &token) {
  if (spelling.empty())
    return;
  trie.insert(spelling, static_cast<TokenId>(tokens.size()));
  tokens.push_back(token);
  begins[static_cast<uint8_t>(spelling[0])] = true;
}

std::pair<int32_t, size_t> AddedTokenMatcher::longestAt(std::string_view text,
                                                        size_t at) const {
  std::pair<int32_t, size_t> found = {-1, 0};
  uint32_t node = ByteTrie::root;
  for (size_t end = at; end < text.size();) {
    node = trie.child(node, static_cast<uint8_t>(text[end++]));
    if (node == ByteTrie::none)
      break;
    if (trie.value(node) >= 0)
      found = {trie.value(node), end - at};
  }
  return found;
}

void AddedTokenMatcher::split(std::string_view text, bool parseSpecial,
                              std::vector<Segment> &segments,
                              std::span<const size_t> literal) const {
  size_t done = 0; // the segments cover the text up to here
  for (size_t at = 0; at < text.size();) {
    if (!begins[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    auto [which, length] = longestAt(text, at);
    if (which < 0) {
      ++at;
      continue;
    }
    const AddedToken &token = tokens[which];
    size_t begin = at, end = at + length;
    if (token.special && std::ranges::binary_search(literal, at)) {
      ++at; // another token may begin inside
      continue;
    }
    at = end;
    if ((token.special && !parseSpecial) ||
        (token.singleWord && !standsAlone(text, begin, end)))
      continue;
    if (token.lstrip)
      begin = skipSpaceBack(text, begin, std::min(begin, done));
    // White space that the token before has taken need not be read again.
    if (token.rstrip)
      end = skipSpace(text, std::max(end, done));
    if (done < begin)
      segments.push_back({text.substr(done, begin - done)});
    segments.push_back({text.substr(begin, end - begin), token.id});
    done = std::max(done, end);
  }
  if (done < text.size())
    segments.push_back({text.substr(done)});
}
