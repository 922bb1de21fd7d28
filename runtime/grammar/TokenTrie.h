//===- TokenTrie.h - a vocabulary by its bytes ----------------------------===//
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

/// A vocabulary's tokens by the bytes that they put into the text, as a trie
/// in one array, so that a walk over all tokens reads memory in order and
/// leaves out, in one jump, all tokens that begin with bytes that do not fit.
/// Built once for a vocabulary. Immutable; thread-safe.
class TokenTrie {
public:
  static constexpr size_t maxTokens = size_t(1) << 24;
  static constexpr size_t maxTokenBytes = size_t(1) << 12;

  struct Node {
    uint32_t skip;       ///< the node behind this one's subtree
    uint32_t firstToken; ///< in tokens(); they end where the next node's begin
    uint16_t depth;      ///< bytes from the root, which has 0
    uint8_t byte;        ///< the last of them
  };

  /// `tokens[id]` are the bytes of a token, in any form: whole characters, a
  /// part of one, a single byte. An empty span is a token that no grammar
  /// allows, as special tokens are. `endTokens` are those that end a text;
  /// their bytes do not count. Nothing is kept of the spans.
  /// Errors: no token, more or longer ones than the limits, or an end token
  /// outside of the vocabulary.
  static Expected<TokenTrie> create(std::span<const std::string_view> tokens,
                                    std::span<const TokenId> endTokens);

  size_t vocabularySize() const { return offsets.size() - 1; }
  /// Sorted.
  std::span<const TokenId> endTokens() const { return ends; }
  bool isEndToken(TokenId token) const;

  /// What `create` was given, but empty for end tokens; empty outside of the
  /// vocabulary.
  std::string_view bytes(TokenId token) const;

  /// In depth-first order, the root first; one more behind the last.
  std::span<const Node> nodes() const { return nodeList; }
  size_t nodeCount() const { return nodeList.size() - 1; }

  /// The classes of the characters below a node, a bit for each; see
  /// characterClass().
  uint64_t classesBelow(uint32_t node) const { return below[node].classes; }
  /// The length of the longest path below a node, in bytes.
  uint32_t heightOf(uint32_t node) const { return below[node].height; }

  /// Characters that grammars mostly treat alike are of one class: bytes that
  /// are not UTF-8, nor a prefix of it, where a token is read by itself;
  /// all characters that are not ASCII; the others by characterClass(). There
  /// are fewer than 64.
  static constexpr unsigned brokenClass = 0, wideClass = 1;
  static unsigned characterClass(uint8_t ascii);

  /// The tokens whose bytes end at a node.
  std::span<const TokenId> tokensAt(uint32_t node) const {
    return tokensAt(node, node + 1);
  }
  /// Of the nodes from `first` up to `last`, which is not one of them.
  std::span<const TokenId> tokensAt(uint32_t first, uint32_t last) const {
    return {tokenList.data() + nodeList[first].firstToken,
            tokenList.data() + nodeList[last].firstToken};
  }

  /// The length of the longest token, in bytes.
  uint32_t longestToken() const { return longest; }

private:
  struct Below {
    uint64_t classes = 0;
    uint32_t height = 0;
  };

  void build();
  void findBelow();

  std::vector<uint32_t> offsets; ///< [token], and the end
  std::string text;              ///< of all tokens
  std::vector<TokenId> ends;
  std::vector<Node> nodeList;
  std::vector<Below> below; ///< [node]
  std::vector<TokenId> tokenList;
  uint32_t longest = 0;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_TOKENTRIE_H
