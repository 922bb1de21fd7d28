//===- TraceFileTest.cpp - traces of arrivals and lengths -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/TraceFile.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace sluice;
using namespace sluice::bench;

namespace {

TEST(TraceFileTest, ReadsBothForms) {
  for (const char *text :
       {"{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, "
        "\"hash_ids\": [0, 1]}\n"
        "{\"timestamp\": 27.25, \"input_length\": 1, \"output_length\": 2}",
        "0,6758,500\n27.25,1,2\n",
        "timestamp,input_length,output_length\r\n0,6758,500\r\n\r\n27.25,1,2",
        "0,6758,500\n{\"timestamp\": 27.25, \"input_length\": 1, "
        "\"output_length\": 2}\n\n"}) {
    Expected<std::vector<TraceEntry>> entries = parseTrace(text);
    ASSERT_TRUE(entries) << entries.status().message();
    ASSERT_EQ(entries->size(), 2u);
    EXPECT_EQ((*entries)[0].arrival, Time(0));
    EXPECT_EQ((*entries)[0].promptTokens, 6758);
    EXPECT_EQ((*entries)[0].outputTokens, 500);
    EXPECT_EQ((*entries)[1].arrival, Time(27'250'000));
    EXPECT_EQ((*entries)[1].outputTokens, 2);
  }
}

TEST(TraceFileTest, Refuses) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "it has no request"},
      {"\n\n", "it has no request"},
      {"timestamp,input_length,output_length\n", "it has no request"},
      {"0,1,1\ntimestamp,input_length,output_length\n",
       "line 2: 'timestamp' is not a number"},
      {"0,1", "line 1: it is neither a JSON object nor three numbers with "
              "commas between them"},
      {"0,1,1,1", "line 1: it is neither"},
      {"0,1,x", "line 1: 'x' is not a number"},
      {"0, 1,1", "line 1: ' 1' is not a number"},
      {"-1,1,1", "line 1: timestamp is not from 0 to a year"},
      {"1e300,1,1", "line 1: timestamp is not from 0 to a year"},
      {"nan,1,1", "line 1: 'nan' is not a number"},
      {"0,0,1", "line 1: input_length is not a whole number from 1 to 1048576"},
      {"0,1,1.5", "line 1: output_length is not a whole number from 1 to "
                  "1048576"},
      {"0,2000000,1", "line 1: input_length is not a whole number"},
      {"5,1,1\n4,1,1", "line 2: it comes before the request above it"},
      {"{", "line 1: it is not a JSON object"},
      {"{} x", "line 1: it is not a JSON object"},
      {"{\"timestamp\": 0}", "line 1: it has no number 'input_length'"},
      {"{\"timestamp\": \"0\", \"input_length\": 1, \"output_length\": 1}",
       "line 1: it has no number 'timestamp'"},
      {"0,1,1\n\n{\"timestamp\": 0, \"input_length\": -1, \"output_length\": "
       "1}",
       "line 3: input_length is not a whole number"},
  };
  for (const auto &[text, why] : cases) {
    Expected<std::vector<TraceEntry>> entries = parseTrace(text);
    ASSERT_FALSE(entries) << text;
    EXPECT_EQ(entries.status().message().find(why), 0u)
        << entries.status().message();
  }
}

TEST(TraceFileTest, HasALimit) {
  std::string text;
  for (int i = 0; i < 1'000'001; ++i)
    text += "0,1,1\n";
  EXPECT_EQ(parseTrace(text).status().message(),
            "line 1000001: more than 1000000 requests");
}

TEST(TraceFileTest, ErrorsNameTheFile) {
  std::string path = testing::TempDir() + "/bad-trace.csv";
  std::ofstream(path) << "0,1\n";
  EXPECT_EQ(readTraceFile(path).status().message().find(path + ": line 1: "),
            0u);
  EXPECT_FALSE(readTraceFile(path + ".missing"));
}

} // namespace
