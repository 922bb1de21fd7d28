//===- RankReportTest.cpp - reports of ranks ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RoleTrace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::pipeline;
using testing::HasSubstr;

namespace {

RankReport report() {
  RankReport report;
  report.rank = 2;
  StageReport stage;
  stage.name = "stage 1";
  stage.rank = 2;
  stage.member = 3;
  stage.steps = 7;
  stage.rows = 20;
  stage.departedAtCheckpoint = 4;
  stage.guesses = 9;
  stage.busySeconds = 0.5;
  stage.barriers = 91;
  stage.waitSeconds = 0.25;
  stage.cancelLatency = {3, 1, 2, 2.5};
  report.stages = {stage};
  report.clock = 77;
  report.lostEvents = 5;
  report.traffic = {{.to = 0, .dataMessages = 4, .dataBytes = 100}};
  return report;
}

trace::TraceEvent event(int64_t at) {
  trace::TraceEvent event;
  event.rank = 2;
  event.begin = Time(at);
  event.kind = trace::Kind::Policy;
  event.track = trace::Track::Head;
  return event;
}

std::string refusal(std::string_view text) {
  return RankReport::parse(text).status().message();
}

TEST(ReportTest, WithoutATraceComesBack) {
  std::string text = report().serialize();
  Expected<RankReport> again = RankReport::parse(text);
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_EQ(again->rank, 2);
  ASSERT_EQ(again->stages.size(), 1u);
  EXPECT_EQ(again->stages[0].name, "stage 1");
  EXPECT_EQ(again->stages[0].rank, 2);
  EXPECT_EQ(again->stages[0].member, 3);
  EXPECT_EQ(again->stages[0].rows, 20u);
  EXPECT_EQ(again->stages[0].departedAtCheckpoint, 4u);
  EXPECT_EQ(again->stages[0].guesses, 9u);
  EXPECT_EQ(again->stages[0].barriers, 91u);
  EXPECT_EQ(again->stages[0].waitSeconds, 0.25);
  EXPECT_EQ(again->stages[0].cancelLatency.count, 3);
  EXPECT_EQ(again->stages[0].cancelLatency.maxMicros, 2.5);
  EXPECT_EQ(again->clock, 77u);
  EXPECT_EQ(again->lostEvents, 5u);
  ASSERT_EQ(again->traffic.size(), 1u);
  EXPECT_EQ(again->traffic[0].dataBytes, 100u);
  EXPECT_TRUE(again->events.empty());
  EXPECT_EQ(again->serialize(), text);
}

TEST(ReportTest, EventsComeBack) {
  RankReport sent = report();
  sent.events = {event(3), event(5)};
  Expected<RankReport> again = RankReport::parse(sent.serialize());
  ASSERT_TRUE(again) << again.status().message();
  ASSERT_EQ(again->events.size(), 2u);
  EXPECT_EQ(again->events[1].begin, Time(5));
  EXPECT_EQ(again->events[1].kind, trace::Kind::Policy);
}

TEST(ReportTest, RefusesWhatIsNoReport) {
  std::string text = report().serialize();
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_THAT(refusal(text.substr(0, length)), HasSubstr("a rank's report: "))
        << length;
  EXPECT_THAT(refusal(text + "x"), HasSubstr("whole number"));
  std::string wild = text;
  wild[7] = char(0x80); // the rank's sign
  EXPECT_THAT(refusal(wild), HasSubstr("rank"));
  RankReport sent = report();
  sent.stages[0].rows = ~uint64_t(0);
  EXPECT_THAT(refusal(sent.serialize()), HasSubstr("rows"));
  sent = report();
  sent.stages[0].idleSeconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal(sent.serialize()), HasSubstr("idle time"));
}

TEST(ReportTest, RefusesEventsOfOthersAndOfNoTime) {
  RankReport sent = report();
  sent.events = {event(3)};
  sent.events[0].rank = 1;
  EXPECT_THAT(refusal(sent.serialize()), HasSubstr("of rank 1"));
  for (int64_t time : {int64_t(-1), std::numeric_limits<int64_t>::max()}) {
    sent.events = {event(time)};
    EXPECT_THAT(refusal(sent.serialize()), HasSubstr("a trace event is at"));
    sent.events = {event(3)};
    sent.events[0].duration = Time(time);
    EXPECT_THAT(refusal(sent.serialize()), HasSubstr("a trace event is at"));
  }
}

/// If a rank's clock has another start, nothing is reported that compares it
/// with the head's.
TEST(ReportTest, TimesOfOtherClocksAreForgotten) {
  RankReport sent = report();
  sent.events = {event(3)};
  sent.forgetTimesOfOtherClocks(77);
  EXPECT_EQ(sent.events.size(), 1u);
  EXPECT_EQ(sent.stages[0].cancelLatency.count, 3);
  sent.forgetTimesOfOtherClocks(78);
  EXPECT_TRUE(sent.events.empty());
  EXPECT_EQ(sent.stages[0].cancelLatency.count, 0);
  EXPECT_EQ(sent.stages[0].busySeconds, 0.5);
}

/// The contents of two full buffers fit into one report.
TEST(ReportTest, FullTraceBuffersFitIntoAReport) {
  TraceBuffer buffer;
  for (size_t i = 0; i < TraceBuffer::capacity + 3; ++i)
    buffer.add(event(3));
  EXPECT_EQ(buffer.lost, 3u);
  RankReport sent = report();
  sent.events = buffer.events;
  sent.events.insert(sent.events.end(), buffer.events.begin(),
                     buffer.events.end());
  sent.stages.resize(64, sent.stages[0]);
  sent.traffic.resize(4096);
  std::string text = sent.serialize();
  comm::FrameCodec codec(1, {});
  comm::Bytes bytes;
  codec.encodeReport(text, bytes);
  std::string again;
  Status read = codec.decodeReport(bytes, again);
  EXPECT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(again, text);
}

TEST(ReportTest, RefusesEventsThatThereAreNot) {
  for (bool wrongLane : {false, true}) {
    RankReport sent = report();
    sent.events = {event(3)};
    if (wrongLane)
      sent.events[0].track = static_cast<trace::Track>(3);
    else
      sent.events[0].kind = static_cast<trace::Kind>(trace::kindCount);
    EXPECT_THAT(refusal(sent.serialize()), HasSubstr("no trace event"));
  }
}

} // namespace
