//===- CostModel.h - how long steps and messages take ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long steps and messages take, by a roofline (Williams et al., CACM 2009):
// an op takes as long as its bytes need from memory or its operations need in
// the device's units, whichever is longer; a step takes the sum over its ops,
// and what the device adds to each step and each row:
//
//   op(R, C)   = max((weights + C cache + R bytesPerRow) / bytesPerSecond,
//                    R (flopsPerRow + C flopsPerRowAndPosition) /
//                    flopsPerSecond)
//   step(R, C) = overhead + R row + sum over ops
//
// On a device whose steps were measured (Device::weightSeconds) an op with
// weights takes what they took there, all that it does beside included:
//
//   op(R, C)   = weights weightSeconds(R)
//
// A collective takes the time that its messages are on the group's links as
// well: rounds latency + R linkBytesPerRow / bandwidth. R rows at a context of
// C positions. The rows of a step are taken to be of one request, so that they
// read its cache once. An output layer's ops count the rows that want an output
// instead of R.
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

/// Most layers of a model.
constexpr int64_t maxLayers = 4096;

/// What one op costs; as CostInterface of the dialect says it.
struct OpCost {
  int64_t weightBytes = 0;
  int64_t flopsPerRow = 0;
  int64_t flopsPerRowAndPosition = 0;
  int64_t cacheBytesPerPosition = 0;
  int64_t bytesPerRow = 0;
  /// Of a collective: messages one after the other between the members of a
  /// group, and bytes that each of them sends.
  int64_t linkRounds = 0;
  int64_t linkBytesPerRow = 0;
  bool operator==(const OpCost &) const = default;
};

/// A part of a model that lies in one stage as a whole.
struct PartCost {
  std::vector<OpCost> ops;
  /// Weights that the stage must hold. More than its ops read where they look
  /// rows up in a table.
  int64_t memoryBytes = 0;

  int64_t weightBytes() const;
  int64_t cacheBytesPerPosition() const;
  bool operator==(const PartCost &) const = default;
};

/// What the parts of a model cost.
struct ModelCost {
  std::string name;
  int64_t hidden = 0;
  int64_t vocab = 0;
  PartCost embedding; ///< before the first layer
  std::vector<PartCost> layers;
  PartCost output; ///< after the last layer, for rows that want an output
  /// Memory that embedding and output share where one stage has both.
  int64_t tiedBytes = 0;
};

/// What a stage has of a model.
struct StageRange {
  int64_t firstLayer = 0;
  int64_t layers = 0;
  bool embedding = false;
  bool output = false;
  bool operator==(const StageRange &) const = default;
};

/// The whole model.
StageRange wholeModel(const ModelCost &model);

struct StepShape {
  int64_t rows = 1;
  int64_t outputs = 1; ///< rows that want an output
  int64_t context = 0; ///< positions that each row attends to
};

/// Seconds of one op.
double opSeconds(const OpCost &op, int64_t rows, int64_t context,
                 const DeviceSpec &device);

/// One entry for each of StepTimes::rowCounts.
using StepTable = std::array<Time, StepTimes::rowCounts.size()>;

/// Checkpoints of a stage that is only described: stretches of equal length, of
/// which `checkpoints` + 1 make a step. --sluice-insert-checkpoints, which can
/// end a stretch between two ops only and splits no product that fits into one,
/// places more of them.
struct CheckpointSchedule {
  int64_t checkpoints = 0;
  /// The most rows of a step whose stretches do not exceed the limit.
  int64_t stepRows = 1;
};

/// The steps of a stage on a device. Equal ops are kept once with their number,
/// so seconds() takes microseconds at most and allocates nothing. Immutable
/// after construction, so thread-safe.
class StageCost {
public:
  /// `range` lies in the model.
  StageCost(const ModelCost &model, const StageRange &range,
            const DeviceSpec &device);

  /// Of a step. Rows >= 0; a step without rows takes no time.
  double seconds(const StepShape &shape) const;
  Time time(const StepShape &shape) const;

  /// Times by row count, all rows wanting an output.
  StepTable table(int64_t context) const;

  /// How many rows a step needs for a prompt to be computed at full speed: the
  /// fewest with which a row takes at most 5 % longer than with any number up
  /// to `limit`, which is positive. A row never takes longer in a longer step.
  int64_t fullRows(int64_t limit, int64_t context) const;

  /// Checkpoints for which no stretch of a step of fullRows() rows, of `rows`
  /// at most, takes longer than `maxLatency`; 0: none, and steps of `rows`.
  CheckpointSchedule checkpoints(Time maxLatency, int64_t rows,
                                 int64_t context) const;

  /// Weights that it must hold, and cache for one position.
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

/// What a byte of weights takes on a device, by the rows of a step, where whole
/// steps of a model took `steps` with rows that attended to `context`
/// positions: so that StageCost says the same of them, but for what it takes to
/// keep the curve one. The device's rates are positive. Error: a step that
/// takes no longer than its ops without weights.
Expected<RowCurve> weightCurve(const RowCurve &steps, const ModelCost &model,
                               int64_t context, const DeviceSpec &device);

/// Into how many stretches of equal length checkpoints cut a step, so that none
/// is longer than `maxLatency`; 0: no checkpoints.
int64_t stretchCount(Time step, Time maxLatency);

/// Memory that a stage needs: weights, and `positions` positions of cache.
int64_t stageMemoryBytes(const ModelCost &model, const StageRange &range,
                         int64_t positions);

/// How long a message of `bytes` is on its way.
double linkSeconds(const Link &link, int64_t bytes);
/// What goes between the head and the first or last stage for a row: its table
/// entry or the token's answer, with their headers.
constexpr int64_t headMessageBytes = 128;

/// How long it keeps the link from the next message.
double linkOccupancySeconds(const Link &link, int64_t bytes);

/// Seconds to whole nanoseconds.
Time toTime(double seconds);

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_COSTMODEL_H
