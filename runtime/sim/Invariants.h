//===- Invariants.h - invariants that are checked during a run ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks what must hold at every moment of a run, whatever goes wrong in it.
// These invariants are checked during the run, because correct tokens alone do
// not show them. The comment of each class begins with its invariant. All are
// thread-compatible.
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
  /// Notes that a message leaves; returns its number.
  uint64_t send() { return sent++; }
  /// Notes that a message arrives. Fails if a later one arrived before it.
  Status arrive(uint64_t number);

private:
  uint64_t sent = 0;
  uint64_t latest = 0; ///< the latest message that has arrived
};

/// The rows of a request arrive at each stage, and their answers at the head,
/// in the order in which the head launched them, and the head launches no row
/// before its parent. Rows that have died on the way do not arrive.
class RowTurns {
public:
  RowTurns(int64_t requests, int64_t stages);

  /// Notes that the head sends a frame to the first stage. Fails if a row does
  /// not belong to the slot's present request, or its parent leaves neither
  /// before it nor with it.
  Status launch(const StepFrame &frame);
  /// Notes that a frame arrives at a stage's mailbox. Fails if a row of it was
  /// never launched, or was launched before a row that has arrived already.
  Status arrive(int64_t stage, const StepFrame &frame);
  /// Notes that the last stage's answers arrive at the head. Fails as arrive()
  /// does.
  Status answer(const ResultFrame &frame);

private:
  /// When a row was launched. Rows of one frame are ordered by node.
  struct Turn {
    uint64_t frame = 0; ///< the head's frame, counted from 1
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
  /// The rows that the head has launched for a slot's present request.
  struct Launched {
    NodeId firstNode = 0;
    NodeId prefixEnd = noNode; ///< the parent of the request's first row
    std::vector<bool> nodes;   ///< [node - firstNode]
  };

  Status checkParent(const Row &row);
  Status take(size_t place, std::span<const RowName> rows);
  void forget(uint64_t gone);

  std::vector<Launched> launched; ///< [request]
  /// The frames that carried a row, the earliest first; few rows are launched
  /// twice.
  std::unordered_map<RowName, std::vector<uint64_t>, HashName> framesOf;
  std::deque<std::pair<uint64_t, RowName>> underWay; ///< in order of frames
  /// [place][request]: the last turn that has arrived at a stage or at the
  /// head.
  std::vector<std::vector<Turn>> seen;
  std::vector<RowName> names; ///< scratch memory of arrive() and answer()
  std::vector<Turn> latest;   ///< [request]: scratch memory of take()
};

/// A request ends as a timeout once its deadline has passed, started or not,
/// before the head handles any later event, and not earlier.
class Deadlines {
public:
  /// `queueTimeout` is that of SchedulerLimits.
  explicit Deadlines(Time queueTimeout) : queueTimeout(queueTimeout) {}

  /// Notes that the head knows a request.
  void submit(RequestNumber number, std::optional<Time> deadline, Time now);
  /// Notes that the head handles an event that came at `came`. Fails if the
  /// deadline of a request that has not ended was before.
  Status takeUp(Time came) const;
  /// Notes that a request ends. Fails if it ends as a timeout before its time.
  Status end(const RequestEnd &end, Time now);

private:
  struct Request {
    std::optional<Time> deadline;
    /// When the head learned of the request: it sets no alarm before.
    Time known{0};
  };

  Time queueTimeout;
  /// Requests that have not ended.
  std::unordered_map<RequestNumber, Request> requests;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_INVARIANTS_H
