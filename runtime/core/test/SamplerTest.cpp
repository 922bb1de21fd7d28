//===- SamplerTest.cpp - tokens are drawn from the right distribution -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Sampler.h"
#include "runtime/core/Gumbel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace sluice;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

int32_t draw(const std::vector<float> &logits, const SamplingParams &params,
             int64_t position = 0, const std::vector<int32_t> &prompt = {},
             const std::vector<int32_t> &output = {}) {
  Sampler sampler(static_cast<int64_t>(logits.size()));
  Expected<int32_t> token =
      sampler.sample(logits, params, prompt, output, position);
  EXPECT_TRUE(token) << token.status().message();
  return token ? *token : -1;
}

/// Returns how often each token is drawn over many positions.
std::vector<int> histogram(const std::vector<float> &logits,
                           const SamplingParams &params, int draws) {
  Sampler sampler(static_cast<int64_t>(logits.size()));
  std::vector<int> counts(logits.size());
  for (int position = 0; position < draws; ++position)
    ++counts[*sampler.sample(logits, params, {}, {}, position)];
  return counts;
}

std::vector<int32_t> support(const std::vector<float> &logits,
                             const SamplingParams &params) {
  std::vector<int> counts = histogram(logits, params, 4000);
  std::vector<int32_t> tokens;
  for (size_t token = 0; token < counts.size(); ++token)
    if (counts[token])
      tokens.push_back(static_cast<int32_t>(token));
  return tokens;
}

using Tokens = std::vector<int32_t>;

TEST(SamplerTest, GreedyTakesTheLowestOfEqualLogits) {
  EXPECT_EQ(draw({1, 3, 2, 3}, {}), 1);
  EXPECT_EQ(draw({-infinity, -5, -infinity}, {}), 1);
  EXPECT_EQ(draw({0.0f, -0.0f}, {}), 0);
}

TEST(SamplerTest, BadLogitsAreErrors) {
  Sampler sampler(2);
  std::vector<float> logits = {0, std::nanf("")};
  EXPECT_EQ(sampler.sample(logits, {}, {}, {}, 0).status().message(),
            "sampling: the logit of token 1 is nan");
  logits[1] = infinity;
  EXPECT_EQ(sampler.sample(logits, {}, {}, {}, 0).status().message(),
            "sampling: the logit of token 1 is inf");
  logits = {-infinity, -infinity};
  EXPECT_EQ(sampler.sample(logits, {}, {}, {}, 0).status().message(),
            "sampling: every token is forbidden");
  logits = {0, 1};
  SamplingParams params;
  params.logitBias = {{0, -infinity}, {1, -infinity}};
  EXPECT_FALSE(sampler.sample(logits, params, {}, {}, 0));
  EXPECT_EQ(*sampler.sample(logits, {}, {}, {}, 0), 1);
}

TEST(SamplerTest, ExtremeParametersStayDefined) {
  std::vector<float> logits = {1, 2, 3, 4};
  // Divided by the temperature, the largest logit would overflow.
  SamplingParams params;
  params.temperature = 1e-5;
  params.topK = 2;
  params.topP = 0.5;
  params.logitBias = {{1, 1e308}, {2, -1e308}};
  ASSERT_TRUE(params.validate(4).ok());
  EXPECT_EQ(draw(logits, params), 1);
  // If a penalty makes a logit infinite, logits cannot be compared.
  params.logitBias = {{2, 1e308}};
  params.repetitionPenalty = 1e-3;
  ASSERT_TRUE(params.validate(4).ok());
  Sampler sampler(4);
  EXPECT_EQ(sampler.sample(logits, params, Tokens{2}, {}, 0).status().message(),
            "sampling: the logit of token 2 is inf");
}

TEST(SamplerTest, BiasAndPenaltiesMoveLogits) {
  SamplingParams params;
  params.logitBias = {{2, 1.5}};
  EXPECT_EQ(draw({1, 0, 0}, params), 2);

  // Bias comes first, so the penalty divides the sum.
  params.repetitionPenalty = 2;
  EXPECT_EQ(draw({1, 0, 0}, params, 0, {2}), 0);

  params = {};
  params.repetitionPenalty = 2;
  EXPECT_EQ(draw({3, 2}, params, 0, {0, 0, 0}), 1);
  EXPECT_EQ(draw({3, 2}, params, 0, {}, {0}), 1);
  EXPECT_EQ(draw({-1, -1.5f}, params, 0, {0}), 1);

  // Presence counts once, frequency counts each time, and neither counts the
  // prompt.
  params = {};
  params.presencePenalty = 0.5;
  EXPECT_EQ(draw({1, 0.4f}, params, 0, {}, {0, 0, 0, 0}), 0);
  EXPECT_EQ(draw({1, 0.6f}, params, 0, {}, {0}), 1);
  EXPECT_EQ(draw({1, 0.6f}, params, 0, {0}, {}), 0);
  params = {};
  params.frequencyPenalty = 0.5;
  EXPECT_EQ(draw({1, 0.2f}, params, 0, {0}, {0}), 0);
  EXPECT_EQ(draw({1, 0.2f}, params, 0, {}, {0, 0}), 1);
}

