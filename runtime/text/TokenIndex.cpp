//===- TokenIndex.cpp - maps a token's spelling to its id -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenIndex.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace sluice::text;

static uint64_t mix(uint64_t a, uint64_t b) {
  auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t sluice::text::hashBytes(std::string_view bytes) {
  constexpr uint64_t keyA = 0x9E3779B97F4A7C15, keyB = 0xD1B54A32D192ED03;
  uint64_t hash = bytes.size() * keyA;
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    hash = mix(hash ^ word, keyB);
    bytes.remove_prefix(8);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes.data(), bytes.size());
  return mix(hash ^ rest ^ keyB, keyA);
}

TokenIndex::TokenIndex(size_t count)
    : slots(std::bit_ceil(std::max<size_t>(16, 2 * count + 1))) {}

size_t TokenIndex::findSlot(std::string_view text, uint64_t hash) const {
  size_t slot = hash & (slots.size() - 1);
  auto tag = static_cast<uint32_t>(hash >> 32);
  while (slots[slot].id >= 0 &&
         (slots[slot].hash != tag || slots[slot].text != text))
    slot = (slot + 1) & (slots.size() - 1);
  return slot;
}

std::optional<TokenId> TokenIndex::insert(std::string_view text, TokenId id) {
  uint64_t hash = hashBytes(text);
  Slot &slot = slots[findSlot(text, hash)];
  if (slot.id >= 0)
    return slot.id;
  slot = {text, static_cast<uint32_t>(hash >> 32), id};
  maxLength = std::max(maxLength, text.size());
  return std::nullopt;
}

std::optional<TokenId> TokenIndex::find(std::string_view text) const {
  const Slot &slot = slots[findSlot(text, hashBytes(text))];
  return slot.id >= 0 ? std::optional<TokenId>(slot.id) : std::nullopt;
}
