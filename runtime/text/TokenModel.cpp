//===- TokenModel.cpp - code shared by the token models -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenModel.h"

#include "runtime/text/Utf8.h"

#include <iomanip>

using namespace sluice;
using namespace sluice::text;

ByteTokens::ByteTokens(const TokenizerSpec &spec, const TokenIndex &index) {
  tokenOf.fill(-1);
  if (!spec.byteFallback)
    return;
  const char *digits = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string text = "<0x";
    text += digits[byte >> 4];
    text += digits[byte & 15];
    text += '>';
    tokenOf[byte] = index.find(text).value_or(-1);
  }
}

bool ByteTokens::append(std::string_view bytes,
                        std::vector<TokenId> &ids) const {
  for (char byte : bytes)
    if (tokenOf[static_cast<uint8_t>(byte)] < 0)
      return false;
  for (char byte : bytes)
    ids.push_back(tokenOf[static_cast<uint8_t>(byte)]);
  return true;
}

bool sluice::text::isMadeFromText(const Token &token) {
  return token.type != TokenType::Added && token.type != TokenType::Control &&
         token.type != TokenType::Unknown && token.type != TokenType::Byte;
}

Status sluice::text::noTokenFor(std::string_view text) {
  size_t offset = 0;
  std::ostringstream name;
  name << "U+" << std::hex << std::uppercase << std::setw(4)
       << std::setfill('0') << nextCodePoint(text, offset);
  return failure("the vocabulary has no token for ", name.str(),
                 " and no unknown token");
}

std::unique_ptr<TokenModel> sluice::text::createModel(const TokenizerSpec &spec,
                                                      const TokenIndex &index,
                                                      bool bytes) {
  switch (spec.kind) {
  case ModelKind::BPE:
    return createBpeModel(spec, index, bytes);
  case ModelKind::SentencePieceBPE:
    return createSentencePieceModel(spec, index);
  case ModelKind::Unigram:
    return createUnigramModel(spec, index);
  }
  return nullptr;
}
