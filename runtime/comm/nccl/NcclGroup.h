//===- NcclGroup.h - collectives of a group of GPUs -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor-parallel group computes a stage together, a GPU to a member. All of
// them call the same, in the same order:
//
//   auto group = NcclGroup::join(*nccl, device, id, member, members, options);
//   group->allReduce(x, floats, scratch, sum, stream);
//   group->allGather(mine, all, bytes, stream);
//   ...                         // while waiting for what is in the stream:
//   if (Status s = group->check(); !s.ok()) ...
//   group->end();
//
// The sum is over members in their order, from the left, on every chip and for
// any size: a token must not depend on how NCCL has arranged its ring. So
// ncclAllReduce is not it. Each member gets all parts of its own share, adds
// them up, and gives the result to the others: what NCCL does is moving bytes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLGROUP_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLGROUP_H

#include "runtime/comm/Ring.h"
#include "runtime/comm/nccl/NcclLink.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice::comm {

/// Enqueues to[i] = (parts[0][i] + parts[1][i]) + parts[2][i] ..., for each of
/// `floats` numbers. `to` is one of the parts.
using SumParts = std::function<Status(
    cuda::DeviceAddress to, std::span<const cuda::DeviceAddress> parts,
    uint64_t floats, cuda::Stream stream)>;

/// A new id, which one member makes and gives to the others, over whatever
/// connects them.
Expected<NcclUniqueId> makeNcclId(const NcclLibrary &library);

struct NcclGroupOptions {
  /// For all members to meet.
  std::chrono::milliseconds setup{30000};
  /// For what is in the stream to come from the end of one call to the end of
  /// the next: the others are lost where it takes longer. NCCL itself does not
  /// always notice: a kernel that waits for a dead rank over NVLink goes on.
  std::chrono::milliseconds patience{5000};
  /// Multiprocessors for the transfers: nothing is computed beside them.
  int blocks = 16;
};

/// One member's end. Used by one thread, but for giveUp(). After an error
/// nothing works any more, and what is in streams has been ended.
class NcclGroup {
public:
  using Clock = NcclLink::Clock;

  /// All members; waits for them, and for the first bytes between any two,
  /// since it is those that connect them. The thread has entered `device`,
  /// which is the member's and outlives the group. Errors: NCCL's, the
  /// driver's, a member that does not come.
  static Expected<std::unique_ptr<NcclGroup>>
  join(const NcclLibrary &library, cuda::Device &device, const NcclUniqueId &id,
       int member, int members, const NcclGroupOptions &options = {});
  ~NcclGroup();

  int member() const { return link.rank(); }
  int members() const { return link.ranks(); }

  /// Floats of the scratch memory that allReduce() needs for `floats`.
  uint64_t scratchFloats(uint64_t floats) const {
    return shareFloats(floats) * static_cast<uint64_t>(members());
  }

  /// x[i] = the sum over members of their x[i], f32, the same bits at all.
  /// Enqueues, and waits until NCCL's own thread has done so, some
  /// microseconds; not for other members.
  Status allReduce(cuda::DeviceAddress x, uint64_t floats,
                   cuda::DeviceAddress scratch, const SumParts &sum,
                   cuda::Stream stream);

  /// to[member][bytes] = what each member has at `from`. Enqueues, as
  /// allReduce().
  Status allGather(cuda::DeviceAddress from, cuda::DeviceAddress to,
                   uint64_t bytes, cuda::Stream stream);

  /// Whether all is well; to be asked while the stream is waited for, which may
  /// never end otherwise. Errors: NCCL's, which may be another member's end;
  /// a call that has not ended within `patience`; giveUp()'s.
  Status check();

  /// Thread-safe: a member is lost, as the communicator says that connects them
  /// besides. The next check() ends with `reason`, and what is in streams with
  /// it.
  void giveUp(const Status &reason) { link.giveUp(reason); }

  /// All members, when what they have called is done: the good end. Errors: a
  /// member that does not come to it within `setup`, NCCL's.
  Status end();

private:
  struct Piece {
    cuda::DeviceAddress address = 0;
    uint64_t bytes = 0; ///< 0: nothing travels
  };

  NcclGroup(const NcclLibrary &library, cuda::Device &device,
            const NcclGroupOptions &options)
      : library(library), device(device), options(options), link(library) {}

  Status meet(Clock::time_point deadline);
  Status greet(cuda::DeviceAddress room, cuda::Stream stream,
               Clock::time_point deadline);
  uint64_t shareFloats(uint64_t floats) const;
  Piece share(cuda::DeviceAddress x, uint64_t floats, int member) const;
  Status exchange(std::span<const Piece> out, std::span<const Piece> in,
                  cuda::Stream stream, Clock::time_point deadline);
  Status noteCall(cuda::Stream stream);
  Status lookAtCalls();
  Status broken(Status status);

  NcclLibrary library;
  cuda::Device &device;
  NcclGroupOptions options;
  NcclLink link;
  std::vector<Piece> out, in; ///< by member
  std::vector<cuda::DeviceAddress> parts;
  Ring<cuda::Event> underWay;     ///< behind each call, the oldest first
  std::vector<cuda::Event> spare; ///< of calls that have ended
  Clock::time_point lastEnd;      ///< of a call; or when the first was made
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLGROUP_H
