//===- TokenTrie.h - a vocabulary as a trie over bytes --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_TOKENTRIE_H
#define SLUICE_RUNTIME_GRAMMAR_TOKENTRIE_H

#include "runtime/base/Status.h"
#include "runtime/text/TokenizerSpec.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::grammar {

using text::TokenId;

/// The tokens of a vocabulary by the bytes that they add to a text, as a trie
/// in one array. A walk over all tokens reads memory in order; when bytes do
/// not fit, one jump skips all tokens that begin with them. Built once for a
/// vocabulary. Immutable and thread-safe.
class TokenTrie {
public:
  static constexpr size_t maxTokens = size_t(1) << 24;
  static constexpr size_t maxTokenBytes = size_t(1) << 12;

  struct Node {
    uint32_t skip; ///< the node after this one's subtree
    /// The index of its first token in tokenList. Its tokens end where those of
    /// the next node begin.
    uint32_t firstToken;
    uint16_t depth; ///< bytes from the root, which has 0
    uint8_t byte;   ///< the last of these bytes
  };

  /// Makes a trie. `tokens[id]` are the bytes of a token: whole characters, a
  /// part of one, a single byte. No grammar allows a token with an empty span,
  /// as for special tokens. `endTokens` are the tokens that end a text; their
  /// bytes do not count. The spans are not kept. Errors: there is no token,
  /// there are more or longer tokens than the limits allow, or an end token is
  /// outside the vocabulary.
  static Expected<TokenTrie> create(std::span<const std::string_view> tokens,
                                    std::span<const TokenId> endTokens);

  size_t vocabularySize() const { return offsets.size() - 1; }
  /// Returns the end tokens, sorted.
  std::span<const TokenId> endTokens() const { return ends; }
  bool isEndToken(TokenId token) const;

  /// Returns the bytes that `create` was given; empty for end tokens and
  /// outside the vocabulary.
  std::string_view bytes(TokenId token) const;

  /// Returns the nodes in depth-first order, the root first, and one more after
  /// the last.
  std::span<const Node> nodes() const { return nodeList; }
  size_t nodeCount() const { return nodeList.size() - 1; }

  /// Returns the classes of the characters below a node, a bit for each; see
  /// characterClass().
  uint64_t classesBelow(uint32_t node) const { return below[node].classes; }
  /// Returns the length of the longest path below a node, in bytes.
  uint32_t heightOf(uint32_t node) const { return below[node].height; }

  /// The classes of characters, which grammars mostly treat alike: brokenClass
  /// for bytes that are neither UTF-8 nor a prefix of it when the token is read
  /// by itself, wideClass for all characters that are not ASCII, and those of
  /// characterClass() for ASCII. There are fewer than 64.
  static constexpr unsigned brokenClass = 0, wideClass = 1;
  static unsigned characterClass(uint8_t ascii);

  /// Returns the tokens whose bytes end at a node.
  std::span<const TokenId> tokensAt(uint32_t node) const {
    return tokensAt(node, node + 1);
  }
  /// Returns the tokens of the nodes from `first` to before `last`.
  std::span<const TokenId> tokensAt(uint32_t first, uint32_t last) const {
    return {tokenList.data() + nodeList[first].firstToken,
            tokenList.data() + nodeList[last].firstToken};
  }

  /// Returns the length of the longest token, in bytes.
  uint32_t longestToken() const { return longest; }

private:
  struct Below {
    uint64_t classes = 0;
    uint32_t height = 0;
  };

  void build();
  void findBelow();

  std::vector<uint32_t> offsets; ///< [token], and the end
  std::string text;              ///< the bytes of all tokens
  std::vector<TokenId> ends;
  std::vector<Node> nodeList;
  std::vector<Below> below; ///< [node]
  std::vector<TokenId> tokenList;
  uint32_t longest = 0;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_TOKENTRIE_H
