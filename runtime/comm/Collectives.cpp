//===- Collectives.cpp - collectives over a group's communicator ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Collectives.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

using namespace sluice;
using namespace sluice::comm;

namespace {

/// Up to this size, every member gets all parts and adds them up itself. That
/// takes one round of messages instead of two, which saves more time than the
/// additional bytes cost.
constexpr size_t atOnceBytes = size_t{16} << 10;

/// A message of fromFirst() up to this length travels with its length.
constexpr size_t shortBytes = 256;
constexpr size_t lengthBytes = sizeof(uint64_t);

/// Limits the memory that a member allocates for a wrong length.
constexpr uint64_t maxBytes = uint64_t{16} << 20;

std::span<const uint8_t> bytesOf(std::span<const float> floats) {
  return {reinterpret_cast<const uint8_t *>(floats.data()),
          floats.size_bytes()};
}
std::span<uint8_t> bytesOf(std::span<float> floats) {
  return {reinterpret_cast<uint8_t *>(floats.data()), floats.size_bytes()};
}

/// Adds up `addends` into `sum`. No other code decides the order of the sum.
void addUp(std::span<const float *const> addends, std::span<float> sum) {
  std::copy_n(addends[0], sum.size(), sum.begin());
  for (const float *addend : addends.subspan(1))
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += addend[i];
}

} // namespace

Collectives::Collectives(GroupCommunicator &group)
    : group(group), out(size_t(group.members())), in(out.size()),
      addends(out.size()) {}

Status Collectives::swap() {
  if (broken.ok())
    broken = group.swap(out, in);
  std::fill(out.begin(), out.end(), std::span<const uint8_t>());
  std::fill(in.begin(), in.end(), std::span<uint8_t>());
  return broken;
}

Status Collectives::fail(Status reason) {
  if (broken.ok())
    broken = std::move(reason);
  return broken;
}

Status Collectives::allReduce(std::span<const float> part, std::span<float> sum,
                              std::span<float> scratch) {
  assert(sum.size() == part.size() &&
         scratch.size() >= part.size() * out.size());
  if (part.empty())
    return {};
  // Both ways give the same bits, since each element is added up by itself.
  return part.size_bytes() <= atOnceBytes ? reduceAtOnce(part, sum, scratch)
                                          : reduceInShares(part, sum, scratch);
}

Status Collectives::reduceAtOnce(std::span<const float> part,
                                 std::span<float> sum,
                                 std::span<float> scratch) {
  for (size_t other = 0; other < out.size(); ++other) {
    std::span<float> room = scratch.subspan(other * part.size(), part.size());
    bool isSelf = int64_t(other) == member();
    out[other] = bytesOf(part);
    in[other] = bytesOf(room);
    addends[other] = isSelf ? part.data() : room.data();
  }
  SLUICE_RETURN_IF_ERROR(swap());
  addUp(addends, sum);
  return {};
}

/// Adds up one share of the elements at each member, then sends it to all
/// others.
Status Collectives::reduceInShares(std::span<const float> part,
                                   std::span<float> sum,
                                   std::span<float> scratch) {
  size_t count = part.size(), members = out.size();
  auto shareOf = [&](auto floats, size_t which) {
    size_t begin = count * which / members;
    return floats.subspan(begin, count * (which + 1) / members - begin);
  };
  auto self = size_t(member());
  std::span<float> mine = shareOf(sum, self);
  for (size_t other = 0; other < members; ++other) {
    std::span<float> room = scratch.subspan(other * count, mine.size());
    out[other] = bytesOf(shareOf(part, other));
    in[other] = bytesOf(room);
    addends[other] = other == self ? shareOf(part, self).data() : room.data();
  }
  SLUICE_RETURN_IF_ERROR(swap());
  addUp(addends, mine);
  for (size_t other = 0; other < members; ++other) {
    out[other] = bytesOf(std::span<const float>(mine));
    in[other] = bytesOf(shareOf(sum, other));
  }
  return swap();
}

Status Collectives::allGather(std::span<const float> part, int64_t partCols,
                              std::span<float> all, int64_t cols,
                              std::span<float> scratch) {
  assert(partCols > 0 && cols >= partCols &&
         scratch.size() >= part.size() * out.size());
  if (part.empty())
    return {};
  for (size_t other = 0; other < out.size(); ++other) {
    out[other] = bytesOf(part);
    in[other] = bytesOf(scratch.subspan(other * part.size(), part.size()));
  }
  SLUICE_RETURN_IF_ERROR(swap());
  int64_t rows = int64_t(part.size()) / partCols;
  for (int64_t other = 0; other < members(); ++other) {
    const float *from = other == member()
                            ? part.data()
                            : scratch.data() + size_t(other) * part.size();
    float *to = all.data() + std::min(other * partCols, cols - partCols);
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(from + row * partCols, partCols, to + row * cols);
  }
  return {};
}

Status Collectives::barrier() {
  const uint8_t here = 1;
  std::vector<uint8_t> others(in.size());
  for (size_t other = 0; other < others.size(); ++other) {
    out[other] = std::span(&here, 1);
    in[other] = std::span(others).subspan(other, 1);
  }
  return swap();
}

Status Collectives::tell(std::span<const uint8_t> bytes) {
  assert(member() == 0);
  std::fill(out.begin(), out.end(), bytes);
  return swap();
}

Status Collectives::hear(std::span<uint8_t> bytes) {
  assert(member() != 0);
  in.front() = bytes;
  return swap();
}

Status Collectives::tellOrHear(std::span<uint8_t> bytes) {
  return member() == 0 ? tell(bytes) : hear(bytes);
}

Status Collectives::fromFirst(Bytes &message) {
  std::array<uint8_t, shortBytes> first{};
  std::span<uint8_t> body = std::span(first).subspan(lengthBytes);
  uint64_t length = message.size();
  if (member() == 0) {
    std::memcpy(first.data(), &length, lengthBytes);
    std::copy_n(message.begin(), std::min(message.size(), body.size()),
                body.begin());
  }
  SLUICE_RETURN_IF_ERROR(tellOrHear(first));
  if (member() != 0) {
    std::memcpy(&length, first.data(), lengthBytes);
    if (length > maxBytes)
      return fail(
          failure("the first of the group announces ", length, " bytes"));
    message.resize(length);
    std::copy_n(body.begin(), std::min(message.size(), body.size()),
                message.begin());
  }
  if (length <= body.size())
    return {};
  return tellOrHear(std::span(message).subspan(body.size()));
}
