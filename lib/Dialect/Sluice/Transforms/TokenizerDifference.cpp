//===- TokenizerDifference.cpp - differences of two tokenizers ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenizerDifference.h"

#include "sluice/Import/Support/Quote.h"

#include <algorithm>
#include <tuple>

using namespace sluice;
using namespace sluice::text;

//===----------------------------------------------------------------------===//
// Comparable forms of the parts
//===----------------------------------------------------------------------===//

static auto key(const Merge &m) { return std::tie(m.left, m.right, m.result); }

static auto key(const NormalizerStep &s) {
  return std::tie(s.kind, s.pattern, s.content, s.left, s.right);
}

static auto key(const PreTokenizerStep &s) {
  return std::tie(s.kind, s.pattern, s.behavior, s.scheme, s.invert, s.flag,
                  s.prefixSpace);
}

static auto key(const DecoderStep &s) {
  return std::tie(s.kind, s.pattern, s.content, s.scheme, s.start, s.stop);
}

static auto key(const AddedToken &t) {
  return std::tie(t.id, t.special, t.singleWord, t.lstrip, t.rstrip,
                  t.normalized);
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

static std::string number(size_t value) { return std::to_string(value); }

/// Returns whether this is a token rather than a placeholder, which pads a
/// vocabulary to the length of its table.
static bool isToken(const Token &token) {
  return !token.text.empty() && token.type != TokenType::Unused;
}

std::string sluice::findOtherToken(const TokenizerSpec &draft,
                                   const TokenizerSpec &target) {
  const auto &guessed = draft.tokens, &known = target.tokens;
  for (size_t id = 0; id < std::min(guessed.size(), known.size()); ++id)
    if (isToken(guessed[id]) && isToken(known[id]) &&
        guessed[id].text != known[id].text)
      return "token " + number(id) + " is " + quote(guessed[id].text) +
             ", the target's is " + quote(known[id].text);
  return "";
}

std::string sluice::findMissingTokens(const TokenizerSpec &draft,
                                      uint64_t draftRows,
                                      const TokenizerSpec &target) {
  size_t first = 0, missing = 0;
  const size_t known = std::min<size_t>(draft.tokens.size(), draftRows);
  for (size_t id = 0; id < target.tokens.size(); ++id) {
    if (!isToken(target.tokens[id]) ||
        (id < known && isToken(draft.tokens[id])))
      continue;
    if (missing++ == 0)
      first = id;
  }
  if (missing == 0)
    return "";
  return "it lacks " + number(missing) + " of the target's tokens, the first " +
         number(first) + ", " + quote(target.tokens[first].text);
}

static std::string compareScores(const TokenizerSpec &draft,
                                 const TokenizerSpec &target) {
  if (draft.kind == ModelKind::BPE)
    return "";
  size_t shared = std::min(draft.tokens.size(), target.tokens.size());
  for (size_t id = 0; id < shared; ++id)
    // Scores are compared in single precision because a GGUF file stores them
    // so.
    if (float(draft.tokens[id].score) != float(target.tokens[id].score))
      return "token " + number(id) + ", " + quote(target.tokens[id].text) +
             ", has another score than the target's";
  return "";
}

/// Compares two lists whose order matters.
template <typename T>
static std::string compareLists(const std::vector<T> &draft,
                                const std::vector<T> &target,
                                const std::string &what) {
  for (size_t i = 0; i < std::min(draft.size(), target.size()); ++i)
    if (key(draft[i]) != key(target[i]))
      return what + " " + number(i) + " is not the target's";
  if (draft.size() != target.size())
    return "the tokenizer has " + number(draft.size()) + " of the kind '" +
           what + "', the target's " + number(target.size());
  return "";
}

std::string sluice::findOtherRule(const TokenizerSpec &draft,
                                  const TokenizerSpec &target) {
  if (draft.kind != target.kind)
    return "the tokenizer is of another kind than the target's";
  for (const std::string &found :
       {compareScores(draft, target),
        compareLists(draft.merges, target.merges, "merge"),
        compareLists(draft.normalizer, target.normalizer, "normalizer step"),
        compareLists(draft.preTokenizer, target.preTokenizer,
                     "pre-tokenizer step"),
        compareLists(draft.decoder, target.decoder, "decoder step"),
        compareLists(draft.addedTokens, target.addedTokens, "added token")})
    if (!found.empty())
      return found;
  if (draft.prefix != target.prefix || draft.suffix != target.suffix)
    return "the tokenizer puts other tokens around a text than the target's";
  if (draft.unknown != target.unknown)
    return "the tokenizer has another token for what it does not know than "
           "the target's";
  for (auto [name, flag] :
       {std::pair("byte_fallback", &TokenizerSpec::byteFallback),
        std::pair("fuse_unk", &TokenizerSpec::fuseUnknown),
        std::pair("ignore_merges", &TokenizerSpec::ignoreMerges)})
    if (draft.*flag != target.*flag)
      return std::string("the tokenizer's ") + name + " is " +
             (draft.*flag ? "set" : "not set") + ", unlike the target's";
  return "";
}
