//===- Speculation.cpp - decides which guesses are worth sending ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Speculation.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sluice {

namespace {

/// The weight of a new measurement in an exponential average of times.
constexpr double timeRate = 0.125;
/// The draft's own confidence counts as so many observations.
constexpr double confidenceWeight = 2;
/// The factors by which an observation fades with each new one, in the same
/// bucket and in another one.
constexpr double keptInBucket = 1 - 1.0 / 512;
constexpr double keptElsewhere = 1 - 1.0 / 4096;
/// The weight of a new observation in the share of rows that were guessed, and
/// the initial share.
constexpr double levelRate = 1.0 / 64;
constexpr double firstGuessedShare = 0.7;
/// After so many confirmed rows without a guess, one guess is sent as a probe.
constexpr int64_t probeRows = 32;
constexpr double minChance = 0.005;
/// How much of a slot must be free in the pipeline for another slot to start;
/// with less, its rows would wait in the mailbox.
constexpr double spareSlot = 0.1;

double average(double before, double now, double rate) {
  return before + rate * (now - before);
}

Time toTime(double nanos) { return Time(std::llround(nanos)); }

double toNanos(Time time) { return static_cast<double>(time.count()); }

} // namespace

//===----------------------------------------------------------------------===//
// StepTimes
//===----------------------------------------------------------------------===//

/// A point between the kept row counts `low` and `low + 1`: `share` of the way
/// from one to the other, above 1 beyond the last count.
struct StepTimes::Interpolation {
  size_t low = 0;
  double share = 0;
};

StepTimes::StepTimes(std::span<const Time> predicted) {
  assert(predicted.size() == rowCounts.size());
  for (size_t i = 0; i < rowCounts.size(); ++i)
    nanos[i] = toNanos(predicted[i]);
  settle();
}

StepTimes::Interpolation StepTimes::interpolationOf(int64_t rows) {
  assert(rows >= 1);
  size_t low = 0;
  while (low + 2 < rowCounts.size() && rowCounts[low + 1] <= rows)
    ++low;
  return {low, static_cast<double>(rows - rowCounts[low]) /
                   (rowCounts[low + 1] - rowCounts[low])};
}

double StepTimes::at(const Interpolation &place) const {
  return rising[place.low] +
         place.share * (rising[place.low + 1] - rising[place.low]);
}

void StepTimes::settle() {
  double max = 0;
  for (size_t i = 0; i < rowCounts.size(); ++i)
    rising[i] = max = std::max(max, nanos[i]);
}

void StepTimes::measure(int64_t rows, Time took) {
  if (rows < 1 || took <= Time(0))
    return;
  Interpolation place = interpolationOf(rows);
  double before = at(place);
  // The kept row counts next to `rows`: two, or one if `rows` is kept itself or
  // lies beyond the last.
  size_t first = place.share >= 1 ? place.low + 1 : place.low;
  size_t last = place.share > 0 ? place.low + 1 : place.low;
  bool fresh = samples[first] == 0 && samples[last] == 0;
  double after = fresh || before <= 0
                     ? toNanos(took)
                     : average(before, toNanos(took), timeRate);
  double scale = before > 0 ? after / before : 1;
  for (size_t i = 0; i < rowCounts.size(); ++i) {
    bool touched = i >= first && i <= last;
    if (before <= 0)
      nanos[i] = touched || samples[i] == 0 ? after : nanos[i];
    else if (touched || samples[i] == 0)
      nanos[i] *= scale;
    if (touched)
      ++samples[i];
  }
  settle();
}

bool StepTimes::isMeasured(int64_t rows) const {
  Interpolation place = interpolationOf(rows);
  return samples[place.low] > 0 || samples[place.low + 1] > 0;
}

Time StepTimes::get(int64_t rows) const {
  return toTime(at(interpolationOf(rows)));
}

StepTimes StepTimes::slowestOf(std::span<const StepTimes> stages) {
  assert(!stages.empty());
  StepTimes max = stages.front();
  for (const StepTimes &stage : stages.subspan(1))
    for (size_t i = 0; i < rowCounts.size(); ++i) {
      max.nanos[i] = std::max(max.nanos[i], stage.nanos[i]);
      max.samples[i] = std::max(max.samples[i], stage.samples[i]);
    }
  max.settle();
  return max;
}

//===----------------------------------------------------------------------===//
// Calibration
//===----------------------------------------------------------------------===//

size_t Calibration::bucketOf(float confidence) {
  // Buckets are factors of two of the odds: later candidates differ by factors
  // in their chance of being right, and first candidates by factors in their
  // chance of being wrong.
  double place = std::clamp(static_cast<double>(confidence), 1e-6, 1 - 1e-6);
  double odds = std::log2(place / (1 - place));
  return static_cast<size_t>(
      std::clamp(static_cast<int64_t>(std::floor(odds)) + buckets / 2 + 2,
                 int64_t{0}, buckets - 1));
}

void Calibration::observe(float confidence, bool cameTrue) {
  size_t bucket = bucketOf(confidence);
  for (size_t i = 0; i < seen.size(); ++i) {
    double kept = i == bucket ? keptInBucket : keptElsewhere;
    seen[i] *= kept;
    right[i] *= kept;
  }
  seen[bucket] += 1;
  right[bucket] += cameTrue ? 1 : 0;
}

double Calibration::chance(float confidence) const {
  size_t bucket = bucketOf(confidence);
  double believed = std::clamp(static_cast<double>(confidence), 0.0, 1.0);
  return (right[bucket] + confidenceWeight * believed) /
         (seen[bucket] + confidenceWeight);
}

