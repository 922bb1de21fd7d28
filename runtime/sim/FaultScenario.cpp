//===- FaultScenario.cpp - random small runs with faults ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/FaultScenario.h"

#include <sstream>

using namespace sluice;
using namespace sluice::sim;

using std::chrono::microseconds;

/// Returns times that grow with the rows by a random share, and few
/// checkpoints.
static StepModel randomModel(FaultRandom &random) {
  StepModel model;
  Time one = Time(microseconds(10)) + random.upTo(microseconds(200));
  double share = random.uniform() * random.uniform();
  for (int rows = 0; rows < 2; ++rows)
    model.byRows.push_back(
        one + Time(static_cast<int64_t>(static_cast<double>(one.count()) *
                                        share * rows)));
  if (random.chance(0.8))
    model.maxStretch = one / random.between(1, 8);
  return model;
}

static std::vector<LinkTimes> randomLinks(int64_t ranks, FaultRandom &random) {
  std::vector<LinkTimes> links(static_cast<size_t>(ranks * ranks));
  for (LinkTimes &link : links) {
    link.latency = random.upTo(microseconds(300));
    link.bytesPerSecond =
        random.chance(0.3) ? 0
                           : 1e6 * static_cast<double>(random.between(1, 1000));
  }
  return links;
}

static void addSpeculation(SimulationConfig &config, FaultRandom &random) {
  SpeculationOptions &options = config.speculation;
  bool hasDraft = random.chance(0.9);
  config.placement = !hasDraft             ? SimPlacement::None
                     : random.chance(0.75) ? SimPlacement::Own
                                           : SimPlacement::Head;
  options.mode = !hasDraft || random.chance(0.05) ? SpeculationMode::Off
                 : random.chance(0.25)            ? SpeculationMode::Sync
                                                  : SpeculationMode::Async;
  options.depth = random.between(1, 12);
  options.width = random.between(1, random.chance(0.5) ? 3 : 8);
  options.nodes = random.between(1, 32);
  options.splitRows = random.chance(0.5);
  options.cancel = !random.chance(0.15);
  options.continuous = !random.chance(0.15);
  options.draftRows = random.between(1, 12);
  config.acceptance = random.chance(0.2)
                          ? static_cast<double>(random.between(0, 1))
                          : random.uniform();
  config.confidence = random.chance(0.7) ? OracleConfidence::Calibrated
                                         : OracleConfidence::Uninformative;
}

/// Chooses the limits for which many requests compete.
static void addServing(SimulationConfig &config, FaultRandom &random) {
  HeadLimits &head = config.head;
  head.sharesPrefixes = random.chance(0.6);
  // Only whole pages of prompts are shared.
  if (head.sharesPrefixes && random.chance(0.5))
    head.contextLength = random.between(3, 8) * CachePages::pageTokens;
  int64_t max = head.requests * CachePages::pagesFor(head.contextLength);
  if (random.chance(0.6))
    head.pages = random.between(1, max);
  if (random.chance(0.5))
    head.interTokenLatency = random.upTo(microseconds(4000));
}

/// Returns a prompt that has a prefix with others, sometimes of whole pages.
static std::vector<int32_t> randomPrompt(const SimulationConfig &config,
                                         FaultRandom &random) {
  std::vector<int32_t> prompt;
  auto max = random.chance(0.5) ? config.head.contextLength / 2
                                : config.head.contextLength * 3 / 4;
  if (config.head.pages > 0)
    max = std::min(max, config.head.pages * CachePages::pageTokens);
  int64_t length = random.between(1, std::max<int64_t>(1, max));
  int64_t shared = random.chance(0.5)   ? length
                   : random.chance(0.5) ? random.between(0, length)
                                        : 0;
  for (int64_t i = 0; i < length; ++i)
    prompt.push_back(static_cast<int32_t>(
        i < shared ? i % config.vocabulary
                   : random.between(0, config.vocabulary - 1)));
  return prompt;
}

/// Makes the request arrive together with the one before it, as choices of one
/// prompt do.
static void likeTheOneBefore(SimRequest &request, const SimRequest &before) {
  request.asked.spec.prompt = before.asked.spec.prompt;
  request.asked.spec.prefixScope = before.asked.spec.prefixScope;
  request.asked.priority = before.asked.priority;
  request.asked.spec.tenant = before.asked.spec.tenant;
  request.asked.terms = before.asked.terms;
  Time later = before.arrives - request.arrives;
  request.arrives += later;
  if (request.asked.deadline)
    *request.asked.deadline += later;
  if (request.cancelled)
    *request.cancelled += later;
}

