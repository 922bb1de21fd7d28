//===- TraceWriterTest.cpp - what is written reads back -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/trace/TraceWriter.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::trace;

namespace {

std::string temporary(const std::string &name) {
  return testing::TempDir() + "sluice-trace-" + std::to_string(getpid()) + "-" +
         name;
}

nlohmann::json readBack(const std::string &path) {
  std::ifstream stream(path);
  return nlohmann::json::parse(stream);
}

/// Returns the events of the list with this name.
std::vector<nlohmann::json> named(const nlohmann::json &trace,
                                  const std::string &name) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json &event : trace["traceEvents"])
    if (event["name"] == name)
      found.push_back(event);
  return found;
}

TraceEvent event(Kind kind, Time begin, std::array<int64_t, 4> values) {
  TraceEvent event;
  event.kind = kind;
  event.begin = begin;
  event.rank = 3;
  std::copy(values.begin(), values.end(), event.values);
  return event;
}

TEST(TraceWriterTest, StepsAreSlicesWithTheirRows) {
  std::string path = temporary("steps.json");
  Expected<TraceWriter> writer = TraceWriter::create(path);
  ASSERT_TRUE(writer) << writer.status().message();
  writer->nameRank(3, "rank 3: stage 2");
  TraceEvent step = event(Kind::Step, Time(1234567), {5, 2, 77, 0});
  step.duration = Time(1000001);
  writer->write(step);
  ASSERT_TRUE(writer->finish().ok());

  nlohmann::json trace = readBack(path);
  ASSERT_EQ(named(trace, "process_name").size(), 1u);
  EXPECT_EQ(named(trace, "process_name")[0]["args"]["name"], "rank 3: stage 2");
  EXPECT_EQ(named(trace, "thread_name").size(), 3u);
  ASSERT_EQ(named(trace, "5 rows").size(), 1u);
  nlohmann::json slice = named(trace, "5 rows")[0];
  EXPECT_EQ(slice["ph"], "X");
  EXPECT_EQ(slice["pid"], 3);
  EXPECT_DOUBLE_EQ(slice["ts"], 1234.567);
  EXPECT_DOUBLE_EQ(slice["dur"], 1000.001);
  EXPECT_EQ(slice["args"]["left"], 2);
  EXPECT_EQ(slice["args"]["step"], 77);
  std::remove(path.c_str());
}

TEST(TraceWriterTest, EveryKindIsWellFormed) {
  std::string path = temporary("kinds.json");
  Expected<TraceWriter> writer = TraceWriter::create(path);
  ASSERT_TRUE(writer) << writer.status().message();
  for (int kind = 0; kind < kindCount; ++kind) {
    TraceEvent one = event(static_cast<Kind>(kind), Time(5), {1, 2, 3, 4});
    one.chance = std::numeric_limits<double>::quiet_NaN();
    writer->write(one);
  }
  ASSERT_TRUE(writer->finish().ok());
  nlohmann::json trace = readBack(path);
  // Messages and controls have a begin event and an end event.
  EXPECT_EQ(trace["traceEvents"].size(), size_t(kindCount) + 2);
  std::map<std::string, int> types;
  for (const nlohmann::json &one : trace["traceEvents"]) {
    ++types[one["ph"]];
    EXPECT_TRUE(one.contains("ts") && one.contains("tid"));
  }
  EXPECT_EQ(types["b"], 2);
  EXPECT_EQ(types["e"], 2);
  EXPECT_EQ(types["X"], 1);
  EXPECT_EQ(types["C"], 2);
  EXPECT_EQ(types["i"], kindCount - 5);
  EXPECT_EQ(named(trace, "policy")[0]["args"]["verdict"],
            std::string(verdictName(static_cast<Verdict>(2))));
  EXPECT_EQ(named(trace, "finish")[0]["args"]["reason"],
            std::string(finishReasonName(static_cast<FinishReason>(2))));
  EXPECT_EQ(named(trace, "not finite")[0]["args"]["place"], "goes out");
  std::remove(path.c_str());
}

TEST(TraceWriterTest, MessagesOfALaneCanOverlap) {
  std::string path = temporary("messages.json");
  Expected<TraceWriter> writer = TraceWriter::create(path);
  ASSERT_TRUE(writer) << writer.status().message();
  for (int64_t at : {1000, 2000}) {
    TraceEvent one = event(Kind::Message, Time(at), {4, 640, 2, 0});
    one.duration = Time(5000);
    writer->write(one);
  }
  ASSERT_TRUE(writer->finish().ok());
  nlohmann::json trace = readBack(path);
  std::vector<nlohmann::json> ends = named(trace, "message to rank 4");
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_EQ(ends[0]["id"], ends[1]["id"]);
  EXPECT_NE(ends[0]["id"], ends[2]["id"]);
  EXPECT_DOUBLE_EQ(ends[3]["ts"], 7.0);
  EXPECT_EQ(ends[0]["args"]["bytes"], 640);
  std::remove(path.c_str());
}

TEST(TraceWriterTest, NamesAreEscaped) {
  std::string path = temporary("names.json");
  Expected<TraceWriter> writer = TraceWriter::create(path);
  ASSERT_TRUE(writer) << writer.status().message();
  writer->nameRank(0, "a \"quoted\"\nname \xff\x01");
  ASSERT_TRUE(writer->finish().ok());
  nlohmann::json trace = readBack(path);
  std::string name = named(trace, "process_name")[0]["args"]["name"];
  EXPECT_TRUE(name.starts_with("a \"quoted\"\nname "));
  std::remove(path.c_str());
}

TEST(TraceWriterTest, MemoryDoesNotGrowWithTheNumberOfEvents) {
  std::string path = temporary("many.json");
  Expected<TraceWriter> writer = TraceWriter::create(path);
  ASSERT_TRUE(writer) << writer.status().message();
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i)
    writer->write(event(Kind::Token, Time(i * 1000), {0, i, 0, 0}));
  ASSERT_TRUE(writer->finish().ok());
  nlohmann::json trace = readBack(path);
  ASSERT_EQ(trace["traceEvents"].size(), size_t(count));
  EXPECT_EQ(trace["traceEvents"][count - 1]["args"]["token"], count - 1);
  std::remove(path.c_str());
}

TEST(TraceWriterTest, ErrorsNameTheFile) {
  Expected<TraceWriter> writer =
      TraceWriter::create("/nonexistent-folder/t.json");
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.status().message().find("/nonexistent-folder/t.json"),
            std::string::npos);
}

TEST(TraceWriterTest, NothingIsLeftWithoutFinish) {
  std::string path = temporary("unfinished.json");
  {
    Expected<TraceWriter> writer = TraceWriter::create(path);
    ASSERT_TRUE(writer) << writer.status().message();
    writer->write(event(Kind::Token, Time(1), {0, 1, 0, 0}));
  }
  EXPECT_FALSE(std::ifstream(path).good());
}

} // namespace
