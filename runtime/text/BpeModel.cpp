//===- BpeModel.cpp - byte-pair encoding by a list of merges --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A piece starts as one symbol for each character. While two neighbours are in
// the list of merges, the pair that comes first in the list (the leftmost of
// equal pairs) becomes one symbol. Short pieces are merged by scanning an array
// of ranks, long ones with a heap over a linked list, in O(n log n).
//
//===----------------------------------------------------------------------===//

#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace sluice;
using namespace sluice::text;

namespace {

constexpr uint32_t noRank = UINT32_MAX;
constexpr size_t shortPiece = 48; // in symbols

/// Maps a pair of tokens to its rank and to the merged token.
class MergeTable {
public:
  struct Entry {
    uint64_t pair = UINT64_MAX; // if free
    uint32_t rank = noRank;
    TokenId result = -1;
  };

  explicit MergeTable(const std::vector<Merge> &merges)
      : entries(std::bit_ceil(std::max<size_t>(16, 2 * merges.size()))) {
    for (size_t rank = 0; rank < merges.size(); ++rank) {
      const Merge &merge = merges[rank];
      uint64_t pair = pairOf(merge.left, merge.right);
      // If a pair is listed twice, the later entry counts, as in Hugging Face.
      entries[slotOf(pair)] = {pair, static_cast<uint32_t>(rank), merge.result};
    }
  }