TEST(SamplerTest, PenaltiesLeaveNoTraceInTheNextCall) {
  Sampler sampler(3);
  std::vector<float> logits = {3, 2, 1};
  SamplingParams params;
  params.repetitionPenalty = 4;
  params.frequencyPenalty = 1;
  Tokens before = {0, 1, 0};
  EXPECT_EQ(*sampler.sample(logits, params, before, before, 0), 2);
  EXPECT_EQ(*sampler.sample(logits, params, {}, {}, 0), 0);
}

TEST(SamplerTest, FiltersKeepWhatTheySay) {
  // Probabilities 0.5, 0.25, 0.125, 0.0625, 0.0625.
  std::vector<float> logits;
  for (double p : {0.25, 0.5, 0.0625, 0.125, 0.0625})
    logits.push_back(static_cast<float>(std::log(p)));
  SamplingParams params;
  params.temperature = 1;
  EXPECT_EQ(support(logits, params), (Tokens{0, 1, 2, 3, 4}));
  params.topK = 1;
  EXPECT_EQ(support(logits, params), (Tokens{1}));
  params.topK = 4; // of equal logits, the lowest id
  EXPECT_EQ(support(logits, params), (Tokens{0, 1, 2, 3}));
  params.topK = 99;
  EXPECT_EQ(support(logits, params), (Tokens{0, 1, 2, 3, 4}));
  params = {.temperature = 1, .topP = 0.4};
  EXPECT_EQ(support(logits, params), (Tokens{1}));
  params.topP = 0.6;
  EXPECT_EQ(support(logits, params), (Tokens{0, 1}));
  params.topP = 1e-9;
  EXPECT_EQ(support(logits, params), (Tokens{1}));
  params = {.temperature = 1, .minP = 0.3};
  EXPECT_EQ(support(logits, params), (Tokens{0, 1}));
  params.minP = 1;
  EXPECT_EQ(support(logits, params), (Tokens{1}));
  // top-p sees what top-k left, renormalised: 2/3 and 1/3.
  params = {.temperature = 1, .topK = 2, .topP = 0.6};
  EXPECT_EQ(support(logits, params), (Tokens{1}));
  // Filters see the distribution after the temperature.
  params = {.temperature = 0.5, .topP = 0.7};
  EXPECT_EQ(support(logits, params), (Tokens{1}));
}

TEST(SamplerTest, TopPOfAWideDistributionKeepsItsShare) {
  // More tokens than are sorted at once, all equal in an order.
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = -1e-6f * static_cast<float>(i);
  SamplingParams params = {.temperature = 1, .topP = 0.5};
  Tokens tokens = support(logits, params);
  EXPECT_LT(tokens.back(), 2510);
  EXPECT_GT(tokens.back(), 2450);
}

TEST(SamplerTest, DrawsFollowTheSoftmax) {
  std::vector<float> logits = {0, 1, -1, 2, 0.5f, -3};
  for (double temperature : {0.7, 1.0, 2.0}) {
    SamplingParams params;
    params.temperature = temperature;
    params.seed = 42;
    constexpr int draws = 200000;
    std::vector<int> counts = histogram(logits, params, draws);
    double sum = 0;
    for (float logit : logits)
      sum += std::exp(logit / temperature);
    double chiSquare = 0;
    for (size_t token = 0; token < logits.size(); ++token) {
      double expected = draws * std::exp(logits[token] / temperature) / sum;
      chiSquare += std::pow(counts[token] - expected, 2) / expected;
    }
    // With five degrees of freedom, values above 20.5 occur once in a thousand.
    EXPECT_LT(chiSquare, 20.5) << "temperature " << temperature;
  }
}

