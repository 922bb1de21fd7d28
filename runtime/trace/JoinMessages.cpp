//===- JoinMessages.cpp - joins sends and arrivals of messages ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/trace/JoinMessages.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace sluice;
using namespace sluice::trace;

namespace {

/// From, to, kind, request and number: they identify a message at both ends.
using MessageKey = std::tuple<int64_t, int64_t, Kind, int64_t, int64_t>;

bool isMessage(Kind kind) {
  return kind == Kind::Message || kind == Kind::Control;
}

MessageKey keyOf(const TraceEvent &sent) {
  int64_t request = sent.kind == Kind::Control ? sent.values[2] : 0;
  return {sent.rank, sent.values[0], sent.kind, request, sent.values[3]};
}

MessageKey keyOfArrived(const TraceEvent &arrived) {
  return {arrived.values[0], arrived.rank, static_cast<Kind>(arrived.values[1]),
          arrived.values[2], arrived.values[3]};
}

} // namespace

void trace::joinMessages(std::span<std::vector<TraceEvent> *const> ranks) {
  std::map<MessageKey, Time> arrivals;
  for (const std::vector<TraceEvent> *events : ranks)
    for (const TraceEvent &event : *events)
      if (event.kind == Kind::Arrived)
        arrivals.emplace(keyOfArrived(event), event.begin);
  for (std::vector<TraceEvent> *events : ranks) {
    std::erase_if(*events, [](const TraceEvent &event) {
      return event.kind == Kind::Arrived;
    });
    for (TraceEvent &event : *events)
      if (isMessage(event.kind))
        if (auto arrival = arrivals.find(keyOf(event));
            arrival != arrivals.end())
          event.duration = std::max(Time(0), arrival->second - event.begin);
  }
}
