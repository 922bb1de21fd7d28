//===- UnigramModel.cpp - the segmentation with the best score ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the Viterbi algorithm over the places of a piece, from left to right.
// For each place it finds the best path there and the last token on it. A
// character with which no token begins costs the unknown token's score, which
// is lower than any other.
//
//===----------------------------------------------------------------------===//

#include "runtime/text/ByteTrie.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <limits>

using namespace sluice;
using namespace sluice::text;

namespace {

constexpr double unknownPenalty = 10;
constexpr TokenId unknownCharacter = -1;

/// The best path to a place.
struct PathStep {
  double score = 0;
  int32_t from = -1; // where its last token begins; -1 if not reached
  TokenId id = unknownCharacter;
};

struct UnigramScratch final : ModelScratch {
  std::vector<PathStep> places;
  std::vector<PathStep> path; // the best segmentation, from the end
};

class UnigramModel final : public TokenModel {
public:
  UnigramModel(const TokenizerSpec &spec, const TokenIndex &index);

  std::unique_ptr<ModelScratch> makeScratch(size_t) const override {
    return std::make_unique<UnigramScratch>();
  }

  Status encode(std::string_view piece, ModelScratch &scratch,
                std::vector<TokenId> &ids) const override;

private:
  void findPath(std::string_view piece, std::vector<PathStep> &places) const;
  Status emitUnknown(std::string_view text, std::vector<TokenId> &ids) const;
  bool isUnknown(TokenId id) const {
    return id == unknownCharacter || (spec.unknown && id == *spec.unknown);
  }

  const TokenizerSpec &spec;
  const TokenIndex &index;
  ByteTokens byteTokens;
  ByteTrie trie;
  double unknownScore = 0;
};

} // namespace

UnigramModel::UnigramModel(const TokenizerSpec &spec, const TokenIndex &index)
    : spec(spec), index(index), byteTokens(spec, index) {
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    const Token &token = spec.tokens[id];
    if (!isMadeFromText(token))
      continue;
    trie.insert(token.text, static_cast<TokenId>(id));
    lowest = std::min(lowest, token.score);
  }
  unknownScore = trie.empty() ? 0 : lowest - unknownPenalty;
}

void UnigramModel::findPath(std::string_view piece,
                            std::vector<PathStep> &places) const {
  places.assign(piece.size() + 1, PathStep());
  for (size_t at = 0; at < piece.size();) {
    double soFar = places[at].score;
    auto from = static_cast<int32_t>(at);
    auto offer = [&](size_t end, double score, TokenId id) {
      PathStep &place = places[end];
      if (place.from < 0 || score > place.score)
        place = {score, from, id};
    };
    size_t length = characterLength(piece[at]);
    bool single = false;
    uint32_t node = ByteTrie::root;
    for (size_t end = at; end < piece.size();) {
      node = trie.child(node, static_cast<uint8_t>(piece[end++]));
      if (node == ByteTrie::none)
        break;
      TokenId id = trie.value(node);
      if (id < 0)
        continue;
      offer(end, spec.tokens[id].score + soFar, id);
      single |= end - at == length;
    }
    if (!single)
      offer(at + length, unknownScore + soFar, unknownCharacter);
    at += length;
  }
}

/// Appends the ids of a run of characters that no token covers.
Status UnigramModel::emitUnknown(std::string_view text,
                                 std::vector<TokenId> &ids) const {
  std::optional<TokenId> id = index.find(text);
  if (id && isMadeFromText(spec.tokens[*id])) {
    ids.push_back(*id);
    return {};
  }
  if (byteTokens.append(text, ids))
    return {};
  if (!spec.unknown)
    return noTokenFor(text);
  ids.push_back(*spec.unknown);
  return {};
}

Status UnigramModel::encode(std::string_view piece, ModelScratch &generic,
                            std::vector<TokenId> &ids) const {
  auto &scratch = static_cast<UnigramScratch &>(generic);
  findPath(piece, scratch.places);
  scratch.path.clear();
  for (auto end = static_cast<int32_t>(piece.size()); end > 0;) {
    scratch.path.push_back(scratch.places[end]);
    end = scratch.places[end].from;
  }
  std::reverse(scratch.path.begin(), scratch.path.end());
  for (size_t i = 0; i < scratch.path.size();) {
    const PathStep &place = scratch.path[i];
    if (!isUnknown(place.id)) {
      ids.push_back(place.id);
      ++i;
      continue;
    }
    while (i < scratch.path.size() && isUnknown(scratch.path[i].id))
      ++i;
    size_t end = i < scratch.path.size()
                     ? static_cast<size_t>(scratch.path[i].from)
                     : piece.size();
    auto begin = static_cast<size_t>(place.from);
    Status status = emitUnknown(piece.substr(begin, end - begin), ids);
    if (!status.ok())
      return status;
  }
  return {};
}

std::unique_ptr<TokenModel>
sluice::text::createUnigramModel(const TokenizerSpec &spec,
                                 const TokenIndex &index) {
  return std::make_unique<UnigramModel>(spec, index);
}
