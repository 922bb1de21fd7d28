//===- TokenBytes.cpp - the bytes that a token adds to a text -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenBytes.h"

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Decoder.h"

#include <algorithm>
#include <charconv>

using namespace sluice;
using namespace sluice::text;

static bool decodes(const TokenizerSpec &spec, DecoderStep::Kind kind) {
  return std::ranges::any_of(
      spec.decoder, [&](const DecoderStep &step) { return step.kind == kind; });
}

/// Returns the byte of a token spelled <0xHH>.
static char byteOf(std::string_view spelling) {
  uint8_t byte = 0;
  std::from_chars(spelling.data() + 3, spelling.data() + 5, byte, 16);
  return static_cast<char>(byte);
}

std::string text::tokenBytes(const Tokenizer &tokenizer, TokenId id) {
  std::string_view name = tokenizer.tokenText(id);
  if (name.empty() || tokenizer.isSpecial(id))
    return std::string(name);
  std::string_view spelling = tokenizer.decodedText(id);
  const TokenizerSpec &spec = tokenizer.spec();
  std::string bytes;
  if (decodes(spec, DecoderStep::Kind::ByteLevel)) {
    appendSpelledBytes(bytes, spelling);
    return bytes;
  }
  if (spec.tokens[static_cast<size_t>(id)].type == TokenType::Byte &&
      decodes(spec, DecoderStep::Kind::ByteFallback) && spelling.size() == 6)
    return std::string(1, byteOf(spelling));
  // Decode it after another token, so that it is not at the start of the text.
  DecoderState state;
  tokenizer.decoder().push("a", state);
  bytes = tokenizer.decoder().push(spelling, state);
  return bytes + state.pending;
}
