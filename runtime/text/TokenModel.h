//===- TokenModel.h - turns a piece of text into token ids ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_TOKENMODEL_H
#define SLUICE_RUNTIME_TEXT_TOKENMODEL_H

#include "runtime/text/TokenIndex.h"
#include "runtime/text/TokenizerSpec.h"

#include <array>
#include <memory>
#include <span>

namespace sluice::text {

/// What a model keeps between the pieces of one text: buffers and a cache.
/// Made by the model, used by one thread.
class ModelScratch {
public:
  virtual ~ModelScratch() = default;
};

/// The last stage of encoding. Immutable and thread-safe.
class TokenModel {
public:
  virtual ~TokenModel() = default;

  /// Buffers for a text of about `textBytes` bytes.
  virtual std::unique_ptr<ModelScratch> makeScratch(size_t textBytes) const = 0;

  /// Appends the ids of `piece`, which is not empty. Errors: a character that
  /// the vocabulary lacks where there is no unknown token either.
  virtual Status encode(std::string_view piece, ModelScratch &scratch,
                        std::vector<TokenId> &ids) const = 0;
};

/// The tokens <0x00> to <0xFF>, for what the vocabulary lacks.
class ByteTokens {
public:
  /// None of them where the description does not use them.
  ByteTokens(const TokenizerSpec &spec, const TokenIndex &index);

  /// Appends a token for each byte, or nothing and false where one lacks its
  /// token.
  bool append(std::string_view bytes, std::vector<TokenId> &ids) const;

private:
  std::array<TokenId, 256> tokenOf;
};

/// Whether the model itself may make the token from text.
bool isMadeFromText(const Token &token);

/// The error for a character that is neither in the vocabulary nor may be
/// unknown; `text` begins with it.
Status noTokenFor(std::string_view text);

/// The model of `spec`, which with `index` must outlive it. With `bytes`, which
/// needs a model of merges, its pieces are bytes that stand for their spelling.
std::unique_ptr<TokenModel> createModel(const TokenizerSpec &spec,
                                        const TokenIndex &index, bool bytes);

std::unique_ptr<TokenModel> createBpeModel(const TokenizerSpec &spec,
                                           const TokenIndex &index, bool bytes);
std::unique_ptr<TokenModel> createSentencePieceModel(const TokenizerSpec &spec,
                                                     const TokenIndex &index);
std::unique_ptr<TokenModel> createUnigramModel(const TokenizerSpec &spec,
                                               const TokenIndex &index);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENMODEL_H
