//===- Speculation.h - decides which guesses are worth sending ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which guesses are worth sending. The policy knows how long a step of
// each row count takes at each stage, how long a row takes through all stages,
// how long the draft takes, and how often guesses of each confidence came true.
// All of this starts from the compiler's predictions and is measured in
// operation. The policy answers yes or no, with the reason; Head.h acts on the
// answer.
//
// The rule. Time is divided into slots of one step of the slowest stage each.
// Let step(r) be the time of a step of r rows, and p the chance that a guess
// lies on the path that comes true. The first guess of a slot costs the time
// that it holds up the stage until a cancel reaches it, which is the time
// between two checkpoints, and can save a whole trip through the pipeline: p
// has to be above floor(). A guess that joins a slot of r rows
//
//   - advances itself and all guesses after it by one slot, which is worth
//     p * step(r) / r, and delays the other rows of the slot by step(r + 1) -
//     step(r), which costs that time with the chance that those rows matter;
//   - makes its slot the slowest of the pipeline if no slot under way is as
//     wide: then the step takes longer at every stage, not only at one. That
//     pays if the path continues for long: if h is the chance that a row's
//     successor was guessed, h / (1 - h) more guesses after this one come true,
//     and each saves step(r) / r - step(r + 1) / (r + 1) in wider slots.
//
// If a step of more rows takes no longer (memory-bound), slots fill up. If rows
// cost as much as steps (compute-bound), each slot has one row. There are never
// more slots under way than fill the pipeline, so results set the pace even if
// the predicted step times are too short.
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
  Off,  ///< no speculation
  Sync, ///< draft, verify as one batch, repeat: the papers' baseline
  Async ///< PipeInfer, arXiv 2407.11798, section III
};

struct SpeculationOptions {
  SpeculationMode mode = SpeculationMode::Async;
  /// The greatest depth of a guess below the last confirmed row. Async: a
  /// limit; Sync: how many levels are drafted before each verification.
  int64_t depth = 32;
  /// The greatest number of candidates for each row; 1 makes the tree a chain.
  /// Sync: also the number of guesses of a level.
  int64_t width = 8;
  /// The greatest number of guesses in flight, over all paths of all requests.
  /// The draft knows as many, but not always the same ones. Sync: requests
  /// share them equally.
  int64_t nodes = 128;
  /// Sync only: whether each row leaves as a frame of its own.
  bool splitRows = false;
  /// Ablations. Without `cancel`, there are no cancel messages. Without
  /// `continuous`, nothing new is guessed while results of guesses are
  /// outstanding, and guesses leave in bursts of `draftRows`.
  bool cancel = true;
  bool continuous = true;
  /// The greatest number of guesses that the draft expands at once.
  int64_t draftRows = 4;
};

/// The default depth and width in Sync mode: a short chain, because each row of
/// it delays everything.
constexpr int64_t syncDepth = 4, syncWidth = 1;

/// Returns the span of row numbers of a request, from the last confirmed row
/// on, that can still matter at the head or any stage.
constexpr int64_t numberSpan(const SpeculationOptions &options) {
  return 16 * options.nodes;
}

/// Step times by row count: predictions that measurements replace.
class StepTimes {
public:
  /// The row counts for which times are kept. Other counts are interpolated,
  /// and larger ones are extrapolated along the last two.
  static constexpr std::array<int32_t, 10> rowCounts = {1, 2,  3,  4,  6,
                                                        8, 12, 16, 32, 64};
  /// Takes the predicted times, one for each of rowCounts.
  explicit StepTimes(std::span<const Time> predicted);
  StepTimes() = default;

  /// Learns that a step of `rows` rows took `took`: an exponential average
  /// whose first measurement replaces the prediction. Times that were never
  /// measured are scaled with it.
  void measure(int64_t rows, Time took);
  /// Returns the time of a step of `rows` >= 1 rows. Never decreases with more
  /// rows.
  Time get(int64_t rows) const;