static SimRequest randomRequest(const SimulationConfig &config,
                                FaultRandom &random) {
  SimRequest request;
  request.asked.spec.prompt = randomPrompt(config, random);
  request.asked.spec.maxTokens =
      random.chance(0.1) ? -1 : random.between(0, config.head.contextLength);
  if (random.chance(0.3))
    request.asked.spec.stopTokens.push_back(
        static_cast<int32_t>(random.between(0, config.vocabulary - 1)));
  request.arrives = random.upTo(microseconds(5000));
  if (random.chance(0.2))
    request.asked.deadline = request.arrives + random.upTo(microseconds(20000));
  request.asked.priority = static_cast<int32_t>(random.between(-1, 1));
  // The second tenant has a bound, the third a larger share.
  request.asked.spec.tenant = static_cast<TenantNumber>(random.between(0, 2));
  request.asked.terms.maxRunning = request.asked.spec.tenant == 1 ? 2 : 0;
  request.asked.terms.weight = request.asked.spec.tenant == 2 ? 3 : 1;
  request.asked.spec.prefixScope = random.chance(0.2) ? 1 : 0;
  if (random.chance(0.25))
    request.cancelled = request.arrives + random.upTo(microseconds(8000));
  return request;
}

static FaultRates randomFaults(FaultRandom &random) {
  // Often only one kind of fault, at a rate at which it matters.
  auto rate = [&random] {
    return random.chance(0.4) ? 0 : random.uniform() * random.uniform();
  };
  FaultRates faults;
  faults.delayedMessages = rate();
  faults.messageDelay = microseconds(random.between(1, 3000));
  faults.slowSteps = rate();
  faults.slowFactor = 1 + 9 * random.uniform();
  faults.lostCancels = random.chance(0.1) ? 1 : rate();
  faults.repeatedCancels = rate();
  faults.lateCancels = rate();
  faults.cancelDelay = microseconds(random.between(1, 20000));
  return faults;
}

/// Adds one or two of these: a link that loses or repeats messages, ranks that
/// die. It has a random stream of its own, so that everything else is as
/// without.
static void addBreaks(SimulationConfig &config, uint64_t seed) {
  constexpr uint64_t ownStream = 0x627265616b73;
  FaultRandom random(seed ^ ownStream);
  FaultRates &faults = config.faults;
  auto kind = random.between(0, 3);
  // Rare enough that some runs get far.
  auto rate = [&random] { return random.chance(0.3) ? 0.3 : 0.01; };
  if (kind == 0 || kind == 3)
    faults.lostMessages = rate();
  if (kind == 1)
    faults.repeatedMessages = rate();
  if (kind == 2 || kind == 3)
    faults.crashes = 0.3;
  faults.crashesUntil = microseconds(random.between(1, 20000));
  config.silence = microseconds(random.between(1, 50000));
  config.head.quiet = microseconds(random.between(500, 20000));
}

SimulationConfig sim::makeScenario(uint64_t seed, bool faults, bool breaks) {
  FaultRandom random(seed);
  SimulationConfig config;
  int64_t stages = random.between(1, 4);
  for (int64_t s = 0; s < stages; ++s)
    config.stages.push_back(randomModel(random));
  config.draftModel = randomModel(random);
  config.headDecision = random.upTo(microseconds(20));
  config.wakeUp = random.upTo(microseconds(100));
  config.rowBytes = random.between(1, 4096);
  config.vocabulary = static_cast<int32_t>(random.between(2, 200));
  config.head.requests = random.chance(0.4) ? 1 : random.between(2, 6);
  config.head.contextLength =
      random.chance(0.5) ? random.between(64, 256) : random.between(4, 80);
  config.head.prefillRows =
      random.chance(0.7) ? random.between(1, 40) : random.between(40, 120);
  addServing(config, random);
  config.checkCaches = true;
  config.seed = seed;
  config.faultSeed = seed;
  addSpeculation(config, random);
  setLimits(config);
  config.stageLimits.fuse = !random.chance(0.15);
  config.links = randomLinks(config.ranks(), random);
  config.scheduler.priorityStep = random.upTo(microseconds(3000));
  int64_t requests = random.between(1, 2 * config.head.requests + 1);
  for (int64_t i = 0; i < requests; ++i) {
    config.requests.push_back(randomRequest(config, random));
    if (i > 0 && random.chance(0.3))
      likeTheOneBefore(config.requests.back(),
                       config.requests[static_cast<size_t>(i - 1)]);
  }
  if (faults)
    config.faults = randomFaults(random);
  if (breaks)
    addBreaks(config, seed);
  config.maxEvents = 1'000'000;
  return config;
}

std::string sim::describeScenario(const SimulationConfig &config) {
  constexpr const char *modes[] = {"off", "sync", "async"};
  const SpeculationOptions &options = config.speculation;
  std::ostringstream out;
  out << config.stages.size() << " stages, "
      << modes[static_cast<size_t>(options.mode)] << " depth " << options.depth
      << " width " << options.width << " nodes " << options.nodes
      << " acceptance " << config.acceptance << ", " << config.requests.size()
      << " requests in " << config.head.requests << " slots, context "
      << config.head.contextLength << ", chunks of " << config.head.prefillRows
      << ", " << config.head.pages << " pages"
      << (config.head.sharesPrefixes ? ", shared prefixes" : "");
  if (options.mode == SpeculationMode::Sync && options.splitRows)
    out << ", split rows";
  if (!options.cancel)
    out << ", no cancels";
  if (!options.continuous)
    out << ", not continuous";
  if (!config.stageLimits.fuse)
    out << ", no fusion";
  return out.str();
}
