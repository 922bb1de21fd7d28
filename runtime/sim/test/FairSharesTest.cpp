//===- FairSharesTest.cpp - tenants under adversarial mixes ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs tenants that try to get more than their shares in every way the
// scheduler knows of, beside others and a bystander with short requests.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CachePages.h"
#include "runtime/sim/FaultScenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::HasSubstr;

namespace {

constexpr TenantNumber bystander = 100;
constexpr Time stepTime = milliseconds(1);

/// The mix of a seed. All steps take the same time, so rows of prompts are
/// cheap and nothing depends on how the head forms steps.
class Mix {
public:
  explicit Mix(uint64_t seed) : random(seed) {
    config.stages.assign(
        1, {.byRows = {stepTime}, .byOutputs = {}, .maxStretch = stepTime});
    config.placement = SimPlacement::None;
    config.links.assign(1, {});
    config.speculation.mode = SpeculationMode::Off;
    config.seed = seed;
    config.head.requests = random.between(2, 6);
    config.head.contextLength = 256;
    config.head.prefillRows = 64;
    config.head.sharesPrefixes = true; // so that turns cost little
    config.scheduler.fairQuantum = random.between(16, 64);
    config.checkShares = true;
    const int64_t tenants = random.between(1, 6);
    for (int64_t tenant = 0; tenant < tenants; ++tenant)
      addTenant(static_cast<TenantNumber>(tenant));
    for (int64_t i = 0; i < 20; ++i) {
      SimRequest request = newRequest(bystander, 8, 8);
      request.arrives = milliseconds(50 * i + 10);
      add(request);
    }
    setLimits(config);
  }

  SimulationConfig config;

  /// The longest time that the bystander waited for a first token.
  Time longestWait(const SimulationResult &result) const {
    Time longest{0};
    for (size_t i = 0; i < config.requests.size(); ++i)
      if (config.requests[i].asked.spec.tenant == bystander)
        longest = std::max(longest, result.requests[i].firstToken -
                                        result.requests[i].submitted);
    return longest;
  }
  /// A newcomer waits until one of those that run has had its turn.
  Time maxWait() const {
    return stepTime * (2 * config.scheduler.fairQuantum + 40);
  }

private:
  SimRequest newRequest(TenantNumber tenant, int64_t promptTokens,
                        int64_t maxTokens) {
    SimRequest request;
    request.asked.spec.tenant = tenant;
    for (int64_t i = 0; i < promptTokens; ++i)
      request.asked.spec.prompt.push_back(
          static_cast<int32_t>(random.between(0, 1000)));
    request.asked.spec.maxTokens = maxTokens;
    return request;
  }
  void add(const SimRequest &request) { config.requests.push_back(request); }

  void addTenant(TenantNumber tenant) {
    const auto kind = random.between(0, 6);
    const TenantTerms terms = {.weight = random.chance(0.7) ? 1.0 : 2.5,
                               .maxRunning = kind == 5 ? 1 : 0};
    const int64_t count = random.between(1, 40);
    for (int64_t i = 0; i < count; ++i) {
      SimRequest request = newRequest(tenant, 4, random.between(1, 20));
      request.arrives = random.upTo(milliseconds(kind == 6 ? 1000 : 5));
      if (kind == 0) // long ones
        request.asked.spec.maxTokens = 250;
      if (kind == 1) // as urgent as can be
        request.asked.priority = -1000;
      if (kind == 2) // prompts without answers
        request = newRequest(tenant, random.between(100, 250), 1);
      if (kind == 3) { // users who leave
        request.asked.spec.maxTokens = 200;
        request.cancelled = request.arrives + random.upTo(milliseconds(30));
      }
      if (kind == 4) // choices of one prompt, at once
        request.arrives = Time(0);
      request.asked.terms = terms;
      add(request);
    }
  }

  FaultRandom random;
};

TEST(FairSharesTest, NobodyGetsMoreThanWhoWaitsInAdversarialMixes) {
  double worst = 0;
  int64_t preemptions = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Mix mix(seed);
    Expected<SimulationResult> result = simulate(mix.config);
    ASSERT_TRUE(result) << seed << ": " << result.status().message();
    worst = std::max(worst, result->worstShare);
    preemptions += result->preemptions;
    EXPECT_LE(mix.longestWait(*result), mix.maxWait()) << seed;
  }
  EXPECT_GT(worst, 0.5) << "the bound is not close";
  EXPECT_GT(preemptions, 1000);
}

/// If the scheduler does not know the tenants, both checks fail.
TEST(FairSharesTest, TheChecksFindASchedulerThatIsUnfair) {
  int64_t found = 0, late = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Mix mix(seed);
    mix.config.faults.forgottenTenants = 1;
    Expected<SimulationResult> result = simulate(mix.config);
    if (!result)
      EXPECT_THAT(result.status().message(), HasSubstr("units of work more"));
    found += !result;
    mix.config.checkShares = false;
    result = simulate(mix.config);
    ASSERT_TRUE(result) << result.status().message();
    late += mix.longestWait(*result) > mix.maxWait();
  }
  EXPECT_GT(found, 20);
  EXPECT_GT(late, 20);
}

/// In a cache that has no room for the requests of all tenants, turns make them
/// lose their pages; yet about as much is computed again as anew, at most. It
/// would be over three times as much if requests that have lost their pages
/// did not go on for a while before they lose them again.
TEST(FairSharesTest, TurnsInASmallCacheCostAboutTheWorkAtMost) {
  int64_t preemptions = 0;
  double worst = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Mix mix(seed);
    SimulationConfig &config = mix.config;
    config.checkShares = false;
    config.head.prefillRows = 16;
    config.head.sharesPrefixes = seed % 2 == 0;
    config.head.pages = CachePages::pagesFor(config.head.contextLength) +
                        static_cast<int64_t>(seed % 7);
    config.scheduler.fairQuantum = 16;
    setLimits(config);
    Expected<SimulationResult> result = simulate(config);
    ASSERT_TRUE(result) << seed << ": " << result.status().message();
    double once = 0;
    for (size_t i = 0; i < config.requests.size(); ++i)
      once += double(config.requests[i].asked.spec.prompt.size() +
                     result->requests[i].tokens.size());
    const double all = double(result->workers.at(0).core.rows);
    worst = std::max(worst, all / once);
    preemptions += result->preemptions;
  }
  EXPECT_LT(worst, 2.5);
  EXPECT_GT(preemptions, 1000);
}

/// Whatever else happens to a run.
TEST(FairSharesTest, SharesHoldInRandomScenarios) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SimulationConfig config = makeScenario(seed, seed % 2 == 0);
    config.head.pages = 0;
    config.head.sharesPrefixes = false; // nobody waits for another's prefix
    config.scheduler.fairQuantum = 1 + int64_t(seed % 40);
    config.checkShares = true;
    setLimits(config);
    Expected<SimulationResult> result = simulate(config);
    ASSERT_TRUE(result) << seed << ": " << result.status().message();
  }
}

} // namespace
