//===- TokenizerSpec.h - what a tokenizer does, as plain data -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The neutral description of a tokenizer. Readers of tokenizer.json and of
// GGUF metadata make one, the blob in an executable holds one, and Tokenizer
// runs one. The stages follow Hugging Face's order: added tokens are cut out
// of the text, the normalizer rewrites what is between them, the pre-tokenizer
// cuts it into pieces, the model turns each piece into ids, and the template
// puts ids around the whole.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_TOKENIZERSPEC_H
#define SLUICE_RUNTIME_TEXT_TOKENIZERSPEC_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::text {

using TokenId = int32_t;

enum class ModelKind : uint8_t {
  BPE,              ///< pairs merged in the order of a list of merges
  SentencePieceBPE, ///< pairs merged by the score of the token they make
  Unigram,          ///< the segmentation with the highest sum of scores
};

enum class TokenType : uint8_t {
  Normal,
  Unknown,     ///< stands for what the vocabulary lacks
  Control,     ///< never made from text, such as end of text
  UserDefined, ///< matched in the text before anything else
  Unused,
  Byte,  ///< one byte, spelt <0xHH>
  Added, ///< an added token that the model's own vocabulary lacks
};

struct Token {
  std::string text; ///< as the vocabulary spells it
  double score = 0;
  TokenType type = TokenType::Normal;
};

/// `left` followed by `right` becomes `result`; the place in the list is the
/// rank, and the lowest rank is merged first.
struct Merge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;
};

/// One step of the normalizer; the steps run in order over the whole text
/// between added tokens.
struct NormalizerStep {
  enum class Kind : uint8_t {
    NFC,
    NFD,
    NFKC,
    NFKD,
    Lowercase,
    StripAccents,  ///< drops combining marks
    Strip,         ///< drops white space at the ends (left, right)
    Prepend,       ///< puts `content` in front of a text that is not empty
    ReplaceString, ///< replaces `pattern` by `content`
    ReplaceRegex,
    Precompiled, ///< SentencePiece's character map; its bytes in `pattern`
    ByteLevel,   ///< spells every byte as one character, as GPT-2 does
  };
  Kind kind = Kind::NFC;
  std::string pattern = {};
  std::string content = {};
  bool left = false;
  bool right = false;
};

/// What becomes of the matches of a pattern that splits a text.
enum class SplitBehavior : uint8_t {
  Removed,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous,
};

/// When SentencePiece's space goes in front of a text.
enum class PrependScheme : uint8_t { Always, First, Never };

/// One step of the pre-tokenizer; each cuts the pieces of the one before.
struct PreTokenizerStep {
  enum class Kind : uint8_t {
    SplitRegex,
    SplitString,
    ByteLevel, ///< `flag`: split by GPT-2's pattern; `prefixSpace`
    Metaspace, ///< `pattern` is the replacement, `flag`: split at it
    Whitespace,
    WhitespaceSplit,
    Digits, ///< `flag`: every digit alone
    Punctuation,
  };
  Kind kind = Kind::SplitRegex;
  std::string pattern = {};
  SplitBehavior behavior = SplitBehavior::Isolated;
  PrependScheme scheme = PrependScheme::Always;
  bool invert = false;
  bool flag = false;
  bool prefixSpace = false;
};

/// One step from tokens back to text.
struct DecoderStep {
  enum class Kind : uint8_t {
    ByteLevel,
    Metaspace, ///< `pattern` is the replacement
    ByteFallback,
    Fuse, ///< the steps behind it see one text, not tokens
    ReplaceString,
    ReplaceRegex,
    Strip, ///< drops up to `start` and `stop` of `content` at the ends
  };
  Kind kind = Kind::Fuse;
  std::string pattern = {};
  std::string content = {};
  PrependScheme scheme = PrependScheme::Always;
  uint32_t start = 0;
  uint32_t stop = 0;
};

/// A token that is found in the text before the model sees it. Its text is
/// that of the vocabulary's entry `id`.
struct AddedToken {
  TokenId id = 0;
  bool special = false;    ///< left out by decode(skipSpecial)
  bool singleWord = false; ///< only between characters that are not of a word
  bool lstrip = false;     ///< takes the white space before it
  bool rstrip = false;     ///< takes the white space behind it
  bool normalized = false; ///< is looked for in the normalized text
};

struct TokenizerSpec {
  ModelKind kind = ModelKind::BPE;
  std::vector<Token> tokens; ///< tokens[id]
  std::vector<Merge> merges; ///< BPE only
  std::vector<NormalizerStep> normalizer;
  std::vector<PreTokenizerStep> preTokenizer;
  std::vector<DecoderStep> decoder; ///< empty: tokens joined by spaces
  std::vector<AddedToken> addedTokens;

  /// Ids that encode(addSpecial) puts around a text.
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;

  std::optional<TokenId> unknown;
  std::optional<TokenId> beginOfText;
  std::vector<TokenId> endOfText; ///< all that end a generation

  bool byteFallback = false; ///< <0xHH> tokens for what is not in vocabulary
  bool fuseUnknown = false;  ///< a run of unknown characters is one token
  bool ignoreMerges = false; ///< a piece that is a token is that token

  std::string chatTemplate; ///< empty: none
  /// For conversations with tools; empty: the same for all. Models that come
  /// with several name it "tool_use".
  std::string toolTemplate;

  /// Whether the description can be run: every token has a text of its own,
  /// every id is inside the vocabulary, every merge makes what it says. The
  /// error names the token.
  Status validate() const;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENIZERSPEC_H