  /// Returns the entry of a pair; a free one, whose rank is noRank, if there is
  /// none.
  const Entry &find(TokenId left, TokenId right) const {
    return entries[slotOf(pairOf(left, right))];
  }

private:
  static uint64_t pairOf(TokenId left, TokenId right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  size_t slotOf(uint64_t pair) const {
    size_t mask = entries.size() - 1;
    size_t slot = (pair * 0x9E3779B97F4A7C15 >> 29) & mask;
    while (entries[slot].pair != UINT64_MAX && entries[slot].pair != pair)
      slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<Entry> entries; // the size is a power of two, at least half free
};

/// A word that was encoded before. It fits in one cache line.
struct CachedWord {
  char bytes[30];
  uint8_t length = 0; // 0 if free
  uint8_t count = 0;
  TokenId ids[8];
};

struct Symbol {
  TokenId id;
  int32_t previous;
  int32_t next; // -1 if none; removed symbols have id -1
};

struct Candidate {
  uint32_t rank;
  int32_t position;
  TokenId result;
  /// Orders candidates for std::push_heap, which keeps the greatest in front:
  /// the lowest rank, and then the leftmost.
  bool operator<(const Candidate &other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

struct BpeScratch final : ModelScratch {
  std::vector<TokenId> symbols;
  std::vector<MergeTable::Entry> pairs;
  std::vector<Symbol> list;
  std::vector<Candidate> heap;
  std::vector<CachedWord> cache; // the size is a power of two, or 0
};

class BpeModel final : public TokenModel {
public:
  BpeModel(const TokenizerSpec &spec, const TokenIndex &index, bool bytes);

  std::unique_ptr<ModelScratch> makeScratch(size_t textBytes) const override {
    auto scratch = std::make_unique<BpeScratch>();
    if (textBytes >= 4096)
      scratch->cache.resize(4096);
    return scratch;
  }

  Status encode(std::string_view piece, ModelScratch &scratch,
                std::vector<TokenId> &ids) const override;

private:
  void encodeUncached(std::string_view piece, BpeScratch &scratch,
                      std::vector<TokenId> &ids) const;
  std::optional<TokenId> findWhole(std::string_view piece) const;
  TokenId findCharacter(std::string_view character) const;
  void splitIntoSymbols(std::string_view piece,
                        std::vector<TokenId> &symbols) const;
  void mergeShort(BpeScratch &scratch, std::vector<TokenId> &ids) const;
  void mergeLong(BpeScratch &scratch, std::vector<TokenId> &ids) const;
  void propose(BpeScratch &scratch, int32_t left, int32_t right) const;

  const TokenizerSpec &spec;
  const TokenIndex &index;
  bool bytes;
  MergeTable merges;
  ByteTokens byteTokens;
  std::array<TokenId, 256> symbolOfByte; // -1 if none
};

} // namespace

BpeModel::BpeModel(const TokenizerSpec &spec, const TokenIndex &index,
                   bool bytes)
    : spec(spec), index(index), bytes(bytes), merges(spec.merges),
      byteTokens(spec, index) {
  symbolOfByte.fill(-1);
  for (uint32_t byte = 0; byte < (bytes ? 256u : 128u); ++byte) {
    char c = static_cast<char>(byte);
    symbolOfByte[byte] =
        findCharacter(bytes ? byteSpelling(static_cast<uint8_t>(byte))
                            : std::string_view(&c, 1));
  }
}

TokenId BpeModel::findCharacter(std::string_view character) const {
  std::optional<TokenId> id = index.find(character);
  return id && isMadeFromText(spec.tokens[*id]) ? *id : -1;
}

std::optional<TokenId> BpeModel::findWhole(std::string_view piece) const {
  std::optional<TokenId> id;
  if (bytes)
    id = index.find(spellBytes(piece));
  else
    id = index.find(piece);
  return id && isMadeFromText(spec.tokens[*id]) ? id : std::nullopt;
}

Status BpeModel::encode(std::string_view piece, ModelScratch &generic,
                        std::vector<TokenId> &ids) const {
  auto &scratch = static_cast<BpeScratch &>(generic);
  if (scratch.cache.empty() || piece.size() > sizeof(CachedWord::bytes)) {
    encodeUncached(piece, scratch, ids);
    return {};
  }
  CachedWord &word =
      scratch.cache[hashBytes(piece) & (scratch.cache.size() - 1)];
  if (word.length == piece.size() &&
      std::memcmp(word.bytes, piece.data(), piece.size()) == 0) {
    ids.insert(ids.end(), word.ids, word.ids + word.count);
    return {};
  }
  size_t before = ids.size();
  encodeUncached(piece, scratch, ids);
  size_t count = ids.size() - before;
  if (count <= std::size(word.ids)) {
    std::memcpy(word.bytes, piece.data(), piece.size());
    std::copy(ids.begin() + static_cast<ptrdiff_t>(before), ids.end(),
              word.ids);
    word.length = static_cast<uint8_t>(piece.size());
    word.count = static_cast<uint8_t>(count);
  }
  return {};
}

void BpeModel::encodeUncached(std::string_view piece, BpeScratch &scratch,
                              std::vector<TokenId> &ids) const {
  if (spec.ignoreMerges) {
    if (std::optional<TokenId> id = findWhole(piece)) {
      ids.push_back(*id);
      return;
    }
  }
  scratch.symbols.clear();
  splitIntoSymbols(piece, scratch.symbols);
  if (scratch.symbols.size() <= shortPiece)
    mergeShort(scratch, ids);
  else
    mergeLong(scratch, ids);
}

/// Makes one symbol of each character. A character that the vocabulary lacks
/// becomes byte tokens, the unknown token, or nothing, in the order of
/// preference of Hugging Face.
void BpeModel::splitIntoSymbols(std::string_view piece,
                                std::vector<TokenId> &symbols) const {
  bool pendingUnknown = false;
  for (size_t offset = 0; offset < piece.size();) {
    auto byte = static_cast<uint8_t>(piece[offset]);
    size_t length = bytes ? 1 : characterLength(piece[offset]);
    std::string_view character =
        bytes ? byteSpelling(byte) : piece.substr(offset, length);
    offset += length;
    TokenId id =
        bytes || byte < 0x80 ? symbolOfByte[byte] : findCharacter(character);
    if (id >= 0) {
      if (pendingUnknown)
        symbols.push_back(*spec.unknown);
      pendingUnknown = false;
      symbols.push_back(id);
      continue;
    }
    if (byteTokens.append(character, symbols) || !spec.unknown)
      continue;
    if (pendingUnknown && !spec.fuseUnknown)
      symbols.push_back(*spec.unknown);
    pendingUnknown = true;
  }
  if (pendingUnknown)
    symbols.push_back(*spec.unknown);
}

void BpeModel::mergeShort(BpeScratch &scratch,
                          std::vector<TokenId> &ids) const {
  std::vector<TokenId> &symbols = scratch.symbols;
  // Pairs[i] is of symbols i and i + 1.
  std::vector<MergeTable::Entry> &pairs = scratch.pairs;
  pairs.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i)
    pairs.push_back(merges.find(symbols[i], symbols[i + 1]));
  while (!pairs.empty()) {
    size_t best = 0;
    for (size_t i = 1; i < pairs.size(); ++i)
      if (pairs[i].rank < pairs[best].rank)
        best = i;
    if (pairs[best].rank == noRank)
      break;
    symbols[best] = pairs[best].result;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    pairs.erase(pairs.begin() + static_cast<ptrdiff_t>(best));
    if (best < pairs.size())
      pairs[best] = merges.find(symbols[best], symbols[best + 1]);
    if (best > 0)
      pairs[best - 1] = merges.find(symbols[best - 1], symbols[best]);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

/// Pushes the pair of two neighbours to the heap if it is in the list of
/// merges.
void BpeModel::propose(BpeScratch &scratch, int32_t left, int32_t right) const {
  const MergeTable::Entry &entry =
      merges.find(scratch.list[left].id, scratch.list[right].id);
  if (entry.rank == noRank)
    return;
  scratch.heap.push_back({entry.rank, left, entry.result});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void BpeModel::mergeLong(BpeScratch &scratch, std::vector<TokenId> &ids) const {
  std::vector<Symbol> &list = scratch.list;
  auto count = static_cast<int32_t>(scratch.symbols.size());
  list.clear();
  for (int32_t i = 0; i < count; ++i)
    list.push_back({scratch.symbols[i], i - 1, i + 1 < count ? i + 1 : -1});
  scratch.heap.clear();
  for (int32_t i = 0; i + 1 < count; ++i)
    propose(scratch, i, i + 1);
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end());
    Candidate top = scratch.heap.back();
    scratch.heap.pop_back();
    Symbol &left = list[top.position];
    if (left.id < 0 || left.next < 0)
      continue;
    Symbol &right = list[left.next];
    // The pair may have changed since it was pushed.
    const MergeTable::Entry &entry = merges.find(left.id, right.id);
    if (entry.rank == noRank || entry.result != top.result)
      continue;
    left.id = top.result;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) {
      list[left.next].previous = top.position;
      propose(scratch, top.position, left.next);
    }
    if (left.previous >= 0)
      propose(scratch, left.previous, top.position);
  }
  for (int32_t i = 0; i >= 0 && i < count; i = list[i].next)
    ids.push_back(list[i].id);
}

std::unique_ptr<TokenModel>
sluice::text::createBpeModel(const TokenizerSpec &spec, const TokenIndex &index,
                             bool bytes) {
  return std::make_unique<BpeModel>(spec, index, bytes);
}
