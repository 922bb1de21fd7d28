//===- FuzzCollectives.cpp - fuzzes what members of a group read ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScriptedCommunicator.h"

#include "runtime/comm/Collectives.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::fuzz;

namespace {

constexpr int64_t memberCount = 3;

/// One member, and what it has room for.
class Member {
public:
  Member(int64_t member, ByteSource script)
      : comm(member, memberCount, script), group(comm, {0, 1, 2}),
        collectives(group) {}

  /// Reads what a collective of this kind and size does; `length` counts
  /// numbers, or bytes.
  Status exchange(int64_t kind, int64_t length) {
    auto count = size_t(length);
    std::vector<float> part(count, 1), result(count), scratch(3 * count);
    Bytes bytes(count);
    switch (kind) {
    case 0:
      return collectives.barrier();
    case 1:
      return collectives.allReduce(part, result, scratch);
    case 2: // enough for two rounds of messages
      part.resize(5000, 1);
      result.resize(part.size());
      scratch.resize(3 * part.size());
      return collectives.allReduce(part, result, scratch);
    case 3: // rows of one column each
      result.resize(3 * count);
      return collectives.allGather(part, 1, result, 3, scratch);
    case 4:
      return collectives.member() == 0 ? collectives.tell(bytes)
                                       : collectives.hear(bytes);
    default:
      return collectives.fromFirst(bytes);
    }
  }

private:
  ScriptedCommunicator comm;
  RankGroup group;
  Collectives collectives;
};

} // namespace

/// Whatever the other members say, a collective refuses it, and then everything
/// that comes after, or takes it as so many numbers. The input chooses who of
/// the group this is and what it calls, then come the messages.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t calls = 4;
  ByteSource input({data, size});
  int64_t which = input.between(0, memberCount - 1);
  ByteSource choices(input.take(2 * calls));
  Member member(which, input);
  Status first;
  for (size_t call = 0; call < calls; ++call) {
    int64_t kind = choices.between(0, 5);
    int64_t length = choices.between(1, 255);
    Status ended = member.exchange(kind, length);
    if (!first.ok() && ended.message() != first.message())
      std::abort();
    first = ended;
  }
  return 0;
}