TEST(SamplerTest, SeedAndPositionDecideAndNothingElse) {
  std::mt19937 random(1);
  std::vector<float> logits(100);
  for (float &logit : logits)
    logit = static_cast<float>(random() % 1000) / 500;
  SamplingParams params;
  params.temperature = 1;
  int changedBySeed = 0, changedByPosition = 0;
  Sampler used(100);
  for (int64_t position = 0; position < 200; ++position) {
    int32_t token = draw(logits, params, position);
    EXPECT_EQ(*used.sample(logits, params, {}, {}, position), token);
    params.seed = 1;
    changedBySeed += draw(logits, params, position) != token;
    params.seed = 0;
    changedByPosition += draw(logits, params, position + 1000) != token;
  }
  EXPECT_GT(changedBySeed, 150);
  EXPECT_GT(changedByPosition, 150);
}

/// Compared with a draw that skips no candidate.
TEST(SamplerTest, SkippingChangesNothing) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<float> logits(50 + random() % 200);
    float width = static_cast<float>(1 + random() % 40);
    for (float &logit : logits)
      logit = width * static_cast<float>(random() % 10000) / 10000;
    SamplingParams params;
    params.temperature = 0.5 + random() % 3;
    int32_t all = draw(logits, params, round);
    // If all tokens but a few losers and the winner are forbidden, the winner
    // stays.
    SamplingParams fewer = params;
    for (size_t token = 0; token < logits.size(); ++token)
      if (static_cast<int32_t>(token) != all && random() % 4)
        fewer.logitBias[static_cast<int32_t>(token)] = -infinity;
    EXPECT_EQ(draw(logits, fewer, round), all);
  }
}

/// Two models with similar distributions mostly agree: with noise for each
/// token, at least about (1 - distance) / (1 + distance) of the time.
TEST(SamplerTest, SimilarDistributionsDrawTheSameToken) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  int same = 0;
  constexpr int rounds = 1000;
  SamplingParams params;
  params.temperature = 1;
  for (int round = 0; round < rounds; ++round) {
    std::vector<float> target(200), draft(200);
    for (size_t i = 0; i < target.size(); ++i) {
      target[i] = 2 * normal(random);
      draft[i] = target[i] + 0.1f * normal(random);
    }
    same += draw(target, params, round) == draw(draft, params, round);
  }
  EXPECT_GT(same, rounds * 85 / 100);
}

//===----------------------------------------------------------------------===//
// The part that a device computes
//===----------------------------------------------------------------------===//

TEST(GumbelTest, LogarithmsAreNearTheLibrarys) {
  std::mt19937_64 random(1);
  auto expectNear = [](double x) {
    double right = std::log(x);
    double unit = std::nextafter(std::abs(right), HUGE_VAL) - std::abs(right);
    EXPECT_NEAR(naturalLog(x), right, 2 * unit) << x;
  };
  for (int i = 0; i < 100000; ++i) {
    auto word = static_cast<uint32_t>(random());
    double u = (word + 0.5) * 0x1p-32;
    expectNear(u);
    expectNear(-std::log(u));
  }
  for (double x : {0x1p-33, 0.5, std::sqrt(0.5), 1 - 0x1p-33, 1 + 0x1p-52,
                   std::sqrt(2.0), 2.0, 22.9})
    expectNear(x);
  EXPECT_EQ(naturalLog(1), 0);
}

TEST(GumbelTest, TheBoundIsOne) {
  std::mt19937 random(2);
  for (uint32_t edge : {0u, 1u, 0x7fffffffu, 0x80000000u, ~1u, ~0u})
    EXPECT_GE(gumbelBound(edge), gumbel(edge)) << edge;
  for (int i = 0; i < 100000; ++i) {
    // Near the greatest word, too.
    uint32_t word = ~(static_cast<uint32_t>(random()) >> random() % 32);
    EXPECT_GE(gumbelBound(word), gumbel(word)) << word;
  }
}

