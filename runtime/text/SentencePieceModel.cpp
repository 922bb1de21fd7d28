//===- SentencePieceModel.cpp - byte-pair encoding by scores --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SentencePiece's byte-pair encoding has no list of merges. Two neighbours may
// be merged if the result is a token, and the merge with the highest score goes
// first (the leftmost of equal scores). Characters that are no token become
// byte tokens or the unknown token.
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenModel.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::text;

namespace {

struct Symbol {
  uint32_t begin;  // offset in the piece
  uint32_t length; // 0 if merged into the symbol before it
  int32_t previous;
  int32_t next; // -1 if none
  TokenId id;   // -1 if it is no token
};

struct Candidate {
  double score;
  int32_t position;
  uint32_t length; // of both symbols, to tell whether they are still the same
  TokenId result;
  bool operator<(const Candidate &other) const {
    return score != other.score ? score < other.score
                                : position > other.position;
  }
};

struct SentencePieceScratch final : ModelScratch {
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

class SentencePieceModel final : public TokenModel {
public:
  SentencePieceModel(const TokenizerSpec &spec, const TokenIndex &index)
      : spec(spec), index(index), byteTokens(spec, index) {}

  std::unique_ptr<ModelScratch> makeScratch(size_t) const override {
    return std::make_unique<SentencePieceScratch>();
  }

  Status encode(std::string_view piece, ModelScratch &scratch,
                std::vector<TokenId> &ids) const override;

private:
  TokenId find(std::string_view text) const;
  void propose(std::string_view piece, SentencePieceScratch &scratch,
               int32_t left) const;
  void merge(std::string_view piece, SentencePieceScratch &scratch) const;
  Status emit(std::string_view piece, const std::vector<Symbol> &symbols,
              std::vector<TokenId> &ids) const;

  const TokenizerSpec &spec;
  const TokenIndex &index;
  ByteTokens byteTokens;
};

} // namespace

TokenId SentencePieceModel::find(std::string_view text) const {
  if (text.size() > index.longest())
    return -1;
  std::optional<TokenId> id = index.find(text);
  return id && isMadeFromText(spec.tokens[*id]) ? *id : -1;
}

void SentencePieceModel::propose(std::string_view piece,
                                 SentencePieceScratch &scratch,
                                 int32_t left) const {
  const Symbol &first = scratch.symbols[left];
  if (first.next < 0)
    return;
  uint32_t length = first.length + scratch.symbols[first.next].length;
  TokenId result = find(piece.substr(first.begin, length));
  if (result < 0)
    return;
  scratch.heap.push_back({spec.tokens[result].score, left, length, result});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void SentencePieceModel::merge(std::string_view piece,
                               SentencePieceScratch &scratch) const {
  std::vector<Symbol> &symbols = scratch.symbols;
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end());
    Candidate top = scratch.heap.back();
    scratch.heap.pop_back();
    Symbol &left = symbols[top.position];
    if (left.length == 0 || left.next < 0)
      continue;
    Symbol &right = symbols[left.next];
    if (left.length + right.length != top.length)
      continue;
    left.length = top.length;
    left.id = top.result;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0)
      symbols[left.next].previous = top.position;
    if (left.previous >= 0)
      propose(piece, scratch, left.previous);
    propose(piece, scratch, top.position);
  }
}

Status SentencePieceModel::emit(std::string_view piece,
                                const std::vector<Symbol> &symbols,
                                std::vector<TokenId> &ids) const {
  bool unknownBefore = false;
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    const Symbol &symbol = symbols[i];
    bool unknown = false;
    std::string_view text = piece.substr(symbol.begin, symbol.length);
    if (symbol.id >= 0) {
      ids.push_back(symbol.id);
    } else if (!byteTokens.append(text, ids)) {
      if (!spec.unknown)
        return noTokenFor(text);
      unknown = true;
      if (!unknownBefore || !spec.fuseUnknown)
        ids.push_back(*spec.unknown);
    }
    unknownBefore = unknown;
  }
  return {};
}

Status SentencePieceModel::encode(std::string_view piece, ModelScratch &generic,
                                  std::vector<TokenId> &ids) const {
  auto &scratch = static_cast<SentencePieceScratch &>(generic);
  std::vector<Symbol> &symbols = scratch.symbols;
  symbols.clear();
  scratch.heap.clear();
  for (size_t offset = 0; offset < piece.size();) {
    size_t length = characterLength(piece[offset]);
    auto position = static_cast<int32_t>(symbols.size());
    symbols.push_back({static_cast<uint32_t>(offset),
                       static_cast<uint32_t>(length), position - 1,
                       position + 1, find(piece.substr(offset, length))});
    offset += length;
  }
  symbols.back().next = -1;
  for (size_t i = 0; i + 1 < symbols.size(); ++i)
    propose(piece, scratch, static_cast<int32_t>(i));
  merge(piece, scratch);
  return emit(piece, symbols, ids);
}

std::unique_ptr<TokenModel>
sluice::text::createSentencePieceModel(const TokenizerSpec &spec,
                                       const TokenIndex &index) {
  return std::make_unique<SentencePieceModel>(spec, index);
}
