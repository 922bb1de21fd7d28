//===- Tokenizer.cpp - converts text to token ids and back ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Tokenizer.h"

#include "runtime/text/AddedTokenMatcher.h"
#include "runtime/text/Decoder.h"
#include "runtime/text/Detokenizer.h"
#include "runtime/text/Normalizer.h"
#include "runtime/text/PreTokenizer.h"
#include "runtime/text/TokenIndex.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/TokenizerBlob.h"
#include "runtime/text/Utf8.h"

#include <unordered_map>

using namespace sluice;
using namespace sluice::text;

/// The tables of a tokenizer. Its other members refer to `spec` and `index`.
struct Tokenizer::Tables {
  Tables(TokenizerSpec spec) : spec(std::move(spec)), index(0) {}

  Status addMatchers();
  Status encodeSegment(std::string_view text, bool atStart, bool parseSpecial,
                       ModelScratch &scratch, std::vector<TokenId> &ids) const;
  Status encodePieces(std::string_view text, bool atStart,
                      ModelScratch &scratch, std::vector<TokenId> &ids) const;

  TokenizerSpec spec;
  TokenIndex index;
  std::optional<Normalizer> normalizer;
  std::optional<PreTokenizer> preTokenizer;
  std::optional<Decoder> decoder;
  std::unique_ptr<TokenModel> model;
  AddedTokenMatcher rawMatcher;        // matches in the given text
  AddedTokenMatcher normalizedMatcher; // matches in the normalized text
  std::vector<bool> special;           // special[id]
  std::unordered_map<TokenId, std::string> normalizedSpelling;
};

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables)
    : tables(std::move(tables)) {}

Status Tokenizer::Tables::addMatchers() {
  special.resize(spec.tokens.size());
  for (size_t id = 0; id < spec.tokens.size(); ++id)
    special[id] = spec.tokens[id].type == TokenType::Control;
  for (const AddedToken &added : spec.addedTokens) {
    special[added.id] = added.special;
    const std::string &text = spec.tokens[added.id].text;
    if (!added.normalized) {
      rawMatcher.add(text, added);
      continue;
    }
    Expected<std::string> normalized = normalizer->normalize(text);
    if (!normalized)
      return normalized.status();
    normalizedMatcher.add(*normalized, added);
    if (!normalized->empty() && *normalized != text)
      normalizedSpelling[added.id] = normalized.take();
  }
  return {};
}

Expected<Tokenizer> Tokenizer::create(TokenizerSpec spec) {
  auto tables = std::make_shared<Tables>(std::move(spec));
  Expected<TokenIndex> index = validateAndIndex(tables->spec);
  if (!index)
    return index.status();
  tables->index = index.take();
  Expected<Normalizer> normalizer = Normalizer::create(tables->spec.normalizer);
  if (!normalizer)
    return normalizer.status();
  tables->normalizer = normalizer.take();
  Expected<PreTokenizer> preTokenizer = PreTokenizer::create(
      tables->spec.preTokenizer, tables->spec.kind == ModelKind::BPE);
  if (!preTokenizer)
    return preTokenizer.status();
  tables->preTokenizer = preTokenizer.take();
  Expected<Decoder> decoder = Decoder::create(tables->spec.decoder);
  if (!decoder)
    return decoder.status();
  tables->decoder = decoder.take();
  tables->model = createModel(tables->spec, tables->index,
                              tables->preTokenizer->givesBytes());
  Status status = tables->addMatchers();
  if (!status.ok())
    return status;
  return Tokenizer(std::move(tables));
}

Tokenizer Tokenizer::none() {
  auto tables = std::make_shared<Tables>(TokenizerSpec());
  tables->decoder = Decoder::create({}).take();
  return Tokenizer(std::move(tables));
}

Expected<Tokenizer> Tokenizer::load(std::span<const uint8_t> blob) {
  Expected<TokenizerSpec> spec = parseTokenizer(blob);
  if (!spec)
    return spec.status();
  return create(spec.take());
}

/// Appends the model's ids of text without added tokens.
Status Tokenizer::Tables::encodePieces(std::string_view text, bool atStart,
                                       ModelScratch &scratch,
                                       std::vector<TokenId> &ids) const {
  Expected<Pieces> pieces = preTokenizer->split(text, atStart);
  if (!pieces)
    return pieces.status();
  for (std::string_view piece : pieces->list) {
    Status status = model->encode(piece, scratch, ids);
    if (!status.ok())
      return status;
  }
  return {};
}

