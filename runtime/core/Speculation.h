//===- Speculation.h - which guesses are worth sending --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which guesses are worth sending. The policy knows how long a step of each row
// count takes at each stage, how long a row takes through all stages, how long
// the draft takes, and how often guesses of each confidence came true, all
// measured as it goes and started from the compiler's predictions. It says yes
// or no and why; Head.h acts on it.
//
// The rule. Time is cut into slots, one step of the slowest stage each. Write
// step(r) for a step of r rows, and p for the chance that a guess lies on the
// path that comes true. A guess that is the first of its slot costs what it
// holds up before a cancel reaches it, the time between two checkpoints,
// against a whole trip through the pipeline: p has to be above floor(). One
// that joins a slot of r rows
//
//   - brings itself and all guesses behind it forward by one place, which is
//     worth p * step(r) / r, and costs step(r + 1) - step(r) to those of the
//     slot with the chance that they matter;
//   - where no slot under way is as wide, makes this one the slowest of the
//     pipe: it takes the difference longer not at one stage but at each of
//     them. That pays where the path goes on for long: with the chance h that a
//     row's successor was guessed, h / (1 - h) more guesses come true behind
//     this one, and each saves step(r) / r - step(r + 1) / (r + 1) in wider
//     slots.
//
// Where a step of more rows costs the same (memory-bound), slots fill up; where
// rows cost as much as steps (compute-bound), each slot has one row. There are
// never more slots under way than fill the pipeline: so results set the pace,
// should steps be taken for shorter than they are.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_SPECULATION_H
#define SLUICE_RUNTIME_CORE_SPECULATION_H

#include "runtime/core/Rows.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

enum class SpeculationMode : uint8_t {
  Off,  ///< the plain pipeline
  Sync, ///< draft, verify as one batch, repeat: the baseline of the papers
  Async ///< PipeInfer, arXiv 2407.11798, section III
};

struct SpeculationOptions {
  SpeculationMode mode = SpeculationMode::Async;
  /// Guesses on a path beyond the last confirmed row. Async: a limit; Sync: how
  /// many are drafted before each verification.
  int64_t depth = 32;
  /// Candidates taken of each row at most; 1 makes the tree a chain. Sync: also
  /// the guesses of a level.
  int64_t width = 8;
  /// Guesses in flight at a time, over all paths of all requests; as many, not
  /// always the same ones, the draft knows. Sync: each request has its share.
  int64_t nodes = 128;
  /// Sync only: each row leaves as a frame of its own.
  bool splitRows = false;
  /// Ablations: no cancel messages; nothing new is guessed while results of
  /// guesses are outstanding (they leave in bursts of `draftRows`).
  bool cancel = true;
  bool continuous = true;
  /// Guesses that the draft expands at once, at most.
  int64_t draftRows = 4;
};

/// What Sync takes where nothing else is asked for: a short chain, as everybody
/// waits for each row of it.
constexpr int64_t syncDepth = 4, syncWidth = 1;

/// The numbers of a request's rows that can still matter, here and at any
/// stage, lie within so many of each other: from the last confirmed row's on.
constexpr int64_t numberSpan(const SpeculationOptions &options) {
  return 16 * options.nodes;
}

/// Step times by row count: predictions, replaced by what is measured.
class StepTimes {
public:
  /// Row counts for which times are kept; others are interpolated, and beyond
  /// the last extrapolated along the last two.
  static constexpr std::array<int32_t, 10> rowCounts = {1, 2,  3,  4,  6,
                                                        8, 12, 16, 32, 64};
  /// Predicted times, one for each of rowCounts.
  explicit StepTimes(std::span<const Time> predicted);
  StepTimes() = default;

  /// A step of `rows` rows took this long: an exponential average whose first
  /// measurement replaces the prediction. Times that were never measured are
  /// rescaled with it.
  void measure(int64_t rows, Time took);
  /// Of a step of `rows` >= 1 rows. Never falls with more rows.
  Time get(int64_t rows) const;

