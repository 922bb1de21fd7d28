//===- RowCurve.h - times by the rows of a step ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times by the rows of a step, as measured; beyond the last row count a row
// takes as long as there.
//
// Steps are as long as memory takes, or arithmetic, whichever is slower, so
// that times bend upwards. Between two row counts they are no more, then, than
// the line between them says, and no less than where the curve would be if it
// went on from one side as it came there. Where it bends nobody has measured:
// half of the way between these bounds is off by half of what they differ by,
// at most. Where a kernel takes another way from some row count on, times bend
// downwards as well, and what lies between two points is a guess.
//
// Machines give what is required of the points: a step does not get shorter by
// a row more, and a row takes no longer in a longer step, which could be
// computed as two. Both then hold between and beyond the points as well, which
// searches for row counts rely on (StageCost::fullRows()).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CLUSTER_ROWCURVE_H
#define SLUICE_RUNTIME_CLUSTER_ROWCURVE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <vector>

namespace sluice::cluster {

/// Most points of a curve.
constexpr int64_t maxCurvePoints = 64;
/// Most rows of a step.
constexpr int64_t maxStepRows = 65536;
/// Part of a time by which a measured one may be off.
constexpr double maxNoise = 0.25;

/// Empty, or what create() lets pass; immutable, so thread-safe.
class RowCurve {
public:
  struct Point {
    int64_t rows = 0;
    double seconds = 0;
    bool operator==(const Point &) const = default;
  };

  RowCurve() = default;
  /// Errors: no points or too many, the first not of one row, row counts that
  /// do not rise or exceed maxStepRows, times that are not in (0, 10,000], that
  /// fall with more rows, or that rise faster than the rows do.
  static Expected<RowCurve> create(std::vector<Point> points);

  /// The nearest curve to points that were measured: where noise made a time
  /// fall, or rise faster than the rows, that and those it contradicts are
  /// moved, and the greatest factor by which one is moved is as small as can
  /// be. Errors: create()'s; times that fall or rise so are one where that
  /// factor is more than 1 + maxNoise.
  static Expected<RowCurve> fit(const std::vector<Point> &measured);

  bool empty() const { return kept.empty(); }
  const std::vector<Point> &points() const { return kept; }

  /// At so many rows, which are positive; the curve is not empty. Allocates
  /// nothing.
  double seconds(int64_t rows) const;

  /// What is slower of two, neither empty, at every row count that either has.
  static RowCurve slower(const RowCurve &a, const RowCurve &b);

  bool operator==(const RowCurve &) const = default;

private:
  std::vector<Point> kept; ///< by rows
};

} // namespace sluice::cluster

#endif // SLUICE_RUNTIME_CLUSTER_ROWCURVE_H