//===----------------------------------------------------------------------===//
// SpeculationPolicy
//===----------------------------------------------------------------------===//

std::string_view verdictName(Verdict verdict) {
  switch (verdict) {
  case Verdict::Sent:
    return "sent";
  case Verdict::WaitsForSlot:
    return "waits for a slot";
  case Verdict::TooUnlikely:
    return "too unlikely";
  case Verdict::DepthLimit:
    return "depth limit";
  case Verdict::NodeLimit:
    return "node limit";
  case Verdict::Probe:
    break;
  }
  return "probe";
}

SpeculationPolicy::SpeculationPolicy(const SpeculationOptions &options,
                                     PipelineTimes times)
    : options(options), known(times), guessedShare(firstGuessedShare) {}

void SpeculationPolicy::measureStages(std::span<const StageTiming> timings) {
  if (timings.empty())
    return;
  if (stages.size() < timings.size())
    stages.resize(timings.size(), known.slowest);
  for (size_t i = 0; i < timings.size(); ++i)
    // It is not known how long rows that left would have taken.
    if (timings[i].rows > 0 && timings[i].departed == 0)
      stages[i].measure(timings[i].rows, Time(timings[i].busyNanos));
  known.slowest = StepTimes::slowestOf(stages);
}

void SpeculationPolicy::measureRoundTrip(Time took) {
  known.roundTrip =
      hasRoundTrip
          ? toTime(average(toNanos(known.roundTrip), toNanos(took), timeRate))
          : took;
  hasRoundTrip = true;
}

void SpeculationPolicy::measureDraft(int64_t rows, Time took) {
  known.draft.measure(rows, took);
}

void SpeculationPolicy::observeLevel(bool guessed) {
  guessedShare = average(guessedShare, guessed ? 1 : 0, levelRate);
}

bool SpeculationPolicy::canPay(int64_t others, int64_t stages) const {
  if (options.mode != SpeculationMode::Async || others <= 1)
    return options.mode != SpeculationMode::Off;
  const SlotLoad full{.rows = others,
                      .weight = static_cast<double>(others),
                      .widest = others,
                      .underWay = stages};
  return judge(1, 1, full, 0) == Verdict::Sent;
}

double SpeculationPolicy::floor() const {
  double held = toNanos(known.cancelLatency);
  double saved = toNanos(known.roundTrip);
  return std::max(minChance, held > 0 ? held / (held + saved) : 0);
}

/// Returns how much longer a step of `rows` + 1 rows takes than one of `rows`,
/// summed over all stages.
double SpeculationPolicy::extraAtAllStages(int64_t rows) const {
  double extra = 0;
  for (const StepTimes &stage : stages)
    extra += toNanos(stage.get(rows + 1) - stage.get(rows));
  if (!stages.empty())
    return extra;
  double one = toNanos(slot(1));
  double count = one > 0 ? std::max(1.0, toNanos(known.roundTrip) / one) : 1;
  return count * toNanos(slot(rows + 1) - slot(rows));
}

bool SpeculationPolicy::worthJoining(double pathChance,
                                     const SlotLoad &slotLoad) const {
  int64_t rows = slotLoad.rows;
  double extra = toNanos(slot(rows + 1) - slot(rows));
  double share = toNanos(slot(rows)) / static_cast<double>(rows);
  if (pathChance * share <= slotLoad.weight * extra)
    return false;
  if (rows < slotLoad.widest)
    return true;
  // Everything that follows is delayed as well.
  double elsewhere = std::max(pathChance, slotLoad.weight) *
                     std::max(0.0, extraAtAllStages(rows) - extra);
  double goesOn = 1 / std::max(1 - guessedShare, 1.0 / 128);
  double saved =
      share - toNanos(slot(rows + 1)) / static_cast<double>(rows + 1);
  return pathChance * goesOn * saved >= elsewhere;
}

Verdict SpeculationPolicy::judge(double pathChance, int64_t depth,
                                 const SlotLoad &slotLoad,
                                 int64_t nodesAlive) const {
  if (depth > options.depth)
    return Verdict::DepthLimit;
  if (nodesAlive >= options.nodes)
    return Verdict::NodeLimit;
  if (pathChance < floor())
    return Verdict::TooUnlikely;
  if (slotLoad.rows > 0)
    return worthJoining(pathChance, slotLoad) ? Verdict::Sent
                                              : Verdict::WaitsForSlot;
  // The measured round trip limits the slots, not only the predicted step
  // times.
  double one = std::max(1.0, toNanos(slot(1)));
  double fit = toNanos(known.roundTrip) / one - spareSlot;
  return static_cast<double>(slotLoad.underWay) < fit || slotLoad.underWay == 0
             ? Verdict::Sent
             : Verdict::WaitsForSlot;
}

bool SpeculationPolicy::worthDrafting(double pathChance, double best,
                                      int64_t rows) const {
  if (pathChance < floor())
    return false;
  if (rows == 0)
    return true;
  // The alternative is one more level below the likeliest row.
  double one = toNanos(known.draft.get(1));
  double extra = toNanos(known.draft.get(rows + 1) - known.draft.get(rows));
  double min = one > 0 ? std::clamp(extra / one, 0.25, 1.0) : 0.25;
  return pathChance >= min * best;
}

bool SpeculationPolicy::probe(bool guessSent) {
  sinceProbe = guessSent ? 0 : sinceProbe + 1;
  if (sinceProbe < probeRows)
    return false;
  sinceProbe = 0;
  return true;
}

} // namespace sluice
