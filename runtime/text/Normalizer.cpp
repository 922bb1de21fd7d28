//===- Normalizer.cpp - rewrites text before tokenization -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Normalizer.h"

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <cstdlib>
#include <utf8proc.h>

using namespace sluice;
using namespace sluice::text;

using Kind = NormalizerStep::Kind;

/// Converts to one of Unicode's normalization forms.
static Expected<std::string> composeOrDecompose(const std::string &text,
                                                int options) {
  utf8proc_uint8_t *result = nullptr;
  utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &result,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options));
  if (length < 0)
    return failure("normalizing text: ", utf8proc_errmsg(length));
  std::string out(reinterpret_cast<char *>(result),
                  static_cast<size_t>(length));
  std::free(result);
  return out;
}

static bool isAscii(std::string_view text) {
  for (char c : text)
    if (static_cast<uint8_t>(c) >= 0x80)
      return false;
  return true;
}

static std::string lowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    uint32_t code = nextCodePoint(text, offset);
    appendCodePoint(out, static_cast<uint32_t>(utf8proc_tolower(
                             static_cast<utf8proc_int32_t>(code))));
    if (code == 0x130) // the only letter whose lower case is two characters
      appendCodePoint(out, 0x307);
  }
  return out;
}

static std::string stripAccents(std::string_view text) {
  std::string out;
  for (size_t offset = 0; offset < text.size();) {
    size_t begin = offset;
    if (!isMark(nextCodePoint(text, offset)))
      out.append(text.substr(begin, offset - begin));
  }
  return out;
}

static std::string_view stripSpace(std::string_view text, bool left,
                                   bool right) {
  size_t offset = 0;
  while (left && offset < text.size()) {
    size_t begin = offset;
    if (!isWhiteSpace(nextCodePoint(text, offset))) {
      offset = begin;
      break;
    }
  }
  text.remove_prefix(offset);
  while (right && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80)
      --begin;
    size_t last = begin;
    if (!isWhiteSpace(nextCodePoint(text, last)))
      break;
    text = text.substr(0, begin);
  }
  return text;
}

static Status tooLong() { return failure("replacing makes the text too long"); }

Expected<std::string> sluice::text::replaceAll(std::string_view text,
                                               std::string_view pattern,
                                               std::string_view content,
                                               size_t limit) {
  std::string out;
  out.reserve(text.size());
  size_t from = 0;
  for (size_t hit; (hit = text.find(pattern, from)) != std::string_view::npos;
       from = hit + pattern.size()) {
    out.append(text.substr(from, hit - from));
    out.append(content);
    if (out.size() > limit)
      return tooLong();
  }
  out.append(text.substr(from));
  return out;
}

Expected<std::string> sluice::text::replaceAll(std::string_view text,
                                               const Regex &pattern,
                                               std::string_view content,
                                               size_t limit) {
  std::vector<Span> matches;
  // As in Hugging Face, no pattern matches in an empty text.
  if (text.empty())
    return std::string();
  Status status = pattern.findAll(text, matches);
  if (!status.ok())
    return status;
  std::string out;
  size_t from = 0;
  for (const Span &match : matches) {
    out.append(text.substr(from, match.begin - from));
    out.append(content);
    from = match.end;
    if (out.size() > limit)
      return tooLong();
  }
  out.append(text.substr(from));
  return out;
}

Expected<Normalizer>
Normalizer::create(const std::vector<NormalizerStep> &plainSteps) {
  Normalizer normalizer;
  for (const NormalizerStep &plain : plainSteps) {
    Step step{plain, std::nullopt, std::nullopt};
    if (plain.kind == Kind::ReplaceString && plain.pattern.empty())
      return failure("normalizer: an empty pattern to replace");
    if (plain.kind == Kind::ReplaceRegex) {
      Expected<Regex> regex = Regex::fromOniguruma(plain.pattern);
      if (!regex)
        return regex.status().withContext("normalizer");
      step.regex = regex.take();
    }
    if (plain.kind == Kind::Precompiled) {
      Expected<CharacterMap> map = CharacterMap::parse(plain.pattern);
      if (!map)
        return map.status().withContext("normalizer");
      step.map = map.take();
    }
    normalizer.steps.push_back(std::move(step));
  }
  return normalizer;
}

Expected<std::string> Normalizer::run(const Step &step, std::string text) {
  switch (step.plain.kind) {
  case Kind::NFC:
    return isAscii(text) ? std::move(text)
                         : composeOrDecompose(text, UTF8PROC_COMPOSE);
  case Kind::NFD:
    return isAscii(text) ? std::move(text)
                         : composeOrDecompose(text, UTF8PROC_DECOMPOSE);
  case Kind::NFKC:
    return isAscii(text)
               ? std::move(text)
               : composeOrDecompose(text, UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  case Kind::NFKD:
    return isAscii(text)
               ? std::move(text)
               : composeOrDecompose(text, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  case Kind::Lowercase:
    return lowercase(text);
  case Kind::StripAccents:
    return stripAccents(text);
  case Kind::Strip:
    return std::string(stripSpace(text, step.plain.left, step.plain.right));
  case Kind::Prepend:
    return text.empty() ? std::move(text) : step.plain.content + text;
  case Kind::ReplaceString:
    return replaceAll(text, step.plain.pattern, step.plain.content);
  case Kind::ReplaceRegex:
    return replaceAll(text, *step.regex, step.plain.content);
  case Kind::Precompiled:
    return step.map->apply(text);
  case Kind::ByteLevel:
    return spellBytes(text);
  }
  return failure("normalizer: unknown step");
}

Expected<std::string> Normalizer::normalize(std::string text) const {
  for (const Step &step : steps) {
    Expected<std::string> next = run(step, std::move(text));
    if (!next)
      return next;
    text = next.take();
  }
  return text;
}
