//===- OracleTest.cpp - right as often as asked for -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/oracle/Oracle.h"

#include <gtest/gtest.h>
#include <set>

using namespace sluice;

namespace {

TEST(OracleTargetTest, AnswersByPathAlone) {
  OracleTarget target(1, 1000);
  std::vector<int32_t> prompt = {1, 2, 3};
  PathKey whole = target.begin(std::vector<int32_t>{1, 2, 3, 4});
  PathKey grown = target.begin(prompt).add(4);
  EXPECT_EQ(whole.value(), grown.value());
  EXPECT_EQ(target.next(whole, 0), target.next(grown, 0));
  std::set<int32_t> answers;
  for (int32_t token = 0; token < 100; ++token) {
    int32_t answer = target.next(target.begin(prompt).add(token), 1);
    EXPECT_GE(answer, 0);
    EXPECT_LT(answer, 1000);
    answers.insert(answer);
  }
  EXPECT_GT(answers.size(), 80u) << "paths must differ in what follows them";
}

TEST(OracleTargetTest, AGivenListComesFirst) {
  OracleTarget target(1, 1000, {7, 8});
  PathKey path = target.begin(std::vector<int32_t>{5});
  EXPECT_EQ(target.next(path, 0), 7);
  EXPECT_EQ(target.next(path.add(7), 1), 8);
  OracleTarget hashed(1, 1000);
  EXPECT_EQ(target.next(path.add(8), 2), hashed.next(path, 2));
}

/// Returns how often one of the first `count` candidates is right.
double measuredRate(double acceptance, int64_t count) {
  OracleTarget target(3, 500);
  OracleDraft draft(9, 500, acceptance, OracleConfidence::Calibrated);
  std::vector<Candidate> candidates;
  constexpr int places = 20000;
  int hits = 0;
  for (int32_t place = 0; place < places; ++place) {
    PathKey path(3);
    path.add(place);
    int32_t truth = target.next(path, 0);
    draft.guess(path, truth, count, candidates);
    EXPECT_EQ(candidates.size(), static_cast<size_t>(count));
    std::set<int32_t> tokens;
    for (const Candidate &candidate : candidates) {
      tokens.insert(candidate.token);
      hits += candidate.token == truth;
    }
    EXPECT_EQ(tokens.size(), candidates.size()) << "all must differ";
  }
  return static_cast<double>(hits) / places;
}

TEST(OracleDraftTest, HitRatesAreThoseOfTheDemoPair) {
  OracleDraft draft(1, 500, 0.64, OracleConfidence::Calibrated);
  EXPECT_NEAR(draft.hitRate(1), 0.64, 1e-12);
  EXPECT_NEAR(draft.hitRate(8), 0.95, 0.001);
  EXPECT_NEAR(measuredRate(0.64, 1), 0.64, 0.01);
  EXPECT_NEAR(measuredRate(0.64, 8), 0.95, 0.01);
}

TEST(OracleDraftTest, TheEndsAreExact) {
  EXPECT_EQ(measuredRate(0, 8), 0);
  EXPECT_EQ(measuredRate(1, 1), 1);
}

TEST(OracleDraftTest, AsksInAnyOrderGetTheSameAnswers) {
  OracleDraft draft(1, 100, 0.5, OracleConfidence::Calibrated);
  PathKey path(77);
  std::vector<Candidate> first, again, other;
  draft.guess(path, 42, 4, first);
  draft.guess(PathKey(78), 42, 4, other);
  draft.guess(path, 42, 4, again);
  ASSERT_EQ(first.size(), again.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].token, again[i].token);
    EXPECT_EQ(first[i].confidence, again[i].confidence);
  }
  // A longer list of candidates begins like a shorter one.
  draft.guess(path, 42, 2, again);
  EXPECT_EQ(again[0].token, first[0].token);
  EXPECT_EQ(again[1].token, first[1].token);
}

TEST(OracleDraftTest, ConfidencesFall) {
  for (OracleConfidence kind :
       {OracleConfidence::Calibrated, OracleConfidence::Uninformative}) {
    OracleDraft draft(1, 100, 0.3, kind);
    std::vector<Candidate> candidates;
    draft.guess(PathKey(5), 1, 8, candidates);
    float sum = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      sum += candidates[i].confidence;
      if (i > 0) {
        EXPECT_LE(candidates[i].confidence, candidates[i - 1].confidence);
      }
    }
    EXPECT_LE(sum, 1);
    if (kind == OracleConfidence::Calibrated)
      EXPECT_NEAR(sum, draft.hitRate(8), 1e-5);
    else
      EXPECT_EQ(candidates[0].confidence, 0.5f);
  }
}

TEST(OracleDraftTest, ASmallVocabularyGivesFewerCandidates) {
  OracleDraft draft(1, 3, 0.5, OracleConfidence::Calibrated);
  std::vector<Candidate> candidates;
  draft.guess(PathKey(5), 1, 8, candidates);
  EXPECT_EQ(candidates.size(), 3u);
}

} // namespace