/// Appends the ids of the text between two added tokens that match before
/// normalization.
Status Tokenizer::Tables::encodeSegment(std::string_view text, bool atStart,
                                        bool parseSpecial,
                                        ModelScratch &scratch,
                                        std::vector<TokenId> &ids) const {
  std::string storage;
  if (!normalizer->isIdentity()) {
    Expected<std::string> normalized = normalizer->normalize(std::string(text));
    if (!normalized)
      return normalized.status();
    storage = normalized.take();
    text = storage;
    if (text.size() > maxTextBytes)
      return failure("the normalized text is longer than 1 GiB");
  }
  std::vector<AddedTokenMatcher::Segment> segments;
  normalizedMatcher.split(text, parseSpecial, segments);
  for (const AddedTokenMatcher::Segment &segment : segments) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
      continue;
    }
    bool first = atStart && &segment == segments.data();
    Status status = encodePieces(segment.text, first, scratch, ids);
    if (!status.ok())
      return status;
  }
  return {};
}

Expected<std::vector<TokenId>>
Tokenizer::encode(std::string_view text, bool addSpecial, bool parseSpecial,
                  std::span<const size_t> literal) const {
  if (text.size() > maxTextBytes)
    return failure("the text is longer than 1 GiB");
  std::string repaired;
  if (!isValidUtf8(text)) {
    repaired = replaceInvalidUtf8(text);
    text = repaired;
    // The offsets refer to the text before its invalid bytes were replaced.
    parseSpecial = parseSpecial && literal.empty();
  }
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 8);
  const TokenizerSpec &spec = tables->spec;
  if (spec.tokens.empty())
    return failure("this model has no tokenizer; give token ids");
  if (addSpecial)
    ids = spec.prefix;
  std::unique_ptr<ModelScratch> scratch =
      tables->model->makeScratch(text.size());
  std::vector<AddedTokenMatcher::Segment> segments;
  tables->rawMatcher.split(text, parseSpecial, segments, literal);
  for (const AddedTokenMatcher::Segment &segment : segments) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
      continue;
    }
    bool first = segment.text.data() == text.data();
    // The places of literal spellings in the normalized text are unknown, so no
    // spelling in a segment that has one counts as special.
    const auto begin = static_cast<size_t>(segment.text.data() - text.data());
    auto next = std::ranges::lower_bound(literal, begin);
    const bool isLiteral =
        next != literal.end() && *next < begin + segment.text.size();
    Status status = tables->encodeSegment(
        segment.text, first, parseSpecial && !isLiteral, *scratch, ids);
    if (!status.ok())
      return status.withContext("tokenizer");
  }
  if (addSpecial)
    ids.insert(ids.end(), spec.suffix.begin(), spec.suffix.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids,
                              bool skipSpecial) const {
  DecoderState state;
  state.keepRuns = true;
  std::string text;
  for (TokenId id : ids) {
    std::string_view token = decodedText(id);
    if (!token.empty() && !(skipSpecial && isSpecial(id)))
      text += tables->decoder->push(token, state);
  }
  return text + tables->decoder->flush(state);
}

int64_t Tokenizer::vocabularySize() const {
  return static_cast<int64_t>(tables->spec.tokens.size());
}

std::string_view Tokenizer::tokenText(TokenId id) const {
  if (id < 0 || id >= vocabularySize())
    return {};
  return tables->spec.tokens[id].text;
}

std::string_view Tokenizer::decodedText(TokenId id) const {
  auto normalized = tables->normalizedSpelling.find(id);
  return normalized != tables->normalizedSpelling.end()
             ? std::string_view(normalized->second)
             : tokenText(id);
}

std::optional<TokenId> Tokenizer::tokenId(std::string_view text) const {
  return tables->index.find(text);
}

bool Tokenizer::isSpecial(TokenId id) const {
  return id >= 0 && id < vocabularySize() && tables->special[id];
}

const TokenizerSpec &Tokenizer::spec() const { return tables->spec; }

const Decoder &Tokenizer::decoder() const { return *tables->decoder; }

Detokenizer::Detokenizer(Tokenizer tokenizer, bool skipSpecial)
    : tokenizer(std::move(tokenizer)), skipSpecial(skipSpecial) {}

std::string Detokenizer::push(TokenId id) {
  std::string_view text = tokenizer.decodedText(id);
  if (text.empty() || (skipSpecial && tokenizer.isSpecial(id)))
    return {};
  return tokenizer.decoder().push(text, state);
}

std::string Detokenizer::flush() { return tokenizer.decoder().flush(state); }
