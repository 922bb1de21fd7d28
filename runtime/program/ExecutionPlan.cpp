//===- ExecutionPlan.cpp - the ranks and their roles ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ExecutionPlan.h"

#include "runtime/program/DescriptorChecks.h"

#include <algorithm>
#include <charconv>
#include <set>

using namespace sluice;

namespace {

constexpr int64_t maxRanks = 4096;
constexpr int64_t maxDepth = 1024;
constexpr int64_t maxWidth = 64;
constexpr int64_t maxCapacity = 1 << 16;
constexpr Time maxTime = std::chrono::hours(24);

template <typename... Parts> Status bad(const Parts &...parts) {
  return failure("execution plan: ", parts...);
}

Status checkCosts(std::string_view whose, const StepCosts &costs) {
  for (size_t i = 0; i < costs.size(); ++i)
    if (costs[i] < Time(0) || costs[i] > maxTime)
      return bad("a step of ", whose, " of ", StepTimes::rowCounts[i],
                 " rows is predicted to take ", costs[i].count(), " ns");
  return {};
}

/// Checks that each role of the plan belongs to exactly one rank.
Status checkRoles(const ExecutionPlan &plan) {
  std::vector<RankRole> wanted = {{RankRole::Kind::Head, 0}};
  if (plan.draft)
    wanted.push_back({RankRole::Kind::Draft, 0});
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    for (int64_t member = 0; member < plan.stages[stage].members(); ++member)
      wanted.push_back({RankRole::Kind::Stage, int64_t(stage), member});
  size_t given = 0;
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    if (plan.ranks[rank].roles.empty())
      return bad("rank ", rank, " has no role");
    for (const RankRole &role : plan.ranks[rank].roles)
      if (std::find(wanted.begin(), wanted.end(), role) == wanted.end())
        return bad("rank ", rank, " is ", role.name(),
                   ", which there is none of");
    given += plan.ranks[rank].roles.size();
  }
  for (const RankRole &role : wanted) {
    int64_t times = 0;
    for (const PlanRank &rank : plan.ranks)
      times += std::count(rank.roles.begin(), rank.roles.end(), role);
    if (times != 1)
      return bad(times == 0 ? "no rank is " : "two ranks are ", role.name());
  }
  // The head and its draft exchange data for which there are no frames.
  if (plan.rankOf({RankRole::Kind::Head, 0}) != 0)
    return bad("the head is not on rank 0");
  if (plan.draft && plan.rankOf({RankRole::Kind::Draft, 0}) != 0)
    return bad("the draft is not on the head's rank");
  return given == wanted.size() ? Status() : bad("a role is given twice");
}

Status checkChannels(const ExecutionPlan &plan) {
  size_t stages = plan.stages.size();
  if (plan.channels.size() != stages + 1)
    return bad("has ", plan.channels.size(), " channels for ", stages,
               " stages");
  std::set<std::string_view> names;
  for (size_t i = 0; i <= stages; ++i) {
    const PlanChannel &channel = plan.channels[i];
    if (channel.name.empty() || !names.insert(channel.name).second)
      return bad("a channel is named '", channel.name, "'");
    auto kind = i == 0        ? PlanChannel::Kind::Rows
                : i == stages ? PlanChannel::Kind::Tokens
                              : PlanChannel::Kind::Activations;
    RankRole head{RankRole::Kind::Head, 0};
    auto stage = [](size_t number) {
      return RankRole{RankRole::Kind::Stage, int64_t(number)};
    };
    int64_t from = plan.rankOf(i == 0 ? head : stage(i - 1));
    int64_t to = plan.rankOf(i == stages ? head : stage(i));
    if (channel.kind != kind || channel.from != from || channel.to != to)
      return bad("channel '", channel.name, "' takes ",
                 channelKindName(channel.kind), " from rank ", channel.from,
                 " to rank ", channel.to, "; in its place ",
                 channelKindName(kind), " go from rank ", from, " to rank ",
                 to);
    const CheckedNumber range{"capacity", channel.capacity, 1, maxCapacity};
    SLUICE_RETURN_IF_ERROR(checkRanges({&range, 1}));
  }
  return {};
}

Status checkDraft(const ExecutionPlan &plan) {
  if (!plan.draft)
    return {};
  const CheckedNumber ranges[] = {{"depth", plan.draft->depth, 1, maxDepth},
                                  {"width", plan.draft->width, 1, maxWidth}};
  SLUICE_RETURN_IF_ERROR(checkRanges(ranges));
  // With placement Own, rank 0 has two roles: the head and the draft.
  bool isAlone = plan.ranks[0].roles.size() == 2;
  if (isAlone != (plan.draft->placement == DraftPlacement::Own))
    return bad("the draft's placement is ",
               draftPlacementName(plan.draft->placement), ", but rank 0 has ",
               plan.ranks[0].roles.size(), " roles");
  return checkCosts("the draft", plan.draft->costs);
}

