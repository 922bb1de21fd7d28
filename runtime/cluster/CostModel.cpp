//===- CostModel.cpp - the times of steps and messages --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/CostModel.h"

#include "runtime/cluster/Units.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace sluice;
using namespace sluice::cluster;

int64_t PartCost::weightBytes() const {
  int64_t sum = 0;
  for (const OpCost &op : ops)
    sum += op.weightBytes;
  return sum;
}

int64_t PartCost::cacheBytesPerPosition() const {
  int64_t sum = 0;
  for (const OpCost &op : ops)
    sum += op.cacheBytesPerPosition;
  return sum;
}

StageRange cluster::wholeModel(const ModelCost &model) {
  return {.firstLayer = 0,
          .layers = int64_t(model.layers.size()),
          .embedding = true,
          .output = true};
}

/// Returns the time of an op by the roofline.
static double boundSeconds(const OpCost &op, int64_t rows, int64_t context,
                           const DeviceSpec &device) {
  // In floating point, because the products exceed 64 bits for large contexts.
  double r = double(rows), c = double(context);
  double bytes = double(op.weightBytes) + c * double(op.cacheBytesPerPosition) +
                 r * double(op.bytesPerRow);
  double flops =
      r * (double(op.flopsPerRow) + c * double(op.flopsPerRowAndPosition));
  return std::max(bytes / device.bytesPerSecond, flops / device.flopsPerSecond);
}

double cluster::opSeconds(const OpCost &op, int64_t rows, int64_t context,
                          const DeviceSpec &device) {
  bool measured = op.weightBytes > 0 && !device.weightSeconds.empty();
  double seconds =
      measured ? double(op.weightBytes) * device.weightSeconds.seconds(rows)
               : boundSeconds(op, rows, context, device);
  if (op.linkRounds > 0 && device.peers)
    seconds += double(op.linkRounds) * device.peers->latencySeconds +
               double(rows) * double(op.linkBytesPerRow) /
                   device.peers->bytesPerSecond;
  return seconds;
}

StageCost::StageCost(const ModelCost &model, const StageRange &range,
                     const DeviceSpec &device)
    : where(device), memory(stageMemoryBytes(model, range, 0)) {
  assert(range.firstLayer >= 0 && range.layers >= 0 &&
         range.firstLayer + range.layers <= int64_t(model.layers.size()) &&
         "a stage has layers of its model");
  if (range.embedding)
    add(model.embedding, false);
  for (int64_t layer = 0; layer < range.layers; ++layer)
    add(model.layers[size_t(range.firstLayer + layer)], false);
  if (range.output)
    add(model.output, true);
}

void StageCost::add(const PartCost &part, bool ofOutput) {
  for (const OpCost &op : part.ops) {
    auto same = std::find_if(ops.begin(), ops.end(), [&](const Counted &other) {
      return other.ofOutput == ofOutput && other.op == op;
    });
    if (same == ops.end())
      ops.push_back({.op = op, .count = 1, .ofOutput = ofOutput});
    else
      ++same->count;
  }
  cachePerPosition += part.cacheBytesPerPosition();
}

double StageCost::seconds(const StepShape &shape) const {
  assert(shape.rows >= 0 && shape.outputs >= 0 && shape.context >= 0);
  if (shape.rows == 0)
    return 0;
  double sum = where.overheadSeconds + double(shape.rows) * where.rowSeconds;
  for (const Counted &counted : ops) {
    int64_t rows = counted.ofOutput ? shape.outputs : shape.rows;
    if (rows > 0)
      sum += double(counted.count) *
             opSeconds(counted.op, rows, shape.context, where);
  }
  return sum;
}

Time StageCost::time(const StepShape &shape) const {
  return toTime(seconds(shape));
}

StepTable StageCost::table(int64_t context) const {
  StepTable times;
  for (size_t i = 0; i < times.size(); ++i) {
    int64_t rows = StepTimes::rowCounts[i];
    times[i] = time({.rows = rows, .outputs = rows, .context = context});
  }
  return times;
}