  /// Whether a step of about so many rows was ever measured.
  bool isMeasured(int64_t rows) const;

  /// At each row count the slowest of `stages`, which are not empty.
  static StepTimes slowestOf(std::span<const StepTimes> stages);

private:
  struct Interpolation;
  static Interpolation interpolationOf(int64_t rows);
  double at(const Interpolation &place) const;
  void settle();

  std::array<double, rowCounts.size()> nanos{};  ///< as measured
  std::array<double, rowCounts.size()> rising{}; ///< the same, never falling
  std::array<uint32_t, rowCounts.size()> samples{};
};

/// Turns the draft's confidence into the chance that the guess comes true: what
/// was observed of guesses of like confidence, weighed against the confidence
/// itself while observations are few. Forgets slowly, so that it notices a
/// change, and all confidences alike, so that one which was found too high is
/// tried again.
class Calibration {
public:
  void observe(float confidence, bool cameTrue);
  double chance(float confidence) const;

private:
  static constexpr int64_t buckets = 16;
  static size_t bucketOf(float confidence);
  std::array<double, buckets> seen{}, right{};
};

/// Why a guess was sent or not; for the trace.
enum class Verdict : uint8_t {
  Sent,
  WaitsForSlot, ///< not worth a place in this slot's step
  TooUnlikely,  ///< not worth an empty slot either
  DepthLimit,
  NodeLimit,
  Probe ///< sent to find out whether acceptance has recovered
};
std::string_view verdictName(Verdict verdict);

struct PipelineTimes {
  StepTimes slowest; ///< of the slowest stage
  Time roundTrip{0}; ///< of one row from the head through all stages and back
  Time cancelLatency{0};
  StepTimes draft;
};

/// The slot that a guess would join, and those under way.
struct SlotLoad {
  int64_t rows = 0; ///< in this slot so far
  /// The chance that the slot's likeliest row lies on the true path, summed
  /// over the requests that have rows in it.
  double weight = 0;
  int64_t widest = 0;   ///< living rows of the widest slot under way
  int64_t underWay = 0; ///< slots that have living rows
};

/// Thread-compatible.
class SpeculationPolicy {
public:
  SpeculationPolicy(const SpeculationOptions &options, PipelineTimes times);

  const PipelineTimes &times() const { return known; }
  Calibration &calibration() { return calibrated; }
  const Calibration &calibration() const { return calibrated; }
  /// What the stages measured, the first one's first.
  void measureStages(std::span<const StageTiming> timings);
  /// Of a row that went through all stages alone.
  void measureRoundTrip(Time took);
  void measureDraft(int64_t rows, Time took);
  /// Whether a row's successor, known now, was among the guesses.
  void observeLevel(bool guessed);

  /// Whether a guess with this chance of lying on the true path (the product
  /// along the path), `depth` rows beyond the last confirmed one, joins a slot.
  /// `nodesAlive`: of its request's guesses in flight.
  Verdict judge(double pathChance, int64_t depth, const SlotLoad &slot,
                int64_t nodesAlive) const;
  /// Below this a guess is not even worth drafting beyond.
  double floor() const;
  /// How long a slot with `rows` rows lasts.
  Time slot(int64_t rows) const { return known.slowest.get(rows); }
  /// Whether the draft should expand one more row of this chance beside `rows`
  /// others, of which `best` is the likeliest.
  bool worthDrafting(double pathChance, double best, int64_t rows) const;
  /// Called once for each confirmed row, with whether a guess was sent since
  /// the last call; true where a single guess should be sent although judge()
  /// says TooUnlikely.
  bool probe(bool guessSent);

private:
  double extraAtAllStages(int64_t rows) const;
  bool worthJoining(double pathChance, const SlotLoad &slot) const;

  SpeculationOptions options;
  PipelineTimes known;
  std::vector<StepTimes> stages; ///< empty until measured
  Calibration calibrated;
  double guessedShare; ///< of confirmed rows, those that were guessed
  bool hasRoundTrip = false;
  int64_t sinceProbe = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SPECULATION_H
