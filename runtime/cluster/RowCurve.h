//===- RowCurve.h - measured times by the rows of a step ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the time of a step by its number of rows, from measured points. Beyond
// the last point, each row takes as long as at that point.
//
// Interpolation. A step takes the time of memory or of arithmetic, whichever is
// longer, so the curve bends upwards. Between two points, it is then at most
// the line between them, and at least each neighbouring line, continued. The
// middle of these two bounds is returned; its error is at most half of their
// distance. If a kernel uses another algorithm from some row count on, the
// curve also bends downwards, and values between two points are only estimates.
//
// Requirements. A step does not get shorter by one more row, and a row takes no
// longer in a longer step, which could be computed as two. Real machines
// satisfy both. Both then also hold between and beyond the points, which
// searches for row counts rely on (StageCost::fullRows()).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_ROWCURVE_H
#define SLUICE_RUNTIME_CLUSTER_ROWCURVE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <vector>

namespace sluice::cluster {

/// The largest number of points of a curve.
constexpr int64_t maxCurvePoints = 64;
/// The largest number of rows of a step.
constexpr int64_t maxStepRows = 65536;
/// The fraction by which a measured time may be wrong.
constexpr double maxNoise = 0.25;

/// A curve that is empty or valid by create(). Immutable, and therefore
/// thread-safe.
class RowCurve {
public:
  struct Point {
    int64_t rows = 0;
    double seconds = 0;
    bool operator==(const Point &) const = default;
  };

  RowCurve() = default;
  /// Fails if there are no points or too many, the first point is not of one
  /// row, row counts do not rise or exceed maxStepRows, or times are not in (0,
  /// 10,000], fall with more rows, or rise faster than the rows.
  static Expected<RowCurve> create(std::vector<Point> points);

  /// Returns the nearest curve to measured points. If noise made a time fall,
  /// or rise faster than the rows, it and the times that it contradicts are
  /// moved, and the largest factor by which one is moved is as small as
  /// possible. Fails as create() does, but for contradicting times only if that
  /// factor is more than 1 + maxNoise.
  static Expected<RowCurve> fit(const std::vector<Point> &measured);

  bool empty() const { return kept.empty(); }
  const std::vector<Point> &points() const { return kept; }

  /// Returns the time for `rows`, which must be positive; the curve must not be
  /// empty. Allocates nothing.
  double seconds(int64_t rows) const;

  /// Returns the slower of two non-empty curves at every row count of either.
  static RowCurve slower(const RowCurve &a, const RowCurve &b);

  bool operator==(const RowCurve &) const = default;

private:
  std::vector<Point> kept; ///< sorted by rows
};

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_ROWCURVE_H
