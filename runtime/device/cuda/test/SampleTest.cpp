//===- SampleTest.cpp - drawing on the device, in the emulator ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares tokens with those of the host's Sampler over all logits, and
// candidates with a sort of the logits.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Sampler.h"
#include "runtime/device/cuda/kernels/SampleABI.h"
#include "runtime/device/cuda/test/LateInputs.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

using RowLogits = std::vector<float>;

using emulator::Order;

/// Marks the place of a candidate that was not written.
constexpr TokenLogit untouched = {0, 1 << 30};

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Sorts all logits partially: zeros are equal, and of equal logits the lowest
/// tokens come first.
std::vector<TokenLogit> greatestOf(const RowLogits &logits, int32_t count) {
  std::vector<TokenLogit> all;
  for (float logit : logits)
    all.push_back({logit + 0.0f, int32_t(all.size())});
  auto end = all.begin() + std::min(std::ptrdiff_t{count}, std::ssize(all));
  std::partial_sort(all.begin(), end, all.end(),
                    [](const TokenLogit &a, const TokenLogit &b) {
                      return a.logit != b.logit ? a.logit > b.logit
                                                : a.token < b.token;
                    });
  return {all.begin(), end};
}

struct Sampled {
  std::vector<int32_t> tokens;
  std::vector<std::vector<TokenLogit>> candidates;
};

class SampleTest : public testing::Test {
protected:
  /// Returns the token as the program gives it: a NaN is the greatest, and the
  /// complement says that the greatest is not a finite number.
  int32_t tokenOf(const RowLogits &logits) {
    auto best = std::ranges::find_if(logits, [](float x) { return x != x; });
    if (best == logits.end())
      best = std::ranges::max_element(logits);
    auto token = int32_t(best - logits.begin());
    return std::isfinite(*best) ? token : ~token;
  }

  /// Runs the outputs of one step, numbered from the last request to the first.
  Sampled run(const std::vector<RowLogits> &outputs,
              const std::vector<OutputRequest> &requests,
              Order order = Order::Shuffled) {
    const auto vocabulary = static_cast<int32_t>(outputs[0].size());
    const auto count = static_cast<int32_t>(outputs.size());
    DeviceArray<float> logits(outputs.size() * outputs[0].size());
    DeviceArray<OutputRequest> asked(requests);
    // There is room for one more output.
    DeviceArray<int32_t> sources(outputs.size()), tokens(outputs.size() + 1),
        counts(std::vector{count});
    DeviceArray<TokenLogit> candidates(
        std::vector((outputs.size() + 1) * maxCandidates, untouched));
    DeviceArray<uint64_t> found(outputs.size() *
                                size_t(sampleFoundWords(vocabulary)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::ranges::copy(outputs[i], logits.data() + i * outputs[i].size());
      sources[i] = count - 1 - int32_t(i);
      tokens[i] = tokenOf(outputs[i]);
    }
    SampleArguments arguments = {};
    arguments.logits = logits.data();
    arguments.requests = asked.data();
    arguments.sources = sources.data();
    arguments.tokens = tokens.data();
    arguments.candidates = candidates.data();
    arguments.found = found.data();
    arguments.outputCount = counts.data();
    arguments.vocabulary = vocabulary;
    emulator::LaunchOptions options;
    options.threads = sampleThreads;
    options.sharedBytes = sampleSharedBytes;
    options.order = order;
    LateInputs late;
    late.hide(logits);
    late.hide(asked);
    late.hide(sources);
    late.hide(tokens);
    late.hide(candidates);
    late.hide(found);
    late.hide(counts);
    options.grid = {uint32_t(sampleParts(vocabulary)), uint32_t(count) + 1, 1};
    late.expectLaunch(options, "sluice_sample_search", arguments);
    options.grid = {uint32_t(count) + 1, 1, 1};
    late.expectLaunch(options, "sluice_sample_merge", arguments);
    EXPECT_EQ(tokens[outputs.size()], -1);
    EXPECT_EQ(candidates[outputs.size() * maxCandidates], untouched);
    Sampled sampled;
    for (size_t i = 0; i < outputs.size(); ++i) {
      sampled.tokens.push_back(tokens[i]);
      auto &chosen = sampled.candidates.emplace_back();
      for (int32_t j = 0; j < maxCandidates; ++j) {
        TokenLogit each = candidates[i * maxCandidates + size_t(j)];
        if (each.token < 0)
          break;
        // Either all of them are written or none.
        if (each == untouched) {
          EXPECT_EQ(j, 0);
          break;
        }
        chosen.push_back(each);
      }
    }
    return sampled;
  }

  /// Expects for each output what the host draws from all its logits.
  void expectHosts(const std::vector<RowLogits> &outputs,
                   const std::vector<SamplingParams> &params,
                   int64_t position) {
    std::vector<OutputRequest> requests;
    for (size_t i = params.size(); i-- > 0;)
      requests.push_back(requestFor(params[i], position));
    Sampled sampled = run(outputs, requests);
    Sampler sampler(std::ssize(outputs[0]));
    for (size_t i = 0; i < params.size(); ++i) {
      const OutputRequest &request = requests[params.size() - 1 - i];
      ASSERT_NE(request.kind, OutputRequest::Logits);
      int32_t token = sampled.tokens[i];
      if (request.kind == OutputRequest::Candidates)
        token = sampler.sampleAmong(sampled.candidates[i], params[i], position);
      EXPECT_EQ(token, *sampler.sample(outputs[i], params[i], {}, {}, position))
          << "output " << i << " at " << position << ", temperature "
          << params[i].temperature << ", top-k " << params[i].topK;
    }
  }

  /// Expects that many of the greatest logits, bit for bit, and in places that
  /// do not depend on the order of threads.
  void expectGreatest(const RowLogits &logits,
                      const std::vector<int32_t> &counts) {
    std::vector<OutputRequest> requests;
    for (size_t i = counts.size(); i-- > 0;)
      requests.push_back({.kind = OutputRequest::Candidates,
                          .count = counts[i],
                          .temperature = 1});
    const std::vector outputs(counts.size(), logits);
    const Sampled sampled = run(outputs, requests, Order::Ascending);
    for (Order order : {Order::Descending, Order::Shuffled})
      EXPECT_EQ(run(outputs, requests, order).candidates, sampled.candidates);
    for (size_t i = 0; i < counts.size(); ++i) {
      std::vector<TokenLogit> want = greatestOf(logits, counts[i]);
      std::vector<TokenLogit> chosen = sampled.candidates[i];
      std::ranges::sort(want, {}, &TokenLogit::token);
      std::ranges::sort(chosen, {}, &TokenLogit::token);
      EXPECT_TRUE(sameBits<TokenLogit>(chosen, want))
          << counts[i] << " of " << logits.size() << " logits";
    }
  }

  /// Returns logits that are spread or alike, with equal ones among them, some
  /// of them forbidden.
  RowLogits randomLogits(int32_t vocabulary) {
    RowLogits logits =
        randomFloats(random, size_t(vocabulary), float(1 << random() % 5));
    const bool isCoarse = random() % 2;
    for (float &each : logits) {
      if (isCoarse)
        each = std::round(each);
      if (random() % 50 == 0)
        each = -infinity;
    }
    logits[random() % logits.size()] = 0;
    return logits;
  }

  std::mt19937 random{3};
};

} // namespace

