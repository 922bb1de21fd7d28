//===- RowCurve.cpp - measured times by the rows of a step ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/RowCurve.h"

#include "runtime/cluster/Units.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

using namespace sluice;
using namespace sluice::cluster;

constexpr double maxSeconds = 1e4;
/// Tolerance for times that are equal except for rounding.
constexpr double slack = 1e-9;

static Status checkPair(const RowCurve::Point &before,
                        const RowCurve::Point &point) {
  if (point.seconds < before.seconds * (1 - slack))
    return failure(point.rows, " rows take ", formatSeconds(point.seconds),
                   ", less than ", before.rows, ": ",
                   formatSeconds(before.seconds));
  double max = before.seconds * double(point.rows) / double(before.rows);
  if (point.seconds > max * (1 + slack))
    return failure(point.rows, " rows take ", formatSeconds(point.seconds),
                   ": in steps of ", before.rows, " they would take ",
                   formatSeconds(max));
  return {};
}

/// Checks each point, whatever the times of the others are.
static Status checkPoints(const std::vector<RowCurve::Point> &points) {
  if (points.empty() || int64_t(points.size()) > maxCurvePoints)
    return failure(points.size(), " times are not 1 to ", maxCurvePoints);
  if (points.front().rows != 1)
    return failure("the first time must be for 1 row, and not for ",
                   points.front().rows);
  for (size_t i = 0; i < points.size(); ++i) {
    const RowCurve::Point &point = points[i];
    if (point.rows > maxStepRows)
      return failure(point.rows, " rows are more than ", maxStepRows);
    if (!(point.seconds > 0 && point.seconds <= maxSeconds))
      return failure("the time for ", point.rows, " rows, ", point.seconds,
                     " s, is not in (0, ", maxSeconds, "]");
    if (i > 0 && point.rows <= points[i - 1].rows)
      return failure("a time for ", point.rows, " rows stands behind that for ",
                     points[i - 1].rows);
  }
  return {};
}

static Status checkTimes(const std::vector<RowCurve::Point> &points) {
  for (size_t i = 1; i < points.size(); ++i)
    SLUICE_RETURN_IF_ERROR(checkPair(points[i - 1], points[i]));
  return {};
}

Expected<RowCurve> RowCurve::create(std::vector<Point> points) {
  Status checked = checkPoints(points);
  if (checked.ok())
    checked = checkTimes(points);
  if (!checked.ok())
    return checked;
  RowCurve curve;
  curve.kept = std::move(points);
  return curve;
}

/// Returns the longest possible step of `rows` rows, given the time of another
/// step.
static double maxBy(const RowCurve::Point &other, int64_t rows) {
  return other.rows < rows ? other.seconds * double(rows) / double(other.rows)
                           : other.seconds;
}

static double minBy(const RowCurve::Point &other, int64_t rows) {
  return other.rows > rows ? other.seconds * double(rows) / double(other.rows)
                           : other.seconds;
}

/// Fails if two points contradict each other by more than the noise of both.
static Status checkNoise(const RowCurve::Point &before,
                         const RowCurve::Point &point) {
  double apart = std::max(minBy(before, point.rows) / point.seconds,
                          point.seconds / maxBy(before, point.rows));
  if (apart > (1 + maxNoise) * (1 + maxNoise))
    return checkPair(before, point);
  return {};
}

Expected<RowCurve> RowCurve::fit(const std::vector<Point> &measured) {
  SLUICE_RETURN_IF_ERROR(checkPoints(measured));
  for (size_t i = 0; i < measured.size(); ++i)
    for (size_t before = 0; before < i; ++before)
      SLUICE_RETURN_IF_ERROR(checkNoise(measured[before], measured[i]));
  RowCurve curve;
  for (const Point &point : measured) {
    double max = point.seconds, min = point.seconds;
    for (const Point &other : measured) {
      max = std::min(max, maxBy(other, point.rows));
      min = std::max(min, minBy(other, point.rows));
    }
    // All conditions are about ratios. The bounds are curves by themselves, and
    // so is their geometric mean, which moves no time by more than necessary.
    curve.kept.push_back({point.rows, std::sqrt(max * min)});
  }
  return curve;
}

static double onLine(const RowCurve::Point &a, const RowCurve::Point &b,
                     int64_t rows) {
  double share = double(rows - a.rows) / double(b.rows - a.rows);
  return a.seconds + share * (b.seconds - a.seconds);
}

double RowCurve::seconds(int64_t rows) const {
  assert(!kept.empty() && rows >= 1);
  auto above = std::ranges::lower_bound(kept, rows, {}, &Point::rows);
  if (above == kept.end())
    return kept.back().seconds * double(rows) / double(kept.back().rows);
  if (above->rows == rows)
    return above->seconds;
  auto below = std::prev(above), after = std::next(above);
  // Before the first point the curve is level; after the last one it lies on a
  // line through the origin.
  const Point before =
      below == kept.begin() ? Point{0, below->seconds} : *std::prev(below);
  const Point behind = after == kept.end() ? Point{0, 0} : *after;
  double max = onLine(*below, *above, rows);
  double min = std::min(max, std::max(onLine(before, *below, rows),
                                      onLine(*above, behind, rows)));
  return (min + max) / 2;
}

RowCurve RowCurve::slower(const RowCurve &a, const RowCurve &b) {
  RowCurve curve;
  for (const RowCurve *each : {&a, &b})
    for (const Point &point : each->kept)
      curve.kept.push_back(
          {point.rows, std::max(a.seconds(point.rows), b.seconds(point.rows))});
  std::ranges::sort(curve.kept, {}, &Point::rows);
  auto twice = std::ranges::unique(curve.kept, {}, &Point::rows);
  curve.kept.erase(twice.begin(), twice.end());
  return curve;
}
