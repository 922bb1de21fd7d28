//===- ExecutionPlan.h - which rank does what -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the programs of an executable work together: the ranks and their roles,
// the order of the stages, the draft, the channels between ranks, and what the
// compiler's cost model predicts. An executable of one stage has a plan too, of
// one rank.
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

/// Predicted times of a step, one for each of StepTimes::rowCounts.
using StepCosts = std::array<Time, StepTimes::rowCounts.size()>;

/// What a rank does.
struct RankRole {
  enum class Kind : uint8_t { Head, Draft, Stage };
  Kind kind = Kind::Head;
  int64_t stage = 0;  // of a Stage: index into ExecutionPlan::stages
  int64_t member = 0; // of a Stage: which of the group that computes it

  bool operator==(const RankRole &) const = default;
  /// "head", "draft", "stage 0", "stage 0 member 1".
  std::string name() const;
  static std::optional<RankRole> parse(std::string_view name);
};

/// A process, or a set of threads of one.
struct PlanRank {
  std::vector<RankRole> roles; // at least one, each once
  std::string place;           // the cluster's node and device; empty: anywhere
};

/// One stage of the target, in order.
struct PlanStage {
  std::string program; // names one of ExecutableDescriptor::programs
  StepCosts costs{};
  // The programs of the other members of its group, in order behind `program`,
  // which is the first one's; empty: one rank computes the stage.
  std::vector<std::string> others = {};

  int64_t members() const { return 1 + int64_t(others.size()); }
  const std::string &programOf(int64_t member) const {
    return member == 0 ? program : others[size_t(member) - 1];
  }
};

enum class DraftPlacement : uint8_t {
  Own, // a rank of its own, with the head
  Head // the head's rank, which has the first stage as well
};

std::string_view draftPlacementName(DraftPlacement placement);

struct PlanDraft {
  std::string program;
  DraftPlacement placement = DraftPlacement::Own;
  // Limits of the tree of guesses; see SpeculationOptions.
  int64_t depth = 32;
  int64_t width = 8;
  StepCosts costs{};
};

/// A bounded queue of frames from one rank to another, or within one.
struct PlanChannel {
  enum class Kind : uint8_t {
    Rows,        // the head to the first stage: rows without activations
    Activations, // a stage to the next: rows with activations
    Tokens,      // the last stage to the head
  };
  std::string name;
  int64_t from = 0; // ranks
  int64_t to = 0;
  int64_t capacity = defaultChannelFrames;
  Kind kind = Kind::Rows;
};

std::string_view channelKindName(PlanChannel::Kind kind);

/// Thread-compatible, as all plain data.
struct ExecutionPlan {
  /// A hash over the executable's descriptor without paths, equal for ranks
  /// that can work together. ExecutableDescriptor::parse() fills it in.
  uint64_t identity = 0;
  Time maxLatency{0}; // between checkpoints, as predicted
  /// The most rows of a step: the least of the stages'.
  int64_t stepRows = 512;
  std::vector<PlanRank> ranks;
  std::vector<PlanStage> stages;
  std::optional<PlanDraft> draft;
  /// Channel i leads to stage i, the last one to the head.
  std::vector<PlanChannel> channels;

  /// Checks that each role is given to exactly one rank, the draft's to the
  /// head's, which is rank 0, that channels join the stages in order, and every
  /// number against its range. Part of ExecutableDescriptor::validate().
  Status validate() const;

  /// The rank that has the role; of a valid plan, and a role that it has. The
  /// first member's is the one that channels lead to and from.
  int64_t rankOf(const RankRole &role) const;
  /// The ranks of the members that compute a stage, in order.
  std::vector<int64_t> ranksOf(int64_t stage) const;
};

/// A plan of one rank without a draft: the head and one stage after the other.
ExecutionPlan makeLocalPlan(const std::vector<std::string> &programs);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_EXECUTIONPLAN_H