TEST_F(SampleTest, DrawsWhatTheHostDraws) {
  for (int32_t vocabulary : {1, 3, 50, 2048, 2051, 9000})
    for (int64_t position = 0; position < 12; ++position) {
      std::vector<RowLogits> outputs;
      std::vector<SamplingParams> params;
      for (double temperature : {0.0, 1e-5, 0.3, 1.0, 2.5, 100.0}) {
        outputs.push_back(randomLogits(vocabulary));
        params.push_back(
            {.temperature = temperature,
             .seed = uint64_t(random()) << 32 | uint64_t(random())});
      }
      expectHosts(outputs, params, position);
    }
}

TEST_F(SampleTest, DrawsAmongTheSameCandidates) {
  for (int32_t vocabulary : {1, 3, 50, 129, 2051, 9000})
    for (int64_t position = 0; position < 8; ++position) {
      std::vector<RowLogits> outputs;
      std::vector<SamplingParams> params;
      for (int64_t topK : {1, 2, 40, 127, 128}) {
        outputs.push_back(randomLogits(vocabulary));
        params.push_back(
            {.temperature = 0.2 + double(random() % 30) / 10,
             .topK = topK,
             .topP = random() % 2 ? 0.1 + double(random() % 8) / 10 : 1,
             .minP = random() % 2 ? 0.02 : 0,
             .seed = random()});
      }
      expectHosts(outputs, params, position);
    }
}

TEST_F(SampleTest, ARealVocabulary) {
  std::vector<RowLogits> outputs;
  const std::vector<SamplingParams> params = {
      {.temperature = 0.8, .seed = 1},
      {.temperature = 0.8, .topK = 40, .topP = 0.95, .seed = 2},
      {.temperature = 1.2, .topK = 128, .minP = 0.01, .seed = 3}};
  for (size_t i = 0; i < params.size(); ++i)
    outputs.push_back(randomLogits(128256));
  expectHosts(outputs, params, 7);
}

/// Of equal logits the lowest tokens are taken, whichever block has them. Zeros
/// are equal, and missing candidates are not made up.
TEST_F(SampleTest, CandidatesAreTheGreatest) {
  RowLogits logits(5000, -infinity);
  for (size_t token : {4999, 2047, 2048, 7, 4000})
    logits[token] = 2;
  logits[100] = -0.0f;
  logits[4100] = 0.0f;
  logits[3] = 5;
  logits[4] = -3e38f;
  OutputRequest request = {.kind = OutputRequest::Candidates, .temperature = 1};
  auto tokensOf = [&](int32_t count) {
    request.count = count;
    std::vector<int32_t> tokens;
    const Sampled sampled = run({logits}, {request});
    for (TokenLogit each : sampled.candidates[0]) {
      EXPECT_EQ(each.logit, logits[size_t(each.token)]);
      tokens.push_back(each.token);
    }
    std::ranges::sort(tokens);
    return tokens;
  };
  using Tokens = std::vector<int32_t>;
  EXPECT_EQ(tokensOf(1), (Tokens{3}));
  EXPECT_EQ(tokensOf(4), (Tokens{3, 7, 2047, 2048}));
  EXPECT_EQ(tokensOf(7), (Tokens{3, 7, 100, 2047, 2048, 4000, 4999}));
  EXPECT_EQ(tokensOf(9), (Tokens{3, 4, 7, 100, 2047, 2048, 4000, 4100, 4999}));
  EXPECT_EQ(tokensOf(128).size(), 128u);
  logits.resize(5);
  EXPECT_EQ(tokensOf(128).size(), 5u);
}

