//===- GroupCommunicator.h - exchanges within a group ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exchanges bytes between the members of a tensor-parallel group, which compute
// a stage together. Members are numbered from 0, and all make the same calls in
// the same order:
//
//   RankGroup group(communicator, {0, 1});
//   out[1 - group.member()] = mine;  in[1 - group.member()] = room;
//   if (Status s = group.swap(out, in); !s.ok()) return s;
//
// Collectives.h builds collectives from swaps, so that the order of sums does
// not depend on what carries the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_GROUPCOMMUNICATOR_H
#define SLUICE_RUNTIME_COMM_GROUPCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

#include <span>
#include <vector>

namespace sluice::comm {

/// One member's end of the group. Used by one thread at a time. Each
/// implementation says in which memory the bytes may lie.
class GroupCommunicator {
public:
  virtual ~GroupCommunicator() = default;

  virtual int64_t member() const = 0;
  virtual int64_t members() const = 0;

  /// Sends out[m] to every other member m, and fills in[m] with what m sends to
  /// this member, which must have that length. Nothing is sent to or received
  /// from a member for which both are empty; this member's own entries are
  /// ignored. Blocks until `in` is full; `out` may then be reused. Errors: the
  /// communication is broken, or a message has another length than expected, so
  /// the members are no longer at the same call. After an error swap() must not
  /// be called again.
  virtual Status swap(std::span<const std::span<const uint8_t>> out,
                      std::span<const std::span<uint8_t>> in) = 0;
};

/// A group whose members are ranks of a job, in one process or under MPI. It
/// uses the group lane of their communicator. The bytes lie in the process's
/// own memory.
class RankGroup final : public GroupCommunicator {
public:
  /// `ranks` lists the ranks of all members in order, each once, and this rank
  /// among them. `communicator` must outlive the group.
  RankGroup(Communicator &communicator, std::vector<int64_t> ranks);

  int64_t member() const override { return self; }
  int64_t members() const override { return int64_t(ranks.size()); }
  Status swap(std::span<const std::span<const uint8_t>> out,
              std::span<const std::span<uint8_t>> in) override;

private:
  Communicator &comm;
  std::vector<int64_t> ranks;
  int64_t self = 0;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_GROUPCOMMUNICATOR_H