/// Parses a non-negative integer and nothing else.
std::optional<int64_t> parseNumber(std::string_view text) {
  int64_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    return std::nullopt;
  return number;
}

/// Checks that a group's members are on different ranks, because they wait for
/// each other.
Status checkGroups(const ExecutionPlan &plan) {
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    std::set<int64_t> stages;
    for (const RankRole &role : plan.ranks[rank].roles)
      if (role.kind == RankRole::Kind::Stage &&
          !stages.insert(role.stage).second)
        return bad("rank ", rank, " has two members of stage ", role.stage);
  }
  for (const PlanStage &stage : plan.stages) {
    const CheckedNumber range{"members of a stage", stage.members(), 1,
                              maxGroupMembers};
    SLUICE_RETURN_IF_ERROR(checkRanges({&range, 1}));
  }
  return {};
}

} // namespace

std::string RankRole::name() const {
  switch (kind) {
  case Kind::Head:
    return "head";
  case Kind::Draft:
    return "draft";
  case Kind::Stage:
    break;
  }
  std::string name = "stage " + std::to_string(stage);
  return member == 0 ? name : name + " member " + std::to_string(member);
}

std::optional<RankRole> RankRole::parse(std::string_view name) {
  if (name == "head")
    return RankRole{Kind::Head, 0};
  if (name == "draft")
    return RankRole{Kind::Draft, 0};
  constexpr std::string_view prefix = "stage ";
  if (!name.starts_with(prefix))
    return std::nullopt;
  name.remove_prefix(prefix.size());
  constexpr std::string_view infix = " member ";
  std::optional<int64_t> stage, member = 0;
  if (size_t at = name.find(infix); at != name.npos) {
    member = parseNumber(name.substr(at + infix.size()));
    name = name.substr(0, at);
  }
  stage = parseNumber(name);
  if (!stage || !member)
    return std::nullopt;
  return RankRole{Kind::Stage, *stage, *member};
}

std::string_view sluice::draftPlacementName(DraftPlacement placement) {
  return placement == DraftPlacement::Own ? "own" : "head";
}

std::string_view sluice::channelKindName(PlanChannel::Kind kind) {
  switch (kind) {
  case PlanChannel::Kind::Rows:
    return "rows";
  case PlanChannel::Kind::Activations:
    return "activations";
  case PlanChannel::Kind::Tokens:
    break;
  }
  return "tokens";
}

Status ExecutionPlan::validate() const {
  const CheckedNumber ranges[] = {
      {"number of ranks", int64_t(ranks.size()), 1, maxRanks},
      {"number of stages", int64_t(stages.size()), 1, maxRanks},
      {"step_rows", stepRows, 1, maxStepRows},
      {"max_latency_ns", maxLatency.count(), 0, maxTime.count()},
  };
  SLUICE_RETURN_IF_ERROR(checkRanges(ranges));
  SLUICE_RETURN_IF_ERROR(checkRoles(*this));
  SLUICE_RETURN_IF_ERROR(checkGroups(*this));
  SLUICE_RETURN_IF_ERROR(checkChannels(*this));
  for (const PlanStage &stage : stages)
    SLUICE_RETURN_IF_ERROR(checkCosts(stage.program, stage.costs));
  return checkDraft(*this);
}

int64_t ExecutionPlan::rankOf(const RankRole &role) const {
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const RankRole &each : ranks[rank].roles)
      if (each == role)
        return int64_t(rank);
  return -1;
}

std::vector<int64_t> ExecutionPlan::ranksOf(int64_t stage) const {
  std::vector<int64_t> found;
  for (int64_t member = 0; member < stages[size_t(stage)].members(); ++member)
    found.push_back(rankOf({RankRole::Kind::Stage, stage, member}));
  return found;
}

ExecutionPlan sluice::makeLocalPlan(const std::vector<std::string> &programs) {
  ExecutionPlan plan;
  PlanRank all;
  all.roles.push_back({RankRole::Kind::Head, 0});
  for (const std::string &program : programs) {
    auto stage = int64_t(plan.stages.size());
    all.roles.push_back({RankRole::Kind::Stage, stage});
    plan.stages.push_back({program, {}});
    plan.channels.push_back({"c" + std::to_string(stage), 0, 0,
                             defaultChannelFrames,
                             stage == 0 ? PlanChannel::Kind::Rows
                                        : PlanChannel::Kind::Activations});
  }
  plan.channels.push_back({"c" + std::to_string(programs.size()), 0, 0,
                           defaultChannelFrames, PlanChannel::Kind::Tokens});
  plan.ranks.push_back(std::move(all));
  return plan;
}
