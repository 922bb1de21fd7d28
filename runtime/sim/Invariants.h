//===- Invariants.h - what holds at every moment of a run -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What holds at every moment of a run, whatever goes wrong in it, and is
// checked while it goes on: tokens that come out right do not show it. Each
// class has one invariant, which it says first. All are thread-compatible.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_INVARIANTS_H
#define SLUICE_RUNTIME_SIM_INVARIANTS_H

#include "runtime/core/Scheduler.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace sluice::sim {

/// Messages of a lane arrive in the order in which they were sent. Some may be
/// lost or come twice.
class ArrivalOrder {
public:
  /// A message leaves; its number.
  uint64_t send() { return sent++; }
  /// That message arrives. Error: a later one came before it.
  Status arrive(uint64_t number);

private:
  uint64_t sent = 0;
  uint64_t latest = 0; ///< that has arrived
};

/// The rows of a request come to each stage, and their answers to the head, in
/// the turn in which the head launched them, and it launches none before its
/// parent. Rows that have died on the way do not come.
class RowTurns {
public:
  RowTurns(int64_t requests, int64_t stages);

  /// The head sends the frame to the first stage. Error: a row is not the
  /// present request's, or its parent has not left before it or with it.
  Status launch(const StepFrame &frame);
  /// The frame has come to the stage's mailbox. Error: a row of it was never
  /// launched, or its turn was before that of a row that has come already.
  Status arrive(int64_t stage, const StepFrame &frame);
  /// The last stage's answers have come to the head. Error: likewise.
  Status answer(const ResultFrame &frame);

private:
  /// Where rows leave in one frame, those with lower numbers go first.
  struct Turn {
    uint64_t frame = 0; ///< of the head, from 1
    NodeId node = noNode;
    auto operator<=>(const Turn &) const = default;
  };
  struct RowName {
    RequestId request = 0;
    NodeId node = 0;
    bool operator==(const RowName &) const = default;
  };
  struct HashName {
    size_t operator()(const RowName &name) const {
      return std::hash<NodeId>()(name.node * 1000003 + name.request);
    }
  };
  /// What the head has launched for a slot's present request.
  struct Launched {
    NodeId firstNode = 0;
    NodeId prefixEnd = noNode; ///< the parent of its first row
    std::vector<bool> nodes;   ///< [node - firstNode]
  };

  Status checkParent(const Row &row);
  Status take(size_t place, std::span<const RowName> rows);
  void forget(uint64_t gone);

  std::vector<Launched> launched; ///< [request]
  /// Frames that brought a row, the earliest first: few rows leave again.
  std::unordered_map<RowName, std::vector<uint64_t>, HashName> framesOf;
  std::deque<std::pair<uint64_t, RowName>> underWay; ///< in order of frames
  /// [place][request]: the last turn that has come to a stage or to the head.
  std::vector<std::vector<Turn>> seen;
  std::vector<RowName> names; ///< work of arrive() and answer()
  std::vector<Turn> latest;   ///< [request]: work of take()
};

/// A request ends as a timeout once its deadline has passed, started or not,
/// before the head takes up anything that came later; and not earlier.
class Deadlines {
public:
  /// `queueTimeout`: as of SchedulerLimits.
  explicit Deadlines(Time queueTimeout) : queueTimeout(queueTimeout) {}

  /// A request is with the head.
  void submit(RequestNumber number, std::optional<Time> deadline, Time now);
  /// The head takes up something that came at `came`. Error: a request is not
  /// over whose deadline was before.
  Status takeUp(Time came) const;
  /// Error: it ends as a timeout, but has its time still.
  Status end(const UserEnd &end, Time now);

private:
  struct Request {
    std::optional<Time> deadline;
    /// Since when the head knows of it: its alarm is not set before.
    Time known{0};
  };

  Time queueTimeout;
  std::unordered_map<RequestNumber, Request> requests; ///< that are not over
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_INVARIANTS_H
