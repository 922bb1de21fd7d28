//===- GroupCommunicator.h - the members of a group to each other ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor-parallel group computes a stage together. Its members are numbered
// from 0 and all call the same, in the same order:
//
//   RankGroup group(communicator, {0, 1});
//   out[1 - group.member()] = mine;  in[1 - group.member()] = room;
//   if (Status s = group.swap(out, in); !s.ok()) return s;
//
// What collectives are made of it is in Collectives.h, so that the order of
// sums does not depend on what carries the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_GROUPCOMMUNICATOR_H
#define SLUICE_RUNTIME_COMM_GROUPCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

#include <span>
#include <vector>

namespace sluice::comm {

/// One member's end. Used by one thread at a time. Which memory the bytes may
/// lie in, an implementation says.
class GroupCommunicator {
public:
  virtual ~GroupCommunicator() = default;

  virtual int64_t member() const = 0;
  virtual int64_t members() const = 0;

  /// Gives out[m] to every other member m, and fills in[m] with what that one
  /// gives to this, which is as long. Nothing travels where both are empty; the
  /// entries of this member are not looked at. Waits until `in` is full; `out`
  /// is free again. Errors: the communication is broken, or another length than
  /// expected: the members have lost step. After one it is not called again.
  virtual Status swap(std::span<const std::span<const uint8_t>> out,
                      std::span<const std::span<uint8_t>> in) = 0;
};

/// Members that are ranks of a job, over its communicator's group lane: in a
/// process or under MPI. The bytes lie in the process's own memory.
class RankGroup final : public GroupCommunicator {
public:
  /// `ranks` are those of all members, in order, each once, this rank among
  /// them; `communicator` outlives the group.
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
