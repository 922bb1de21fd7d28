//===- CostModel.h - the times of steps and messages ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the times of steps and messages by a roofline (Williams et al., CACM
// 2009): an op takes the time for its bytes from memory or the time for its
// operations in the device's units, whichever is longer. A step takes the sum
// over its ops, plus what the device adds to each step and each row:
//
//   op(R, C)   = max((weights + C cache + R bytesPerRow) / bytesPerSecond,
//                    R (flopsPerRow + C flopsPerRowAndPosition) /
//                    flopsPerSecond)
//   step(R, C) = overhead + R row + sum over ops
//
// On a device with measured steps (DeviceSpec::weightSeconds), an op with
// weights takes the measured time, which includes all its other work:
//
//   op(R, C)   = weights weightSeconds(R)
//
// A collective also takes the time of its messages on the group's links: rounds
// latency + R linkBytesPerRow / bandwidth. R is the number of rows, C the
// positions of their context. The rows of a step count as those of one request,
// so they read its cache once. For the ops of an output layer, R is the number
// of outputs.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_COSTMODEL_H
#define SLUICE_RUNTIME_CLUSTER_COSTMODEL_H

#include "runtime/cluster/Cluster.h"
#include "runtime/core/Speculation.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::cluster {

/// The largest number of layers of a model.
constexpr int64_t maxLayers = 4096;

/// The costs of one op, as the dialect's CostInterface gives them.
struct OpCost {
  int64_t weightBytes = 0;
  int64_t flopsPerRow = 0;
  int64_t flopsPerRowAndPosition = 0;
  int64_t cacheBytesPerPosition = 0;
  int64_t bytesPerRow = 0;
  /// For a collective: the number of messages, one after another, between the
  /// members of a group, and the bytes that each member sends for a row.
  int64_t linkRounds = 0;
  int64_t linkBytesPerRow = 0;
  bool operator==(const OpCost &) const = default;
};

/// The costs of a part of a model that is never split between stages.
struct PartCost {
  std::vector<OpCost> ops;
  /// The weights that the stage must hold. They are more than its ops read if
  /// ops look rows up in a table.
  int64_t memoryBytes = 0;

  int64_t weightBytes() const;
  int64_t cacheBytesPerPosition() const;
  bool operator==(const PartCost &) const = default;
};

/// The costs of a model.
struct ModelCost {
  std::string name;
  int64_t hidden = 0;
  int64_t vocab = 0;
  PartCost embedding; ///< before the first layer
  std::vector<PartCost> layers;
  PartCost output; ///< after the last layer; counts outputs as rows
  /// Memory that embedding and output share if one stage has both.
  int64_t tiedBytes = 0;
};

/// The part of a model that a stage has.
struct StageRange {
  int64_t firstLayer = 0;
  int64_t layers = 0;
  bool embedding = false;
  bool output = false;
  bool operator==(const StageRange &) const = default;
};

/// Returns the range of the whole model.
StageRange wholeModel(const ModelCost &model);

struct StepShape {
  int64_t rows = 1;
  int64_t outputs = 1; ///< rows that want an output
  int64_t context = 0; ///< positions that each row attends to
};

/// Returns the seconds of one op.
double opSeconds(const OpCost &op, int64_t rows, int64_t context,
                 const DeviceSpec &device);

/// Has an entry for each of StepTimes::rowCounts.
using StepTable = std::array<Time, StepTimes::rowCounts.size()>;

/// The checkpoints of a stage that is only described: `checkpoints` + 1
/// stretches of equal length make a step. --sluice-insert-checkpoints places
/// more of them, because it can end a stretch only between two ops, and splits
/// no product that fits into one.
struct CheckpointSchedule {
  int64_t checkpoints = 0;
  /// The most rows of a step whose stretches are within the limit.
  int64_t stepRows = 1;
};

/// The times of a stage's steps on a device. Equal ops are stored once with
/// their number, so seconds() takes microseconds at most and allocates nothing.
/// Immutable, and therefore thread-safe.
class StageCost {
public:
  /// `range` must lie in the model.
  StageCost(const ModelCost &model, const StageRange &range,
            const DeviceSpec &device);

  /// Returns the seconds of a step. Rows >= 0; a step without rows takes no
  /// time.
  double seconds(const StepShape &shape) const;
  Time time(const StepShape &shape) const;

  /// Returns the times by row count, if all rows want an output.
  StepTable table(int64_t context) const;

  /// Returns how many rows a step needs to compute a prompt at full speed: the
  /// fewest with which a row takes at most 5 % longer than with any number of
  /// rows up to `limit`, which must be positive. A row never takes longer in a
  /// longer step.
  int64_t fullRows(int64_t limit, int64_t context) const;

  /// Returns checkpoints such that no stretch of a step of fullRows() rows, and
  /// at most `rows`, takes longer than `maxLatency`. With 0 there are no
  /// checkpoints, and steps have `rows` rows.
  CheckpointSchedule checkpoints(Time maxLatency, int64_t rows,
                                 int64_t context) const;

  /// Bytes of the weights that the stage must hold.
  int64_t memoryBytes() const { return memory; }
  int64_t cacheBytesPerPosition() const { return cachePerPosition; }
  const DeviceSpec &device() const { return where; }

private:
  struct Counted {
    OpCost op;
    int64_t count = 0;
    bool ofOutput = false;
  };
  void add(const PartCost &part, bool ofOutput);

  DeviceSpec where;
  std::vector<Counted> ops;
  int64_t memory = 0;
  int64_t cachePerPosition = 0;
};

/// Returns the time of a byte of weights on a device, by the rows of a step,
/// computed from `steps`: the times of whole steps of a model whose rows
/// attended to `context` positions. StageCost then gives the times of `steps`
/// again, except where the result had to be changed to be a curve. The device's
/// rates must be positive. Fails if a step takes no longer than its ops without
/// weights.
Expected<RowCurve> weightCurve(const RowCurve &steps, const ModelCost &model,
                               int64_t context, const DeviceSpec &device);

/// Returns into how many stretches of equal length checkpoints cut a step, so
/// that none is longer than `maxLatency`; with 0 there are no checkpoints.
int64_t stretchCount(Time step, Time maxLatency);

/// Returns the bytes that a stage needs: weights, and `positions` positions of
/// cache.
int64_t stageMemoryBytes(const ModelCost &model, const StageRange &range,
                         int64_t positions);

/// Returns how long a message of `bytes` takes to arrive.
double linkSeconds(const Link &link, int64_t bytes);
/// Bytes between the head and the first or last stage for a row: its table
/// entry or the token's result, with headers.
constexpr int64_t headMessageBytes = 128;

/// Returns how long a message occupies the link.
double linkOccupancySeconds(const Link &link, int64_t bytes);

/// Converts seconds to whole nanoseconds.
Time toTime(double seconds);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_COSTMODEL_H
