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
//   group->exchange(out, in, stream);   // a captured one, of a step's graph
//   ...                                 // while a step is waited for:
//   if (Status s = group->check(); !s.ok()) ...
//
// What NCCL does is moving bytes. A sum is over members in their order, from
// the left, on every chip and for any size: a token must not depend on how NCCL
// has arranged its ring. So ncclAllReduce is not it, and a kernel adds up what
// an exchange has brought (device/cuda/StepExchanges.h).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLGROUP_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLGROUP_H

#include "runtime/comm/nccl/NcclLink.h"
#include "runtime/device/cuda/DeviceGroup.h"

#include <memory>
#include <vector>

namespace sluice::comm {

/// A new id, which one member makes and gives to the others, over whatever
/// connects them.
Expected<NcclUniqueId> makeNcclId(const NcclLibrary &library);

struct NcclGroupOptions {
  /// How long the members may take to connect, and NCCL to take a call.
  std::chrono::milliseconds setup{30000};
  /// As DeviceGroup has it. NCCL itself does not always notice that a member is
  /// lost: a kernel that waits for a dead rank over NVLink goes on.
  std::chrono::milliseconds patience = ncclPatience;
  /// Multiprocessors for the transfers: nothing is computed beside them.
  int blocks = 16;
};

/// One member's end. Destroying it breaks it off, as an error does, which waits
/// for no member: at the end of a job nothing is under way. Graphs that its
/// exchanges were captured for are destroyed before, since NCCL waits for them;
/// those of all members in this process, before any of their ends goes.
class NcclGroup final : public cuda::DeviceGroup {
public:
  using Clock = NcclLink::Clock;

  /// All members; waits for them, and for the first bytes between any two,
  /// since it is those that connect them. The thread has entered `device`,
  /// which is the member's and outlives the group. Errors: NCCL's, the
  /// driver's, a member that does not come.
  static Expected<std::unique_ptr<NcclGroup>>
  join(const NcclLibrary &library, cuda::Device &device, const NcclUniqueId &id,
       int member, int members, const NcclGroupOptions &options = {});
  ~NcclGroup() override;

  int32_t member() const override { return link.rank(); }
  int32_t members() const override { return link.ranks(); }
  /// Of a captured stream: until NCCL has given it the work, since nobody waits
  /// for that in a step.
  Status exchange(std::span<const Piece> out, std::span<const Piece> in,
                  cuda::Stream stream) override;
  Status check() override;
  std::chrono::nanoseconds patience() const override {
    return options.patience;
  }
  void giveUp(const Status &reason) override { link.giveUp(reason); }

private:
  NcclGroup(const NcclLibrary &library, cuda::Device &device,
            const NcclGroupOptions &options)
      : library(library), device(device), options(options), link(library) {}

  Status connect(Clock::time_point deadline);
  Status greet(cuda::DeviceAddress room, cuda::Stream stream,
               Clock::time_point deadline);
  Status callAll(std::span<const Piece> out, std::span<const Piece> in,
                 cuda::Stream stream);
  Status broken(Status status);

  NcclLibrary library;
  cuda::Device &device;
  NcclGroupOptions options;
  NcclLink link;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_NCCL_NCCLGROUP_H
