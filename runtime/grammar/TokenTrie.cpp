//===- TokenTrie.cpp - a vocabulary as a trie over bytes ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/TokenTrie.h"

#include "runtime/grammar/CodePointSet.h"

#include <algorithm>
#include <array>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// The position in UTF-8 after the bytes so far.
struct Utf8Place {
  bool broken = false;        ///< the bytes are not UTF-8
  uint8_t missing = 0;        ///< bytes that the current character lacks
  ByteRange next{0x80, 0xBF}; ///< of the next of these bytes

  Utf8Place after(uint8_t byte) const {
    constexpr Utf8Place wrong{.broken = true};
    if (broken)
      return wrong;
    if (missing > 0) {
      if (byte < next.low || byte > next.high)
        return wrong;
      return {.missing = static_cast<uint8_t>(missing - 1)};
    }
    if (byte < 0x80)
      return {};
    if (byte < 0xC2 || byte > 0xF4)
      return wrong;
    uint8_t length = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    // Excludes overlong forms, surrogates, and values above U+10FFFF.
    uint8_t low = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
    uint8_t high = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    return {.missing = length, .next = {low, high}};
  }
};

} // namespace

Expected<TokenTrie> TokenTrie::create(std::span<const std::string_view> tokens,
                                      std::span<const TokenId> endTokens) {
  if (tokens.empty() || tokens.size() > maxTokens)
    return failure("vocabulary: ", tokens.size(), " tokens, not 1 to ",
                   maxTokens);
  TokenTrie trie;
  trie.ends.assign(endTokens.begin(), endTokens.end());
  std::sort(trie.ends.begin(), trie.ends.end());
  for (TokenId end : trie.ends)
    if (end < 0 || static_cast<size_t>(end) >= tokens.size())
      return failure("vocabulary: the end token ", end, " is not one of ",
                     tokens.size(), " tokens");
  trie.offsets.reserve(tokens.size() + 1);
  trie.offsets.push_back(0);
  for (size_t id = 0; id < tokens.size(); ++id) {
    std::string_view bytes = tokens[id];
    if (bytes.size() > maxTokenBytes)
      return failure("vocabulary: token ", id, " has ", bytes.size(),
                     " bytes, more than ", maxTokenBytes);
    if (!trie.isEndToken(static_cast<TokenId>(id)))
      trie.text += bytes;
    if (trie.text.size() > UINT32_MAX)
      return failure("vocabulary: the tokens have more than ", UINT32_MAX,
                     " bytes in all");
    trie.offsets.push_back(static_cast<uint32_t>(trie.text.size()));
  }
  trie.build();
  trie.findBelow();
  return trie;
}

bool TokenTrie::isEndToken(TokenId token) const {
  return std::binary_search(ends.begin(), ends.end(), token);
}

std::string_view TokenTrie::bytes(TokenId token) const {
  if (token < 0 || static_cast<size_t>(token) >= vocabularySize())
    return {};
  return std::string_view(text).substr(offsets[token],
                                       offsets[token + 1] - offsets[token]);
}

/// Sorts the tokens by their bytes, so that the tokens of a subtree are
/// adjacent. Each token adds nodes for the bytes that it does not share with
/// the one before.
void TokenTrie::build() {
  for (size_t id = 0; id < vocabularySize(); ++id)
    if (!bytes(static_cast<TokenId>(id)).empty())
      tokenList.push_back(static_cast<TokenId>(id));
  // Tokens of equal bytes are sorted by id, which makes the order total.
  std::sort(tokenList.begin(), tokenList.end(), [&](TokenId a, TokenId b) {
    int order = bytes(a).compare(bytes(b));
    return order != 0 ? order < 0 : a < b;
  });
  nodeList.push_back({.skip = 0, .firstToken = 0, .depth = 0, .byte = 0});
  std::vector<uint32_t> path{0}; // the nodes of the last token's bytes
  std::string_view last;
  auto close = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodeList[path.back()].skip = static_cast<uint32_t>(nodeList.size());
  };
  for (size_t i = 0; i < tokenList.size(); ++i) {
    std::string_view token = bytes(tokenList[i]);
    longest = std::max(longest, static_cast<uint32_t>(token.size()));
    auto differs =
        std::mismatch(token.begin(), token.end(), last.begin(), last.end());
    auto shared = static_cast<size_t>(differs.first - token.begin());
    close(shared);
    for (size_t depth = shared; depth < token.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodeList.size()));
      nodeList.push_back({.skip = 0,
                          .firstToken = static_cast<uint32_t>(i),
                          .depth = static_cast<uint16_t>(depth + 1),
                          .byte = static_cast<uint8_t>(token[depth])});
    }
    last = token;
  }
  close(0);
  auto end = static_cast<uint32_t>(nodeList.size());
  nodeList[0].skip = end;
  nodeList.push_back({.skip = end,
                      .firstToken = static_cast<uint32_t>(tokenList.size()),
                      .depth = 0,
                      .byte = 0});
}

/// Finds from the top how far the bytes are UTF-8. Then finds from the last
/// node to the first what is below each node: every node adds itself to its
/// parent.
void TokenTrie::findBelow() {
  auto count = static_cast<uint32_t>(nodeCount());
  below.resize(count);
  std::vector<uint32_t> last(longest + 1), above(count); // [depth], [node]
  std::vector<Utf8Place> places(count);
  for (uint32_t node = 1; node < count; ++node) {
    last[nodeList[node].depth] = node;
    above[node] = last[nodeList[node].depth - 1u];
    places[node] = places[above[node]].after(nodeList[node].byte);
  }
  for (uint32_t node = count; --node > 0;) {
    Utf8Place place = places[node];
    unsigned itsClass = place.broken ? brokenClass
                        : nodeList[node].byte >= 0x80
                            ? wideClass
                            : characterClass(nodeList[node].byte);
    Below &parent = below[above[node]];
    parent.classes |= below[node].classes | uint64_t(1) << itsClass;
    parent.height = std::max(parent.height, below[node].height + 1);
    if (place.missing > 0 || place.broken)
      below[node].classes |= uint64_t(1) << brokenClass;
  }
}

/// Letters, digits, and control characters that are not layout are classes;
/// every other ASCII character is a class of its own.
unsigned TokenTrie::characterClass(uint8_t ascii) {
  enum : uint8_t { Control = wideClass + 1, Digit, Upper, Lower, Single };
  static const std::array<uint8_t, 128> classes = [] {
    std::array<uint8_t, 128> out{};
    uint8_t next = Single;
    for (uint8_t c = 0; c < 128; ++c)
      if (c >= '0' && c <= '9')
        out[c] = Digit;
      else if (c >= 'A' && c <= 'Z')
        out[c] = Upper;
      else if (c >= 'a' && c <= 'z')
        out[c] = Lower;
      else if (c >= ' ' || c == '\t' || c == '\n' || c == '\r')
        out[c] = next++;
      else
        out[c] = Control;
    return out;
  }();
  return classes[ascii];
}
