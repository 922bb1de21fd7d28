//===- ExecutionPlanJson.cpp - the plan's JSON form -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/DescriptorJson.h"

using namespace sluice;

namespace {

/// Reads the times of steps, in nanoseconds, for each of StepTimes::rowCounts.
void readCosts(DescriptorFields &fields, Status &status, StepCosts &costs) {
  size_t count = 0;
  fields.readArray("step_ns", [&](const json &item, const std::string &place) {
    int64_t nanos = 0;
    if (!DescriptorFields::integer(item, nanos)) {
      if (status.ok())
        status = failure(place, ": is not a whole number within range");
      return;
    }
    if (count < costs.size())
      costs[count] = Time(nanos);
    ++count;
  });
  if (status.ok() && count != costs.size())
    fields.fail("'step_ns' has ", count, " times, not ", costs.size());
}

json costsToJson(const StepCosts &costs) {
  json array = json::array();
  for (Time cost : costs)
    array.push_back(cost.count());
  return array;
}

void readRank(const json &item, const std::string &place, Status &status,
              PlanRank &rank) {
  DescriptorFields fields(item, place, status);
  fields.readArray("roles", [&](const json &each, const std::string &where) {
    const auto *name = each.get_ptr<const std::string *>();
    std::optional<RankRole> role;
    if (name)
      role = RankRole::parse(*name);
    if (role)
      rank.roles.push_back(*role);
    else if (status.ok())
      status = failure(where, ": is not a role");
  });
  fields.read("place", rank.place);
}

void readDraft(const json &item, const std::string &place, Status &status,
               std::optional<PlanDraft> &draft) {
  if (item.is_null())
    return;
  draft.emplace();
  std::string placement;
  DescriptorFields fields(item, place, status);
  fields.read("program", draft->program);
  fields.read("placement", placement);
  fields.read("depth", draft->depth);
  fields.read("width", draft->width);
  readCosts(fields, status, draft->costs);
  for (DraftPlacement each : {DraftPlacement::Own, DraftPlacement::Head})
    if (draftPlacementName(each) == placement) {
      draft->placement = each;
      return;
    }
  fields.fail("'placement' is '", placement, "', not own or head");
}

void readChannel(const json &item, const std::string &place, Status &status,
                 PlanChannel &channel) {
  using Kind = PlanChannel::Kind;
  std::string kind;
  DescriptorFields fields(item, place, status);
  fields.read("name", channel.name);
  fields.read("from", channel.from);
  fields.read("to", channel.to);
  fields.read("capacity", channel.capacity);
  fields.read("kind", kind);
  for (Kind each : {Kind::Rows, Kind::Activations, Kind::Tokens})
    if (channelKindName(each) == kind) {
      channel.kind = each;
      return;
    }
  fields.fail("'kind' is '", kind, "', not rows, activations or tokens");
}

json draftToJson(const std::optional<PlanDraft> &draft) {
  if (!draft)
    return nullptr;
  return {{"program", draft->program},
          {"placement", draftPlacementName(draft->placement)},
          {"depth", draft->depth},
          {"width", draft->width},
          {"step_ns", costsToJson(draft->costs)}};
}

} // namespace

void sluice::readPlan(const json &item, const std::string &place,
                      Status &status, ExecutionPlan &plan) {
  DescriptorFields fields(item, place, status);
  int64_t latency = 0;
  fields.read("max_latency_ns", latency);
  plan.maxLatency = Time(latency);
  fields.read("step_rows", plan.stepRows);
  fields.readArray("ranks", [&](const json &each, const std::string &where) {
    readRank(each, where, status, plan.ranks.emplace_back());
  });
  fields.readArray("stages", [&](const json &each, const std::string &where) {
    PlanStage &stage = plan.stages.emplace_back();
    DescriptorFields members(each, where, status);
    members.read("program", stage.program);
    readCosts(members, status, stage.costs);
    members.readArray("others", [&](const json &item, const std::string &at) {
      if (const auto *name = item.get_ptr<const std::string *>())
        stage.others.push_back(*name);
      else if (status.ok())
        status = failure(at, ": is not a string");
    });
  });
  fields.readMember("draft", [&](const json &each, const std::string &where) {
    readDraft(each, where, status, plan.draft);
  });
  fields.readArray("channels", [&](const json &each, const std::string &where) {
    readChannel(each, where, status, plan.channels.emplace_back());
  });
}

json sluice::planToJson(const ExecutionPlan &plan) {
  json object = {{"max_latency_ns", plan.maxLatency.count()},
                 {"step_rows", plan.stepRows},
                 {"draft", draftToJson(plan.draft)}};
  for (const char *key : {"ranks", "stages", "channels"})
    object[key] = json::array();
  for (const PlanRank &rank : plan.ranks) {
    json roles = json::array();
    for (const RankRole &role : rank.roles)
      roles.push_back(role.name());
    object["ranks"].push_back(
        {{"roles", std::move(roles)}, {"place", rank.place}});
  }
  for (const PlanStage &stage : plan.stages)
    object["stages"].push_back({{"program", stage.program},
                                {"step_ns", costsToJson(stage.costs)},
                                {"others", stage.others}});
  for (const PlanChannel &channel : plan.channels)
    object["channels"].push_back({{"name", channel.name},
                                  {"from", channel.from},
                                  {"to", channel.to},
                                  {"capacity", channel.capacity},
                                  {"kind", channelKindName(channel.kind)}});
  return object;
}
