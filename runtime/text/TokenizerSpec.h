//===- TokenizerSpec.h - description of a tokenizer as plain data ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes a tokenizer independently of its file format. Readers of
// tokenizer.json and of GGUF metadata make a TokenizerSpec, the blob in an
// executable holds one, and Tokenizer runs one. The stages have Hugging Face's
// order: added tokens are split off the text, the normalizer rewrites the text
// between them, the pre-tokenizer splits it into pieces, the model converts
// each piece to ids, and the template puts ids around the whole.
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
  BPE,              ///< merges pairs in the order of a list of merges
  SentencePieceBPE, ///< merges pairs by the score of the token they make
  Unigram,          ///< finds the segmentation with the highest sum of scores
};

enum class TokenType : uint8_t {
  Normal,
  Unknown,     ///< stands for text that the vocabulary lacks
  Control,     ///< never made from text, such as end of text
  UserDefined, ///< matched in the text before anything else
  Unused,
  Byte,  ///< one byte, spelled <0xHH>
  Added, ///< an added token that the model's own vocabulary lacks
};

struct Token {
  std::string text; ///< as the vocabulary spells it
  double score = 0;
  TokenType type = TokenType::Normal;
};

/// Merges `left` followed by `right` into `result`. The index in the list is
/// the rank; the pair with the lowest rank is merged first.
struct Merge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;
};

/// One step of the normalizer. The steps run in order, each over the whole text
/// between two added tokens.
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

/// What is done with the matches of a pattern that splits a text.
enum class SplitBehavior : uint8_t {
  Removed,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous,
};

/// When SentencePiece puts a space in front of a text.
enum class PrependScheme : uint8_t { Always, First, Never };

/// One step of the pre-tokenizer, which splits the pieces of the step before.
struct PreTokenizerStep {
  enum class Kind : uint8_t {
    SplitRegex,
    SplitString,
    ByteLevel, ///< `flag`: split by GPT-2's pattern; `prefixSpace`
    Metaspace, ///< `pattern` is the replacement, `flag`: split at it
    Whitespace,
    WhitespaceSplit,
    Digits, ///< `flag`: every digit is a piece
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

/// One step of decoding tokens to text.
struct DecoderStep {
  enum class Kind : uint8_t {
    ByteLevel,
    Metaspace, ///< `pattern` is the replacement
    ByteFallback,
    Fuse, ///< the following steps see one text, not tokens
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

/// A token that is found in the text before the model sees it. Its text is that
/// of the vocabulary's entry `id`.
struct AddedToken {
  TokenId id = 0;
  bool special = false;    ///< skipped by decode(skipSpecial)
  bool singleWord = false; ///< matches only if no word character is next to it
  bool lstrip = false;     ///< takes the white space before it
  bool rstrip = false;     ///< takes the white space after it
  bool normalized = false; ///< is looked for in the normalized text
};

struct TokenizerSpec {
  ModelKind kind = ModelKind::BPE;
  std::vector<Token> tokens; ///< tokens[id]
  std::vector<Merge> merges; ///< BPE only
  std::vector<NormalizerStep> normalizer;
  std::vector<PreTokenizerStep> preTokenizer;
  /// Empty if tokens are joined by spaces.
  std::vector<DecoderStep> decoder;
  std::vector<AddedToken> addedTokens;

  /// The ids that encode(addSpecial) puts around a text.
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;

  std::optional<TokenId> unknown;
  std::optional<TokenId> beginOfText;
  std::vector<TokenId> endOfText; ///< all tokens that end a generation

  /// Text that the vocabulary lacks becomes <0xHH> tokens.
  bool byteFallback = false;
  bool fuseUnknown = false;  ///< a run of unknown characters is one token
  bool ignoreMerges = false; ///< a piece that is a token becomes that token

  std::string chatTemplate; ///< empty if there is none
  /// The chat template for conversations with tools; empty if chatTemplate
  /// serves all conversations. Models with several templates name it
  /// "tool_use".
  std::string toolTemplate;

  /// Checks that the spec can be run: every token has a text of its own, every
  /// id is inside the vocabulary, every merge makes what it says. The error
  /// names the token.
  Status validate() const;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENIZERSPEC_H
