//===- TokenizerSpec.cpp - validates a tokenizer's description ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenizerSpec.h"

#include "runtime/text/TokenIndex.h"
#include "runtime/text/Utf8.h"

#include <cmath>

using namespace sluice;
using namespace sluice::text;

namespace {

constexpr size_t maxTokens = 1 << 24;

/// Returns a token's text for a message, in quotes and on one line.
std::string inQuotes(std::string_view text) {
  std::string out = "'";
  for (char c : text.substr(0, 60))
    out += static_cast<uint8_t>(c) < 0x20 || c == 0x7F ? '?' : c;
  return replaceInvalidUtf8(out) + (text.size() > 60 ? "...'" : "'");
}

Status checkTokens(const TokenizerSpec &spec, TokenIndex &index) {
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const Token &token = spec.tokens[i];
    auto id = static_cast<TokenId>(i);
    if (token.text.empty())
      return failure("token ", id, " has no text");
    if (!isValidUtf8(token.text))
      return failure("token ", id, " ", inQuotes(token.text), " is not UTF-8");
    if (!std::isfinite(token.score))
      return failure("token ", id, " ", inQuotes(token.text),
                     " has a score that is not a number");
    if (std::optional<TokenId> other = index.insert(token.text, id))
      return failure("tokens ", *other, " and ", id, " are both ",
                     inQuotes(token.text));
  }
  return {};
}

class Checker {
public:
  explicit Checker(const TokenizerSpec &spec) : spec(spec) {}

  Status run() const {
    for (auto check : {&Checker::checkMerges, &Checker::checkAddedTokens,
                       &Checker::checkIds, &Checker::checkSteps}) {
      Status status = (this->*check)();
      if (!status.ok())
        return status;
    }
    return {};
  }

private:
  bool isToken(TokenId id) const {
    return id >= 0 && static_cast<size_t>(id) < spec.tokens.size();
  }

  Status outside(std::string_view what, TokenId id) const {
    return failure(what, " ", id, " is outside the vocabulary of ",
                   spec.tokens.size(), " tokens");
  }

  Status checkMerges() const {
    if (spec.kind != ModelKind::BPE && !spec.merges.empty())
      return failure("merges in a model that has none");
    for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
      const Merge &merge = spec.merges[rank];
      for (TokenId id : {merge.left, merge.right, merge.result})
        if (!isToken(id))
          return outside("merge " + std::to_string(rank) + " names token", id);
      std::string_view left = spec.tokens[merge.left].text;
      std::string_view right = spec.tokens[merge.right].text;
      std::string_view result = spec.tokens[merge.result].text;
      if (result.size() != left.size() + right.size() ||
          !result.starts_with(left) || !result.ends_with(right))
        return failure("merge ", rank, " of ", inQuotes(left), " and ",
                       inQuotes(right), " does not make ", inQuotes(result));
    }
    return {};
  }

  Status checkAddedTokens() const {
    std::vector<bool> seen(spec.tokens.size());
    for (const AddedToken &added : spec.addedTokens) {
      if (!isToken(added.id))
        return outside("added token", added.id);
      if (seen[added.id])
        return failure("added token ", added.id, " ",
                       inQuotes(spec.tokens[added.id].text), " is there twice");
      seen[added.id] = true;
    }
    return {};
  }

  Status checkIds() const {
    for (TokenId id : spec.prefix)
      if (!isToken(id))
        return outside("the template's token", id);
    for (TokenId id : spec.suffix)
      if (!isToken(id))
        return outside("the template's token", id);
    for (TokenId id : spec.endOfText)
      if (!isToken(id))
        return outside("the end-of-text token", id);
    if (spec.beginOfText && !isToken(*spec.beginOfText))
      return outside("the begin-of-text token", *spec.beginOfText);
    if (spec.unknown && !isToken(*spec.unknown))
      return outside("the unknown token", *spec.unknown);
    return {};
  }

  Status checkSteps() const {
    bool valid =
        isValidUtf8(spec.chatTemplate) && isValidUtf8(spec.toolTemplate);
    for (const NormalizerStep &step : spec.normalizer)
      valid &= (step.kind == NormalizerStep::Kind::Precompiled ||
                isValidUtf8(step.pattern)) &&
               isValidUtf8(step.content);
    for (const PreTokenizerStep &step : spec.preTokenizer)
      valid &= isValidUtf8(step.pattern);
    for (const DecoderStep &step : spec.decoder)
      valid &= isValidUtf8(step.pattern) && isValidUtf8(step.content);
    return valid ? Status() : failure("a pattern or template is not UTF-8");
  }

  const TokenizerSpec &spec;
};

} // namespace

Expected<TokenIndex> sluice::text::validateAndIndex(const TokenizerSpec &spec) {
  if (spec.tokens.empty())
    return failure("the vocabulary is empty");
  if (spec.tokens.size() > maxTokens)
    return failure("a vocabulary of ", spec.tokens.size(),
                   " tokens is too large");
  TokenIndex index(spec.tokens.size());
  Status status = checkTokens(spec, index);
  if (!status.ok())
    return status;
  status = Checker(spec).run();
  if (!status.ok())
    return status;
  return index;
}

Status TokenizerSpec::validate() const {
  return validateAndIndex(*this).status();
}
