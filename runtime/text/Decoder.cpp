//===- Decoder.cpp - decodes token ids to text ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Decoder.h"

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Normalizer.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::text;

using Kind = DecoderStep::Kind;

/// Returns the byte of a token spelled <0xHH>.
static std::optional<uint8_t> byteOf(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return std::nullopt;
  uint32_t byte = 0;
  for (char c : token.substr(3, 2)) {
    uint32_t digit = c >= '0' && c <= '9'   ? c - '0'
                     : c >= 'A' && c <= 'F' ? c - 'A' + 10
                     : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                            : 16;
    if (digit > 15)
      return std::nullopt;
    byte = byte * 16 + digit;
  }
  return static_cast<uint8_t>(byte);
}

/// The longest result of a replacement in a token. A token stays as it is if
/// its replacement would be longer, or if matching it exceeds the limits of its
/// pattern.
static constexpr size_t maxTokenBytes = size_t(1) << 20;

static std::string orSame(Expected<std::string> replaced,
                          const std::string &token) {
  return replaced ? replaced.take() : token;
}

/// Counts how often, up to `max`, `text` begins with `unit`.
static size_t countFront(std::string_view text, std::string_view unit,
                         size_t max) {
  size_t count = 0;
  while (count < max && text.substr(count * unit.size()).starts_with(unit))
    ++count;
  return count;
}

static size_t countBack(std::string_view text, std::string_view unit,
                        size_t max) {
  size_t count = 0;
  while (count < max && text.ends_with(unit)) {
    text.remove_suffix(unit.size());
    ++count;
  }
  return count;
}

Status Decoder::addTokenStep(const DecoderStep &plain) {
  Step step{plain, std::nullopt};
  switch (plain.kind) {
  case Kind::Fuse:
    fused = true;
    return {};
  case Kind::ByteLevel:
    byteLevel = fused = true;
    break;
  case Kind::ByteFallback:
    if (byteFallback)
      return failure("decoder: ByteFallback twice");
    byteFallback = true;
    stepsBeforeFallback = tokenSteps.size();
    return {};
  case Kind::ReplaceRegex: {
    Expected<Regex> regex = Regex::fromOniguruma(plain.pattern);
    if (!regex)
      return regex.status().withContext("decoder");
    step.regex = regex.take();
    [[fallthrough]];
  }
  case Kind::Strip:
    if (byteFallback)
      return failure("decoder: a Strip or a Replace by a regular expression "
                     "between ByteFallback and Fuse is not supported");
    break;
  case Kind::Metaspace:
  case Kind::ReplaceString:
    break;
  }
  tokenSteps.push_back(std::move(step));
  return {};
}

Status Decoder::addTextStep(const DecoderStep &plain) {
  if (plain.kind == Kind::Fuse)
    return {};
  bool oneCharacter = !plain.pattern.empty() &&
                      characterLength(plain.pattern[0]) == plain.pattern.size();
  if (plain.kind != Kind::Strip &&
      !(plain.kind == Kind::ReplaceString && oneCharacter))
    return failure("decoder: behind Fuse or ByteLevel only Strip and the "
                   "Replace of one character are supported");
  textSteps.push_back({plain, std::nullopt});
  return {};
}

Expected<Decoder> Decoder::create(const std::vector<DecoderStep> &steps) {
  Decoder decoder;
  decoder.joinWithSpaces = steps.empty();
  for (const DecoderStep &plain : steps) {
    bool needsPattern =
        plain.kind == Kind::Metaspace || plain.kind == Kind::ReplaceString;
    if ((needsPattern && plain.pattern.empty()) ||
        (plain.kind == Kind::Strip && plain.content.empty()))
      return failure("decoder: an empty pattern");
    Status status = decoder.fused ? decoder.addTextStep(plain)
                                  : decoder.addTokenStep(plain);
    if (!status.ok())
      return status;
  }
  return decoder;
}

