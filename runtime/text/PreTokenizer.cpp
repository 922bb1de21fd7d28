//===- PreTokenizer.cpp - splits text into the model's pieces -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/PreTokenizer.h"

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Normalizer.h"
#include "runtime/text/Splitter.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

using namespace sluice;
using namespace sluice::text;

using Kind = PreTokenizerStep::Kind;

namespace {

constexpr std::string_view gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|)"
    R"(\s+(?!\S)|\s+)";

// The words of Whitespace are those of Rust's regex crate.
constexpr std::string_view wordsPattern =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|)"
    R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+)";

/// Returns each character of `text` for which `isMatch` holds, each as its own
/// match.
template <typename Predicate>
std::vector<Span> matchCharacters(std::string_view text, Predicate isMatch) {
  std::vector<Span> matches;
  for (size_t offset = 0; offset < text.size();) {
    size_t begin = offset;
    if (isMatch(nextCodePoint(text, offset)))
      matches.push_back({begin, offset});
  }
  return matches;
}

std::vector<Span> matchString(std::string_view text, std::string_view pattern) {
  std::vector<Span> matches;
  for (size_t hit = text.find(pattern); hit != std::string_view::npos;
       hit = text.find(pattern, hit + pattern.size()))
    matches.push_back({hit, hit + pattern.size()});
  return matches;
}

} // namespace

Expected<PreTokenizer>
PreTokenizer::create(const std::vector<PreTokenizerStep> &plainSteps,
                     bool keepBytes) {
  PreTokenizer result;
  for (const PreTokenizerStep &plain : plainSteps) {
    Step step{plain, std::nullopt};
    bool needsText =
        plain.kind == Kind::SplitString || plain.kind == Kind::Metaspace;
    if (needsText && plain.pattern.empty())
      return failure("pre-tokenizer: an empty pattern to split at");
    if (plain.kind == Kind::Metaspace &&
        characterLength(plain.pattern[0]) != plain.pattern.size())
      return failure("pre-tokenizer: Metaspace's replacement is not one "
                     "character");
    std::optional<Expected<Regex>> regex;
    if (plain.kind == Kind::SplitRegex)
      regex = Regex::fromOniguruma(plain.pattern);
    if (plain.kind == Kind::ByteLevel && plain.flag)
      regex = Regex::fromOniguruma(gpt2Pattern);
    if (plain.kind == Kind::Whitespace)
      regex = Regex::fromPcre2(wordsPattern);
    if (regex && !regex->ok())
      return regex->status().withContext("pre-tokenizer");
    if (regex)
      step.regex = regex->take();
    result.steps.push_back(std::move(step));
  }
  result.bytes = keepBytes && !result.steps.empty() &&
                 result.steps.back().plain.kind == Kind::ByteLevel;
  return result;
}

/// Returns the matches of one step in one piece. A step that rewrites the piece
/// does that first, into `pieces.rewritten`.
static Expected<std::vector<Span>> matchesOf(const PreTokenizerStep &step,
                                             const std::optional<Regex> &regex,
                                             std::string_view piece) {
  std::vector<Span> matches;
  switch (step.kind) {
  case Kind::SplitRegex:
  case Kind::ByteLevel:
  case Kind::Whitespace: {
    Status status = regex->findAll(piece, matches);
    if (!status.ok())
      return status.withContext("pre-tokenizer");
    return matches;
  }
  case Kind::SplitString:
  case Kind::Metaspace:
    return matchString(piece, step.pattern);
  case Kind::WhitespaceSplit:
    return matchCharacters(piece, isWhiteSpace);
  case Kind::Digits:
    return matchCharacters(piece, isNumber);
  case Kind::Punctuation:
    return matchCharacters(piece, isPunctuation);
  }
  return failure("pre-tokenizer: unknown step");
}

/// Returns how the step splits at its matches: {behavior, invert}.
static std::pair<SplitBehavior, bool> cutOf(const PreTokenizerStep &step) {
  switch (step.kind) {
  case Kind::Metaspace:
    return {SplitBehavior::MergedWithNext, false};
  case Kind::Whitespace:
    return {SplitBehavior::Removed, true};
  case Kind::WhitespaceSplit:
    return {SplitBehavior::Removed, false};
  case Kind::Digits:
    return {step.flag ? SplitBehavior::Isolated : SplitBehavior::Contiguous,
            false};
  case Kind::ByteLevel:
    return {SplitBehavior::Isolated, false};
  default:
    return {step.behavior, step.invert};
  }
}

/// Returns the piece with the step's space in front and its replacements made.
static Expected<std::string_view> prepare(const PreTokenizerStep &step,
                                          std::string_view piece, bool first,
                                          std::deque<std::string> &rewritten) {
  if (step.kind == Kind::ByteLevel && step.prefixSpace &&
      !piece.starts_with(' '))
    return std::string_view(rewritten.emplace_back(" " + std::string(piece)));
  if (step.kind != Kind::Metaspace)
    return piece;
  Expected<std::string> replaced = replaceAll(piece, " ", step.pattern);
  if (!replaced)
    return replaced.status();
  std::string text = replaced.take();
  bool wanted = step.scheme == PrependScheme::Always ||
                (step.scheme == PrependScheme::First && first);
  if (wanted && !text.starts_with(step.pattern))
    text = step.pattern + text;
  return std::string_view(rewritten.emplace_back(std::move(text)));
}

Status PreTokenizer::run(const Step &step, bool spell, Pieces &pieces) {
  std::vector<std::string_view> out;
  out.reserve(pieces.list.size());
  bool cuts = (step.plain.kind != Kind::ByteLevel &&
               step.plain.kind != Kind::Metaspace) ||
              step.plain.flag;
  auto [behavior, invert] = cutOf(step.plain);
  bool first = pieces.atStart;
  for (std::string_view given : pieces.list) {
    Expected<std::string_view> prepared =
        prepare(step.plain, given, first, pieces.rewritten);
    if (!prepared)
      return prepared.status();
    std::string_view piece = *prepared;
    size_t begin = out.size();
    if (cuts) {
      Expected<std::vector<Span>> matches =
          matchesOf(step.plain, step.regex, piece);
      if (!matches)
        return matches.status();
      splitAt(piece, *matches, behavior, invert, out);
    } else {
      out.push_back(piece);
    }
    if (first)
      pieces.atStart &= !out.empty() && out[0].data() == piece.data();
    first = false;
    if (!spell)
      continue;
    for (size_t i = begin; i < out.size(); ++i)
      out[i] = pieces.rewritten.emplace_back(spellBytes(out[i]));
  }
  pieces.list = std::move(out);
  return {};
}

Expected<Pieces> PreTokenizer::split(std::string_view text,
                                     bool atStart) const {
  Pieces pieces;
  if (text.empty())
    return pieces;
  pieces.list.push_back(text);
  pieces.atStart = atStart;
  for (const Step &step : steps) {
    bool last = &step == &steps.back();
    bool spell = step.plain.kind == Kind::ByteLevel && !(last && bytes);
    Status status = run(step, spell, pieces);
    if (!status.ok())
      return status;
    if (pieces.list.empty())
      break;
  }
  return pieces;
}
