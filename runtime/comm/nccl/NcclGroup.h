//===- NcclGroup.h - exchanges in a group of GPUs -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exchanges of a tensor-parallel group that computes a stage together, with
// one GPU for each member. All members make the same calls, in the same order:
//
//   auto group = NcclGroup::join(*nccl, device, id, member, members, options);
//   group->exchange(out, in, stream);   // captured into the graph of a step
//   ...                                 // while a step is waited for:
//   if (Status s = group->check(); !s.ok()) ...
//
// NCCL only moves bytes. A sum is taken over the members in their order, from
// the left, on every chip and for any size, since a token must not depend on
// how NCCL arranges its ring. So ncclAllReduce is not used; a kernel adds up
// the parts that an exchange has brought (device/cuda/StepExchanges.h).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_NCCL_NCCLGROUP_H
#define SLUICE_RUNTIME_COMM_NCCL_NCCLGROUP_H

#include "runtime/comm/nccl/NcclLink.h"
#include "runtime/device/cuda/DeviceGroup.h"

#include <memory>
#include <vector>

namespace sluice::comm {

/// Makes a new id. One member makes it and sends it to the others over any
/// connection.
Expected<NcclUniqueId> makeNcclId(const NcclLibrary &library);

struct NcclGroupOptions {
  /// How long the members may take to connect, and NCCL to complete a call.
  std::chrono::milliseconds setup{30000};
  /// See DeviceGroup::patience(). NCCL does not always notice that a member is
  /// lost: a kernel that waits for a dead rank over NVLink keeps waiting.
  std::chrono::milliseconds patience = ncclPatience;
  /// How many multiprocessors the transfers may use: nothing is computed beside
  /// them.
  int blocks = 16;
};

/// One member's end of the group. Its destructor aborts the NCCL communicator,
/// as an error does, without waiting for other members: at the end of a job no
/// exchange is under way. Destroy the graphs that have captured its exchanges
/// before it, since NCCL waits for them; destroy the graphs of all members in
/// this process before the first of these ends.
class NcclGroup final : public cuda::DeviceGroup {
public:
  using Clock = NcclLink::Clock;

  /// Connects all members; called by each of them. Blocks until all have called
  /// it and the first bytes have passed between any two, since these set the
  /// connections up. The calling thread must have entered `device`, which is
  /// this member's and must outlive the group. Errors: NCCL's, the driver's, or
  /// a member that does not come.
  static Expected<std::unique_ptr<NcclGroup>>
  join(const NcclLibrary &library, cuda::Device &device, const NcclUniqueId &id,
       int member, int members, const NcclGroupOptions &options = {});
  ~NcclGroup() override;

  int32_t member() const override { return link.rank(); }
  int32_t members() const override { return link.ranks(); }
  /// With a captured stream, blocks until NCCL has put the work into it, since
  /// no step waits for that later.
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