std::string Decoder::applyToToken(const Step &step, std::string token,
                                  bool first) {
  const DecoderStep &plain = step.plain;
  switch (plain.kind) {
  case Kind::ByteLevel: {
    std::string bytes;
    appendSpelledBytes(bytes, token);
    return bytes;
  }
  case Kind::Metaspace: {
    bool drop = first && plain.scheme != PrependScheme::Never;
    return orSame(replaceAll(token, plain.pattern, drop ? "" : " "), token);
  }
  case Kind::ReplaceString:
    return orSame(
        replaceAll(token, plain.pattern, plain.content, maxTokenBytes), token);
  case Kind::ReplaceRegex:
    return orSame(replaceAll(token, *step.regex, plain.content, maxTokenBytes),
                  token);
  case Kind::Strip: {
    size_t unit = plain.content.size();
    size_t front = countFront(token, plain.content, plain.start);
    token.erase(0, front * unit);
    size_t back = countBack(token, plain.content, plain.stop);
    token.resize(token.size() - back * unit);
    return token;
  }
  case Kind::ByteFallback:
  case Kind::Fuse:
    break;
  }
  return token;
}

/// Appends `bytes` to the pending ones and takes the whole characters from
/// their front. Invalid UTF-8 becomes U+FFFD.
std::string Decoder::completeCharacters(DecoderState &state,
                                        std::string_view bytes,
                                        bool byteToken) {
  state.pending.append(bytes);
  state.fromByteTokens = byteToken;
  if (byteToken && state.keepRuns)
    return {};
  std::string_view rest = state.pending;
  std::string out;
  while (!rest.empty()) {
    Utf8Character character = firstCharacter(rest);
    if (character.state == Utf8Character::State::Incomplete)
      break;
    if (character.state == Utf8Character::State::Valid) {
      out.append(rest.substr(0, character.length));
    } else {
      // Of byte tokens, each byte is replaced; of other tokens, each start of a
      // character.
      for (uint32_t i = 0; i < (byteToken ? character.length : 1); ++i)
        out.append(replacementCharacter);
    }
    rest.remove_prefix(character.length);
  }
  state.pending = std::string(rest);
  return out;
}

/// Returns the text of the pending bytes, when no more bytes of their kind
/// come.
std::string Decoder::endRun(DecoderState &state) {
  std::string out;
  if (state.fromByteTokens && isValidUtf8(state.pending)) {
    out = state.pending;
  } else {
    size_t count = state.fromByteTokens ? state.pending.size() : 1;
    for (size_t i = 0; i < count; ++i)
      out += replacementCharacter;
  }
  state.pending.clear();
  return out;
}

std::string Decoder::applyToText(std::string text, DecoderState &state) const {
  state.stripped.resize(textSteps.size());
  state.held.resize(textSteps.size());
  for (size_t i = 0; i < textSteps.size() && !text.empty(); ++i) {
    const DecoderStep &plain = textSteps[i].plain;
    if (plain.kind == Kind::ReplaceString) {
      text = orSame(
          replaceAll(text, plain.pattern, plain.content, maxTokenBytes), text);
      continue;
    }
    size_t unit = plain.content.size();
    size_t front =
        countFront(text, plain.content, plain.start - state.stripped[i]);
    text.erase(0, front * unit);
    state.stripped[i] += static_cast<uint32_t>(front);
    if (!text.empty()) // the start of the text has passed
      state.stripped[i] = plain.start;
    text = state.held[i] + text;
    size_t back = countBack(text, plain.content, plain.stop);
    state.held[i] = text.substr(text.size() - back * unit);
    text.resize(text.size() - back * unit);
  }
  return text;
}

std::string Decoder::push(std::string_view token, DecoderState &state) const {
  bool first = !state.started;
  state.started = true;
  std::string text(token);
  size_t stepsBefore = byteFallback ? stepsBeforeFallback : tokenSteps.size();
  for (size_t i = 0; i < stepsBefore; ++i)
    text = applyToToken(tokenSteps[i], std::move(text), first);
  std::string out;
  if (std::optional<uint8_t> byte =
          byteFallback ? byteOf(text) : std::nullopt) {
    char c = static_cast<char>(*byte);
    out = completeCharacters(state, std::string_view(&c, 1), true);
    return applyToText(std::move(out), state);
  }
  for (size_t i = stepsBefore; i < tokenSteps.size(); ++i)
    text = applyToToken(tokenSteps[i], std::move(text), first);
  if (joinWithSpaces && !first)
    text = ' ' + text;
  if (state.fromByteTokens && !state.pending.empty())
    out += endRun(state);
  out += completeCharacters(state, text, false);
  return applyToText(std::move(out), state);
}

std::string Decoder::flush(DecoderState &state) const {
  std::string out;
  if (!state.pending.empty())
    out = applyToText(endRun(state), state);
  bool keepRuns = state.keepRuns;
  state = DecoderState();
  state.keepRuns = keepRuns;
  return out;
}
