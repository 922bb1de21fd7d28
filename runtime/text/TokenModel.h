//===- TokenModel.h - converts a piece of text to token ids ---------------===//
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

/// Holds what a model keeps between the pieces of one text: buffers and a
/// cache. Made by the model, used by one thread.
class ModelScratch {
public:
  virtual ~ModelScratch() = default;
};

/// The last stage of encoding, which converts pieces to ids. Immutable and
/// thread-safe.
class TokenModel {
public:
  virtual ~TokenModel() = default;

  /// Makes buffers for a text of about `textBytes` bytes.
  virtual std::unique_ptr<ModelScratch> makeScratch(size_t textBytes) const = 0;

  /// Appends the ids of `piece`, which is not empty. Errors: the vocabulary
  /// lacks a character, and there is no unknown token.
  virtual Status encode(std::string_view piece, ModelScratch &scratch,
                        std::vector<TokenId> &ids) const = 0;
};

/// The tokens <0x00> to <0xFF>, which spell bytes that the vocabulary lacks.
class ByteTokens {
public:
  /// Finds none of the tokens if the spec does not use them.
  ByteTokens(const TokenizerSpec &spec, const TokenIndex &index);

  /// Appends a token for each byte. If a byte has no token, appends nothing and
  /// returns false.
  bool append(std::string_view bytes, std::vector<TokenId> &ids) const;

private:
  std::array<TokenId, 256> tokenOf;
};

/// Returns whether the model itself may make the token from text.
bool isMadeFromText(const Token &token);

/// Returns the error for a character that the vocabulary lacks when there is no
/// unknown token; `text` begins with the character.
Status noTokenFor(std::string_view text);

/// Creates the model of `spec`; `spec` and `index` must outlive it. With
/// `bytes`, which requires a BPE model, its pieces are plain bytes instead of
/// their spelling.
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