/// Vocabularies of whole parts, and with a last part of fewer logits than are
/// wanted; as many candidates as there are, and more.
TEST_F(SampleTest, CandidatesOfAnyVocabulary) {
  for (int32_t vocabulary : {1, 2, 31, 127, 128, 129, 257, 2047, 2048, 2049,
                             2048 + 39, 2048 + 100, 4095, 6145})
    expectGreatest(randomLogits(vocabulary), {1, 2, 40, 127, 128});
}

/// The leading four bytes of the keys are the same, so the tokens decide.
TEST_F(SampleTest, CandidatesOfEqualLogitsAreTheLeastTokens) {
  for (float logit : {1.5f, 0.0f, -7e30f}) {
    expectGreatest(RowLogits(2300, logit), {1, 40, 127, 128});
    // The first part has no candidates, and another part has more than are
    // wanted.
    RowLogits logits(4500, logit);
    std::fill_n(logits.begin() + 2000, 300, logit + 1 + std::fabs(logit));
    expectGreatest(logits, {1, 100, 128});
  }
}

/// Each byte of a key decides which is the last candidate, including the last
/// byte, in which 256 tokens differ.
TEST_F(SampleTest, CandidatesWhoseKeysShareTheirLeadingBytes) {
  for (int byte = 0; byte < 4; ++byte)
    for (float base : {2.75f, -2.75f}) {
      RowLogits logits(3000);
      for (float &each : logits)
        each = std::bit_cast<float>(std::bit_cast<uint32_t>(base) ^
                                    uint32_t(random() % 64) << 8 * byte);
      expectGreatest(logits, {1, 40, 128});
    }
  for (size_t first : {0, 2304}) {
    RowLogits logits(5000, 1);
    std::fill_n(logits.begin() + std::ptrdiff_t(first), 256, 2.0f);
    expectGreatest(logits, {1, 2, 127, 128});
    // Adds one above them.
    logits[4999] = 3;
    expectGreatest(logits, {1, 2, 127, 128});
  }
}

TEST_F(SampleTest, CandidatesAmongNumbersOfEveryKind) {
  using Limits = std::numeric_limits<float>;
  const float numbers[] = {-infinity,
                           Limits::lowest(),
                           -1.0f,
                           -Limits::min(),
                           -Limits::min() / 2,
                           -Limits::denorm_min(),
                           -0.0f,
                           0.0f,
                           Limits::denorm_min(),
                           Limits::min() / 2,
                           Limits::min(),
                           1.0f,
                           Limits::max()};
  // Takes the lowest number and then one more at a time, always with the lower
  // ones only.
  for (size_t kinds = 2; kinds <= std::size(numbers); ++kinds) {
    RowLogits logits(2100);
    for (float &each : logits)
      each = numbers[random() % kinds];
    logits[1000] = numbers[kinds - 1];
    expectGreatest(logits, {1, 128});
  }
  // Few tokens are allowed.
  RowLogits logits(2500, -infinity);
  for (size_t token : {2499, 3, 77, 2048})
    logits[token] = -float(token);
  expectGreatest(logits, {1, 3, 4, 5, 128});
}

/// Outputs are not touched if their token is invalid, or if no other token is
/// requested.
TEST_F(SampleTest, OthersAreLeftAlone) {
  RowLogits logits = randomLogits(3000);
  for (auto kind : {OutputRequest::Logits, OutputRequest::Greatest}) {
    Sampled sampled = run({logits}, {{.kind = kind, .temperature = 1}});
    EXPECT_EQ(sampled.tokens[0], tokenOf(logits));
    EXPECT_TRUE(sampled.candidates[0].empty());
  }
  for (float broken : {std::numeric_limits<float>::quiet_NaN(), infinity})
    for (auto kind : {OutputRequest::Drawn, OutputRequest::Candidates}) {
      RowLogits bad = logits;
      bad[2100] = broken;
      Sampled sampled =
          run({bad, logits},
              {{.kind = kind, .count = 5, .temperature = 1, .seed = 4},
               {.kind = kind, .count = 5, .temperature = 1}});
      EXPECT_EQ(sampled.tokens[0], ~2100);
      EXPECT_TRUE(sampled.candidates[0].empty());
      // The other output is drawn nevertheless.
      EXPECT_GE(sampled.tokens[1], 0);
      EXPECT_EQ(sampled.candidates[1].size(),
                kind == OutputRequest::Candidates ? 5u : 0u);
    }
}
