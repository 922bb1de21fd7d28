//===- ExecutionPlan.h - the ranks and their roles ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes how the programs of an executable work together: the ranks and
// their roles, the order of the stages, the draft, the channels between ranks,
// and the predictions of the compiler's cost model. An executable of one stage
// also has a plan, with one rank.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_EXECUTIONPLAN_H
#define SLUICE_RUNTIME_PROGRAM_EXECUTIONPLAN_H

#include "runtime/base/Status.h"
#include "runtime/core/PipelineLimits.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Predicted times of a step, for each of StepTimes::rowCounts.
using StepCosts = std::array<Time, StepTimes::rowCounts.size()>;

/// A role of a rank.
struct RankRole {
  enum class Kind : uint8_t { Head, Draft, Stage };
  Kind kind = Kind::Head;
  int64_t stage = 0;  // Stage only: index into ExecutionPlan::stages
  int64_t member = 0; // Stage only: the member's number in the stage's group

  bool operator==(const RankRole &) const = default;
  /// Returns "head", "draft", "stage 0", "stage 0 member 1" or the like.
  std::string name() const;
  static std::optional<RankRole> parse(std::string_view name);
};

/// A process, or some threads of one.
struct PlanRank {
  std::vector<RankRole> roles; // at least one; no duplicates
  std::string place;           // the cluster's node and device; empty: any
};

/// One stage of the target model.
struct PlanStage {
  std::string program; // the name of one of ExecutableDescriptor::programs
  StepCosts costs{};
  // The programs of the other members of its group, in order; `program` is the
  // first member's. Empty if one rank computes the stage.
  std::vector<std::string> others = {};

  int64_t members() const { return 1 + int64_t(others.size()); }
  const std::string &programOf(int64_t member) const {
    return member == 0 ? program : others[size_t(member) - 1];
  }
};

/// The rank that runs the draft.
enum class DraftPlacement : uint8_t {
  Own, // a rank that only the draft and the head share
  Head // the head's rank, which also has the first stage
};

std::string_view draftPlacementName(DraftPlacement placement);

/// The draft model and how it guesses.
struct PlanDraft {
  std::string program;
  DraftPlacement placement = DraftPlacement::Own;
  // Limits of the tree of guesses; see SpeculationOptions.
  int64_t depth = 32;
  int64_t width = 8;
  StepCosts costs{};
};

/// A bounded queue of frames from one rank to another, or within a rank.
struct PlanChannel {
  enum class Kind : uint8_t {
    Rows,        // from the head to the first stage: rows without activations
    Activations, // from a stage to the next: rows with activations
    Tokens,      // from the last stage to the head
  };
  std::string name;
  int64_t from = 0; // `from` and `to` are ranks
  int64_t to = 0;
  int64_t capacity = defaultChannelFrames;
  Kind kind = Kind::Rows;
};

std::string_view channelKindName(PlanChannel::Kind kind);

/// Thread-compatible, like all plain data.
struct ExecutionPlan {
  /// A hash of the executable's descriptor without paths. Ranks with equal
  /// hashes can work together. ExecutableDescriptor::parse() sets it.
  uint64_t identity = 0;
  Time maxLatency{0}; // between checkpoints, as predicted
  /// The most rows of a step: the least of the stages' limits.
  int64_t stepRows = defaultStepRows;
  std::vector<PlanRank> ranks;
  std::vector<PlanStage> stages;
  std::optional<PlanDraft> draft;
  /// Channel i leads to stage i; the last channel leads to the head.
  std::vector<PlanChannel> channels;

  /// Checks that each role belongs to exactly one rank, that the head and the
  /// draft are on rank 0, that the channels connect the stages in order, and
  /// that every number is in its range. Part of
  /// ExecutableDescriptor::validate().
  Status validate() const;

  /// Returns the rank of a role. The plan must be valid and have the role. A
  /// stage's channels lead to and from the rank of its first member.
  int64_t rankOf(const RankRole &role) const;
  /// Returns the ranks of a stage's members, in order.
  std::vector<int64_t> ranksOf(int64_t stage) const;
};

/// Returns a plan without a draft, whose only rank is the head and has all
/// stages.
ExecutionPlan makeLocalPlan(const std::vector<std::string> &programs);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_EXECUTIONPLAN_H