TEST(OutputRequestTest, SaysWhatADeviceCanGive) {
  auto kindOf = [](const SamplingParams &params) {
    return requestFor(params, 3).kind;
  };
  EXPECT_EQ(kindOf({}), OutputRequest::Greatest);
  EXPECT_EQ(kindOf({.topK = 5}), OutputRequest::Greatest);
  EXPECT_EQ(kindOf({.temperature = 1}), OutputRequest::Drawn);
  EXPECT_EQ(kindOf({.temperature = 1, .topK = -1}), OutputRequest::Drawn);
  EXPECT_EQ(kindOf({.temperature = 1, .topP = 0.9}), OutputRequest::Logits);
  EXPECT_EQ(kindOf({.temperature = 1, .topK = 129}), OutputRequest::Logits);
  EXPECT_EQ(kindOf({.temperature = 1, .minP = 0.1}), OutputRequest::Candidates);
  EXPECT_EQ(kindOf({.temperature = 1, .topK = 128, .topP = 0.9}),
            OutputRequest::Candidates);
  EXPECT_EQ(kindOf({.temperature = 1, .presencePenalty = 1}),
            OutputRequest::Logits);
  EXPECT_EQ(kindOf({.repetitionPenalty = 2}), OutputRequest::Logits);
  EXPECT_EQ(kindOf({.temperature = 1, .logitBias = {{1, 1.0}}}),
            OutputRequest::Logits);
  OutputRequest request =
      requestFor({.temperature = 2, .topK = 7, .seed = 5}, 3);
  EXPECT_EQ(request.count, 7);
  EXPECT_EQ(request.temperature, 2);
  EXPECT_EQ(request.seed, 5u);
  EXPECT_EQ(request.position, 3);
  EXPECT_FALSE(request.wantsAllAbove);
  request = requestFor({.temperature = 1, .minP = 0.5}, 0);
  EXPECT_EQ(request.count, maxCandidates);
  EXPECT_TRUE(request.wantsAllAbove);
  EXPECT_EQ(request.minScore, std::log(0.5));
}

/// The greatest logits, in any order, are enough: the others change nothing,
/// whatever equal logits and filters there are.
TEST(SamplerTest, AFewOfTheLogitsAreEnough) {
  std::mt19937 random(23);
  int64_t compared = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> logits(3 + random() % 400);
    const float width = static_cast<float>(1 << random() % 6);
    for (float &logit : logits) {
      logit = width * (static_cast<float>(random() % 1000) / 1000 - 0.5f);
      if (random() % 3 == 0)
        logit = std::round(logit);
      if (random() % 20 == 0)
        logit = -infinity;
    }
    // Larger than the others by more than the digits of a sum.
    if (random() % 4 == 0)
      logits[random() % logits.size()] = 3e30f;
    SamplingParams params = {
        .temperature = 0.1 + double(random() % 40) / 10,
        .topK = random() % 2 ? int64_t(1 + random() % 128) : 0,
        .topP = random() % 2 ? 0.05 * (1 + random() % 19) : 1,
        .minP = random() % 2 ? 0.01 * (1 + random() % 50) : 0,
        .seed = random()};
    const OutputRequest request = requestFor(params, round);
    if (request.kind != OutputRequest::Candidates)
      continue;
    std::vector<TokenLogit> chosen;
    for (size_t token = 0; token < logits.size(); ++token)
      chosen.push_back({logits[token], int32_t(token)});
    std::sort(chosen.begin(), chosen.end(),
              [](const TokenLogit &a, const TokenLogit &b) {
                return a.logit != b.logit ? a.logit > b.logit
                                          : a.token < b.token;
              });
    const size_t count = std::min(chosen.size(), size_t(request.count));
    if (request.wantsAllAbove && count < chosen.size() &&
        (double(chosen[count - 1].logit) - double(chosen[0].logit)) /
                params.temperature >=
            request.minScore)
      continue;
    chosen.resize(count);
    std::shuffle(chosen.begin(), chosen.end(), random);
    Sampler sampler(std::ssize(logits));
    EXPECT_EQ(sampler.sampleAmong(chosen, params, round),
              draw(logits, params, round))
        << round;
    ++compared;
  }
  EXPECT_GT(compared, 1000);
}

//===----------------------------------------------------------------------===//
// rank()
//===----------------------------------------------------------------------===//

std::vector<Candidate> rank(const std::vector<float> &logits,
                            const SamplingParams &params, int64_t count,
                            int64_t position = 0, const Tokens &prompt = {},
                            const Tokens &output = {}) {
  Sampler sampler(static_cast<int64_t>(logits.size()));
  std::vector<Candidate> ranked = {{-1, 7.0f}};
  Status status =
      sampler.rank(logits, params, prompt, output, position, count, ranked);
  EXPECT_TRUE(status.ok()) << status.message();
  return ranked;
}

Tokens tokensOf(const std::vector<Candidate> &ranked) {
  Tokens tokens;
  for (const Candidate &candidate : ranked)
    tokens.push_back(candidate.token);
  return tokens;
}

