//===- JoinMessagesTest.cpp - both ends of a message find each other ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/trace/JoinMessages.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::trace;

namespace {

TraceEvent event(Kind kind, int32_t rank, int64_t at,
                 std::initializer_list<int64_t> values) {
  TraceEvent event;
  event.kind = kind;
  event.rank = rank;
  event.begin = Time(at);
  std::copy(values.begin(), values.end(), event.values);
  return event;
}

int64_t numberOf(Kind kind) { return static_cast<int64_t>(kind); }

TEST(JoinMessagesTest, SpansReachFromSentToArrived) {
  std::vector<TraceEvent> first = {
      event(Kind::Message, 0, 100, {1, 640, 2, 7}),
      event(Kind::Message, 0, 110, {1, 640, 2, 8}), // overtakes nothing
      event(Kind::Message, 0, 120, {2, 640, 2, 7}), // to another rank
      event(Kind::Control, 0, 130, {1, 60, 0, 7}),
      event(Kind::Control, 0, 135, {1, 60, 3, 7}),  // a mark of another request
      event(Kind::Message, 0, 140, {1, 640, 2, 9}), // never seen to arrive
      event(Kind::Token, 0, 150, {0, 5}),
  };
  std::vector<TraceEvent> second = {
      event(Kind::Arrived, 1, 300, {0, numberOf(Kind::Message), 0, 7}),
      event(Kind::Arrived, 1, 400, {0, numberOf(Kind::Message), 0, 8}),
      event(Kind::Arrived, 1, 200, {0, numberOf(Kind::Control), 3, 7}),
      event(Kind::Arrived, 1, 190, {0, numberOf(Kind::Control), 0, 7}),
      event(Kind::Arrived, 1, 500, {2, numberOf(Kind::Message), 0, 7}),
  };
  std::vector<TraceEvent> third = {
      event(Kind::Arrived, 2, 119, {0, numberOf(Kind::Message), 0, 7}),
      event(Kind::Message, 2, 450, {1, 640, 1, 7}),
  };
  std::vector<TraceEvent> *const all[] = {&first, &second, &third};
  joinMessages(all);
  std::vector<int64_t> durations;
  for (const TraceEvent &each : first)
    durations.push_back(each.duration.count());
  EXPECT_EQ(durations, (std::vector<int64_t>{200, 290, 0, 60, 65, 0, 0}));
  EXPECT_TRUE(second.empty());
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].duration, Time(50));
}

} // namespace
