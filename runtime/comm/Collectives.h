//===- Collectives.h - sums and rows of a group's members -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the members of a group compute together: `sluice.all_reduce`,
// `sluice.all_gather`, and what the first of them decides for all.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_COLLECTIVES_H
#define SLUICE_RUNTIME_COMM_COLLECTIVES_H

#include "runtime/comm/GroupCommunicator.h"

#include <span>
#include <vector>

namespace sluice::comm {

/// All members call the same with the same sizes, in the same order. Used by
/// one thread at a time. The errors are those of GroupCommunicator::swap(),
/// and after the first one it is the answer to everything: the members have
/// lost step, and would add up what does not belong together. Allocates nothing
/// but in barrier() and fromFirst().
class Collectives {
public:
  /// `group` outlives it.
  explicit Collectives(GroupCommunicator &group);

  int64_t member() const { return group.member(); }
  int64_t members() const { return group.members(); }

  /// sum[i] = part_0[i] + part_1[i] + ..., from the left in the members' order,
  /// so that its bits do not depend on who comes first, on how the sum is
  /// shared out, or on what lies beside it. `sum` is as long as `part`,
  /// `scratch` members() times as long; none overlap.
  Status allReduce(std::span<const float> part, std::span<float> sum,
                   std::span<float> scratch);

  /// all[row][min(m * partCols, cols - partCols) + i] = part_m[row][i].
  /// Members' columns may overlap, and hold the same there. `scratch` is
  /// members() times as long as `part`; none overlap. `rows` follows from the
  /// lengths.
  Status allGather(std::span<const float> part, int64_t partCols,
                   std::span<float> all, int64_t cols,
                   std::span<float> scratch);

  /// Waits until all members have called it.
  Status barrier();

  /// Gives the first member's bytes to all others: it tells them, and they
  /// hear as many. The first does not wait for them.
  Status tell(std::span<const uint8_t> bytes);
  Status hear(std::span<uint8_t> bytes);

  /// The same for a message whose length only the first one knows: of at most
  /// 16 MiB, and afterwards in everybody's `message`. One swap where it is
  /// short, else two.
  Status fromFirst(Bytes &message);

  /// Somebody has found out that the members have lost step: from now on
  /// nothing travels. Returns the first error, which is `reason` if there was
  /// none.
  Status fail(Status reason);

private:
  Status reduceAtOnce(std::span<const float> part, std::span<float> sum,
                      std::span<float> scratch);
  Status reduceInShares(std::span<const float> part, std::span<float> sum,
                        std::span<float> scratch);
  Status swap();
  Status tellOrHear(std::span<uint8_t> bytes);

  GroupCommunicator &group;
  Status broken; ///< the first error
  // For one swap, by member.
  std::vector<std::span<const uint8_t>> out;
  std::vector<std::span<uint8_t>> in;
  std::vector<const float *> addends;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_COLLECTIVES_H
