//===- Collectives.h - collectives over a group's communicator ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes what the members of a tensor-parallel group compute together:
// `sluice.all_reduce`, `sluice.all_gather`, and broadcasts from the first
// member.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_COLLECTIVES_H
#define SLUICE_RUNTIME_COMM_COLLECTIVES_H

#include "runtime/comm/GroupCommunicator.h"

#include <span>
#include <vector>

namespace sluice::comm {

/// Runs the collectives of one member. All members make the same calls with the
/// same sizes, in the same order. Used by one thread at a time.
///
/// Errors are those of GroupCommunicator::swap(). After the first error, every
/// call returns that error: the members are no longer at the same call, and
/// would add up parts that do not belong together. Only barrier() and
/// fromFirst() allocate.
class Collectives {
public:
  /// `group` must outlive this object.
  explicit Collectives(GroupCommunicator &group);

  int64_t member() const { return group.member(); }
  int64_t members() const { return group.members(); }

  /// Computes sum[i] = part_0[i] + part_1[i] + ..., from the left in the order
  /// of the members. So the bits of the sum do not depend on which member comes
  /// first, on how the sum is divided among the members, or on the elements
  /// beside it. `sum` is as long as `part`, and `scratch` is members() times as
  /// long; none overlap.
  Status allReduce(std::span<const float> part, std::span<float> sum,
                   std::span<float> scratch);

  /// Computes all[row][min(m * partCols, cols - partCols) + i] =
  /// part_m[row][i]. The columns of members may overlap, and must hold the same
  /// values there. `scratch` is members() times as long as `part`; none
  /// overlap. The number of rows follows from the lengths.
  Status allGather(std::span<const float> part, int64_t partCols,
                   std::span<float> all, int64_t cols,
                   std::span<float> scratch);

  /// Blocks until all members have called it.
  Status barrier();

  /// Broadcasts the first member's bytes: the first member calls tell(), and
  /// each other member calls hear() with a buffer of the same length. tell()
  /// does not wait for the other members.
  Status tell(std::span<const uint8_t> bytes);
  Status hear(std::span<uint8_t> bytes);

  /// Broadcasts a message of at most 16 MiB whose length only the first member
  /// knows. Afterwards `message` holds it at every member. A short message
  /// takes one swap, a longer one two.
  Status fromFirst(Bytes &message);

  /// Stops the exchange, because a caller has found that the members are no
  /// longer at the same call: from now on nothing is sent. Returns the first
  /// error, which is `reason` if there was none before.
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
  // The arguments of one swap, by member.
  std::vector<std::span<const uint8_t>> out;
  std::vector<std::span<uint8_t>> in;
  std::vector<const float *> addends;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_COLLECTIVES_H