int64_t StageCost::fullRows(int64_t limit, int64_t context) const {
  assert(limit >= 1 && "some rows are needed");
  auto perRow = [&](int64_t rows) {
    return seconds({.rows = rows, .outputs = rows, .context = context}) /
           double(rows);
  };
  // 1e-9 allows for rounding where times are equal by construction.
  double max = perRow(limit) * (1.05 + 1e-9);
  int64_t tooFew = 0, enough = limit;
  while (tooFew + 1 < enough) {
    int64_t middle = tooFew + (enough - tooFew) / 2;
    (perRow(middle) <= max ? enough : tooFew) = middle;
  }
  return enough;
}

Expected<RowCurve> cluster::weightCurve(const RowCurve &steps,
                                        const ModelCost &model, int64_t context,
                                        const DeviceSpec &device) {
  int64_t bytes = 0;
  ModelCost others = model;
  auto take = [&](PartCost &part) {
    bytes += part.weightBytes();
    std::erase_if(part.ops,
                  [](const OpCost &op) { return op.weightBytes > 0; });
  };
  take(others.embedding);
  take(others.output);
  for (PartCost &layer : others.layers)
    take(layer);
  StageCost beside(others, wholeModel(others), device);
  std::vector<RowCurve::Point> points;
  for (auto [rows, seconds] : steps.points()) {
    double rest = beside.seconds({rows, rows, context});
    if (!(rest < seconds))
      return failure("steps of ", rows, " rows of '", model.name, "' take ",
                     formatSeconds(seconds), ": without weights alone ",
                     formatSeconds(rest));
    double each = (seconds - rest) / double(bytes);
    // If steps hardly get longer, or rows hardly faster in longer steps, the
    // part of the weights can violate a curve's requirements; it is moved to
    // the nearest valid value.
    if (!points.empty()) {
      const RowCurve::Point &last = points.back();
      each = std::clamp(each, last.seconds,
                        last.seconds * double(rows) / double(last.rows));
    }
    points.push_back({rows, each});
  }
  return RowCurve::create(std::move(points));
}

int64_t cluster::stretchCount(Time step, Time maxLatency) {
  if (maxLatency <= Time(0))
    return 1;
  return std::max<int64_t>(1, (step + maxLatency - Time(1)) / maxLatency);
}

CheckpointSchedule StageCost::checkpoints(Time maxLatency, int64_t rows,
                                          int64_t context) const {
  assert(rows >= 1 && rows <= maxStepRows && maxLatency.count() >= 0);
  if (maxLatency.count() == 0)
    return {.checkpoints = 0, .stepRows = rows};
  auto length = [&](int64_t count) {
    return seconds({.rows = count, .outputs = count, .context = context});
  };
  double limit = double(maxLatency.count()) * 1e-9;
  int64_t stretches = std::max<int64_t>(
      1, int64_t(std::ceil(length(fullRows(rows, context)) / limit - 1e-9)));
  // Finds the longest step that fits: the time never falls with more rows.
  int64_t fits = fullRows(rows, context), tooMany = rows + 1;
  while (fits + 1 < tooMany) {
    int64_t middle = fits + (tooMany - fits) / 2;
    (length(middle) <= limit * double(stretches) ? fits : tooMany) = middle;
  }
  return {.checkpoints = stretches - 1, .stepRows = fits};
}

int64_t cluster::stageMemoryBytes(const ModelCost &model,
                                  const StageRange &range, int64_t positions) {
  int64_t sum = 0;
  auto add = [&](const PartCost &part) {
    sum += part.memoryBytes + positions * part.cacheBytesPerPosition();
  };
  if (range.embedding)
    add(model.embedding);
  for (int64_t layer = 0; layer < range.layers; ++layer)
    add(model.layers[size_t(range.firstLayer + layer)]);
  if (range.output)
    add(model.output);
  if (range.embedding && range.output)
    sum -= model.tiedBytes;
  return sum;
}

double cluster::linkSeconds(const Link &link, int64_t bytes) {
  return link.latencySeconds + linkOccupancySeconds(link, bytes);
}

double cluster::linkOccupancySeconds(const Link &link, int64_t bytes) {
  return double(bytes) / link.bytesPerSecond;
}

Time cluster::toTime(double seconds) {
  return Time(std::llround(seconds * 1e9));
}
