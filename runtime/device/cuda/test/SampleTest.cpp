//===- SampleTest.cpp - drawing on the device, in the emulator ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tokens against those of the host's Sampler over all logits.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Sampler.h"
#include "runtime/device/cuda/kernels/SampleABI.h"
#include "runtime/device/cuda/test/LateInputs.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

using Logits = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Sampled {
  std::vector<int32_t> tokens;
  std::vector<std::vector<TokenLogit>> candidates;
};

class SampleTest : public testing::Test {
protected:
  /// As the program gives it: a NaN is the greatest, and the complement says
  /// that the greatest is no finite number.
  int32_t greatestOf(const Logits &logits) {
    auto best = std::ranges::find_if(logits, [](float x) { return x != x; });
    if (best == logits.end())
      best = std::ranges::max_element(logits);
    auto token = int32_t(best - logits.begin());
    return std::isfinite(*best) ? token : ~token;
  }

  /// Outputs of one step, numbered from the last request to the first.
  Sampled run(const std::vector<Logits> &outputs,
              const std::vector<OutputRequest> &requests) {
    const auto vocabulary = static_cast<int32_t>(outputs[0].size());
    const auto count = static_cast<int32_t>(outputs.size());
    DeviceArray<float> logits(outputs.size() * outputs[0].size());
    DeviceArray<OutputRequest> asked(requests);
    // There is room for one more.
    DeviceArray<int32_t> sources(outputs.size()), tokens(outputs.size() + 1),
        counts(std::vector{count});
    DeviceArray<TokenLogit> candidates((outputs.size() + 1) * mostCandidates);
    DeviceArray<uint64_t> found(outputs.size() *
                                size_t(sampleFoundWords(vocabulary)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::ranges::copy(outputs[i], logits.data() + i * outputs[i].size());
      sources[i] = count - 1 - int32_t(i);
      tokens[i] = greatestOf(outputs[i]);
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
    options.order = emulator::Order::Shuffled;
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
    Sampled sampled;
    for (size_t i = 0; i < outputs.size(); ++i) {
      sampled.tokens.push_back(tokens[i]);
      auto &chosen = sampled.candidates.emplace_back();
      for (int32_t j = 0; j < mostCandidates; ++j) {
        TokenLogit each = candidates[i * mostCandidates + size_t(j)];
        if (each.token < 0)
          break;
        chosen.push_back(each);
      }
    }
    return sampled;
  }

  /// Expects for each output what the host draws of all its logits.
  void expectHosts(const std::vector<Logits> &outputs,
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

  /// Spread or alike, with equal ones among them, and some forbidden.
  Logits randomLogits(int32_t vocabulary) {
    Logits logits =
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
      std::vector<Logits> outputs;
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
      std::vector<Logits> outputs;
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

/// Of equal logits the least tokens, whichever block has them; zeros are equal,
/// and what there is not is not made up.
TEST_F(SampleTest, CandidatesAreTheGreatest) {
  Logits logits(5000, -infinity);
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

/// Nothing is touched of an output whose token is none, or is wanted as it is.
TEST_F(SampleTest, OthersAreLeftAlone) {
  Logits logits = randomLogits(3000);
  for (auto kind : {OutputRequest::Logits, OutputRequest::Greatest}) {
    Sampled sampled = run({logits}, {{.kind = kind, .temperature = 1}});
    EXPECT_EQ(sampled.tokens[0], greatestOf(logits));
    EXPECT_TRUE(sampled.candidates[0].empty());
  }
  for (float broken : {std::numeric_limits<float>::quiet_NaN(), infinity})
    for (auto kind : {OutputRequest::Drawn, OutputRequest::Candidates}) {
      Logits bad = logits;
      bad[2100] = broken;
      Sampled sampled =
          run({bad, logits},
              {{.kind = kind, .count = 5, .temperature = 1, .seed = 4},
               {.kind = kind, .count = 5, .temperature = 1}});
      EXPECT_EQ(sampled.tokens[0], ~2100);
      EXPECT_TRUE(sampled.candidates[0].empty());
      // The other output is drawn all the same.
      EXPECT_GE(sampled.tokens[1], 0);
      EXPECT_EQ(sampled.candidates[1].size(),
                kind == OutputRequest::Candidates ? 5u : 0u);
    }
}