TEST(SamplerTest, GreedyRanksByLogit) {
  std::vector<float> logits;
  for (double p : {0.125, 0.5, 0.0625, 0.25, 0.0625})
    logits.push_back(static_cast<float>(std::log(p)));
  std::vector<Candidate> ranked = rank(logits, {}, 4);
  EXPECT_EQ(tokensOf(ranked), (Tokens{1, 3, 0, 2}));
  EXPECT_NEAR(ranked[0].confidence, 0.5, 1e-6);
  EXPECT_NEAR(ranked[3].confidence, 0.0625, 1e-6);
  // Forbidden tokens are not proposed.
  SamplingParams params;
  params.logitBias = {{1, -infinity}, {4, -infinity}};
  EXPECT_EQ(tokensOf(rank(logits, params, 9)), (Tokens{3, 0, 2}));
  EXPECT_EQ(tokensOf(rank({0, 2, 1}, {}, 0)), Tokens());
}

TEST(SamplerTest, RankAndSampleFailAlike) {
  Sampler sampler(2);
  std::vector<float> logits = {0, infinity};
  std::vector<Candidate> ranked;
  EXPECT_EQ(sampler.rank(logits, {}, {}, {}, 0, 2, ranked).message(),
            "sampling: the logit of token 1 is inf");
  logits = {-infinity, -infinity};
  EXPECT_EQ(sampler.rank(logits, {}, {}, {}, 0, 2, ranked).message(),
            "sampling: every token is forbidden");
}

/// A draft has fewer tokens than the target whose request it serves: parameters
/// about other tokens are ignored.
TEST(SamplerTest, TokensBeyondTheVocabularyArePassedOver) {
  SamplingParams params;
  params.repetitionPenalty = 2;
  params.frequencyPenalty = 1;
  params.logitBias = {{0, 1.25}, {3, 50}, {900, -50}};
  EXPECT_EQ(tokensOf(rank({0, 3, 2}, params, 3, 9, {3, 2, 900}, {900, 1, 3})),
            (Tokens{0, 2, 1}));
}

/// Noise belongs to the token: a draft with more or fewer tokens than the
/// target draws the same ones.
TEST(SamplerTest, PaddingLeavesTheNoise) {
  std::mt19937 random(23);
  for (int64_t position = 0; position < 100; ++position) {
    std::vector<float> logits(40 + random() % 40);
    for (float &logit : logits)
      logit = static_cast<float>(random() % 1000) / 200;
    SamplingParams params;
    params.temperature = 0.8;
    params.seed = random();
    params.topK = random() % 2 ? 10 : 0;
    params.topP = random() % 2 ? 0.9 : 1;
    std::vector<float> padded = logits;
    padded.resize(128, -infinity);
    EXPECT_EQ(tokensOf(rank(logits, params, 1, position)),
              (Tokens{draw(padded, params, position)}));
    EXPECT_EQ(tokensOf(rank(padded, params, 1, position)),
              (Tokens{draw(logits, params, position)}));
  }
}

/// The first token is that of sample(), the second that of sample() with the
/// first forbidden, and so on, whatever the parameters.
TEST(SamplerTest, RankFollowsSample) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    std::vector<float> logits(20 + random() % 100);
    for (float &logit : logits)
      logit = static_cast<float>(random() % 1000) / 200;
    int32_t size = static_cast<int32_t>(logits.size());
    SamplingParams params;
    params.temperature = static_cast<double>(random() % 3) / 2;
    params.seed = random();
    params.repetitionPenalty = random() % 2 ? 1.3 : 1;
    params.presencePenalty = random() % 2 ? 0.5 : 0;
    // Filters depend on the whole distribution, which forbidding changes.
    bool filtered = random() % 2;
    params.topK = filtered ? 1 + random() % 10 : 0;
    params.topP = filtered && random() % 2 ? 0.8 : 1;
    Tokens prompt = {static_cast<int32_t>(random()) % size & 15};
    Tokens output = {static_cast<int32_t>(random()) % size & 15};
    std::vector<Candidate> ranked =
        rank(logits, params, 4, round, prompt, output);
    ASSERT_FALSE(ranked.empty());
    float before = 1;
    SamplingParams fewer = params;
    for (const Candidate &candidate : ranked) {
      EXPECT_LE(candidate.confidence, before);
      EXPECT_GE(candidate.confidence, 0);
      before = candidate.confidence;
      if (filtered && fewer.logitBias.size())
        continue;
      EXPECT_EQ(draw(logits, fewer, round, prompt, output), candidate.token);
      fewer.logitBias[candidate.token] = -infinity;
    }
  }
}

} // namespace