  /// Returns whether a step of about `rows` rows was ever measured.
  bool isMeasured(int64_t rows) const;

  /// Returns for each row count the time of the slowest of `stages`, which must
  /// not be empty.
  static StepTimes slowestOf(std::span<const StepTimes> stages);

private:
  struct Interpolation;
  static Interpolation interpolationOf(int64_t rows);
  double at(const Interpolation &place) const;
  void settle();

  std::array<double, rowCounts.size()> nanos{}; ///< as measured
  /// `nanos` raised so that more rows never take less time.
  std::array<double, rowCounts.size()> rising{};
  std::array<uint32_t, rowCounts.size()> samples{};
};

/// Turns the draft's confidence into the chance that the guess comes true: the
/// observed share among guesses of similar confidence, blended with the
/// confidence itself while observations are few. Old observations fade slowly,
/// so that a change is noticed. They fade for all confidences alike, so that a
/// confidence that proved too high is tried again.
class Calibration {
public:
  void observe(float confidence, bool cameTrue);
  double chance(float confidence) const;

private:
  static constexpr int64_t buckets = 16;
  static size_t bucketOf(float confidence);
  std::array<double, buckets> seen{}, right{};
};

/// Why a guess was sent or not, for the trace.
enum class Verdict : uint8_t {
  Sent,
  WaitsForSlot, ///< not worth a place in this slot
  TooUnlikely,  ///< not worth an empty slot either
  DepthLimit,
  NodeLimit,
  Probe ///< sent to find out whether acceptance has recovered
};
std::string_view verdictName(Verdict verdict);

struct PipelineTimes {
  StepTimes slowest; ///< of the slowest stage, by row count
  Time roundTrip{0}; ///< of one row from the head through all stages and back
  Time cancelLatency{0};
  StepTimes draft;
};

/// The slot that a guess would join, and all slots under way.
struct SlotLoad {
  int64_t rows = 0; ///< rows in this slot so far
  /// For each request with rows in the slot, the chance that its likeliest row
  /// there lies on the true path, summed up.
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
  /// Takes the measurements of the stages in their order.
  void measureStages(std::span<const StageTiming> timings);
  /// Takes the round trip of a row that went through all stages alone.
  void measureRoundTrip(Time took);
  void measureDraft(int64_t rows, Time took);
  /// Learns whether a row's successor, now known, was among the guesses.
  void observeLevel(bool guessed);

  /// Decides whether a guess joins a slot. `pathChance` is its chance of lying
  /// on the true path, the product along the path; it is `depth` rows below the
  /// last confirmed row. `nodesAlive` is the number of guesses in flight.
  Verdict judge(double pathChance, int64_t depth, const SlotLoad &slot,
                int64_t nodesAlive) const;
  /// Returns whether even a certain guess would be worth a place in a step with
  /// `others` rows, if as many slots are under way as there are `stages`. False
  /// without speculation.
  bool canPay(int64_t others, int64_t stages) const;
  /// Returns the chance below which a guess is not even worth expanding.
  double floor() const;
  /// Returns how long a slot with `rows` rows lasts.
  Time slot(int64_t rows) const { return known.slowest.get(rows); }
  /// Returns whether the draft should expand one more row of this chance beside
  /// `rows` others, the likeliest of which has the chance `best`.
  bool worthDrafting(double pathChance, double best, int64_t rows) const;
  /// Must be called once for each confirmed row, with whether a guess was sent
  /// since the last call. Returns whether one guess should be sent although
  /// judge() says TooUnlikely.
  bool probe(bool guessSent);

private:
  double extraAtAllStages(int64_t rows) const;
  bool worthJoining(double pathChance, const SlotLoad &slot) const;

  SpeculationOptions options;
  PipelineTimes known;
  std::vector<StepTimes> stages; ///< empty until measured
  Calibration calibrated;
  double guessedShare; ///< the share of confirmed rows that were guessed
  bool hasRoundTrip = false;
  int64_t sinceProbe = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SPECULATION_H
