//===- SimOptions.cpp - the options of sluice-sim -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimOptions.h"

#include "runtime/base/HelpFormatter.h"
#include "runtime/base/OptionChecks.h"

#include <algorithm>
#include <map>

using namespace sluice;
using namespace sluice::simulator;

namespace {

/// The highest acceptance that a pipeline is planned for, since the planning
/// model needs a probability below 1. A draft that is always right is planned
/// as one that nearly is.
constexpr double maxAcceptance = 0.999;

/// Adds an option whose value is one of the names.
template <typename T, typename Take>
CLI::Option *addChoice(CLI::App &app, const std::string &name,
                       const std::map<std::string, T> &choices, Take take,
                       const std::string &help) {
  std::string list;
  for (const auto &[choice, value] : choices)
    list += (list.empty() ? "" : "|") + choice;
  return app
      .add_option_function<std::string>(
          name, [choices, take](const std::string &c) { take(choices.at(c)); },
          help)
      ->type_name(list)
      ->check(CLI::IsMember(choices).description(""));
}

CLI::Option *addNumber(CLI::App &app, const std::string &name, int64_t &value,
                       int64_t low, int64_t high, const std::string &help) {
  return app.add_option(name, value, help)
      ->type_name("N")
      ->check(within(low, high))
      ->capture_default_str();
}

std::optional<LineSteps> readSteps(const std::string &text) {
  LineSteps steps;
  std::string base = text.substr(0, text.find(':'));
  std::string perRow =
      base.size() < text.size() ? text.substr(base.size() + 1) : "0";
  bool read = CLI::detail::lexical_cast(base, steps.baseMicros) &&
              CLI::detail::lexical_cast(perRow, steps.perRowMicros);
  constexpr double max = 1e9;
  if (!read || !(steps.baseMicros > 0 && steps.baseMicros <= max) ||
      !(steps.perRowMicros >= 0 && steps.perRowMicros <= max))
    return std::nullopt;
  return steps;
}

void addModel(CLI::App &app, SimOptions &options) {
  app.add_option("cluster", options.clusterFile,
                 "A description of the machines (docs/Clusters.md)")
      ->type_name("CLUSTER.yaml");
  app.add_option_function<std::string>(
         "--step-us",
         [&](const std::string &text) {
           options.steps = readSteps(text);
           if (!options.steps)
             throw CLI::ValidationError(
                 "--step-us", text + " is not BASE or BASE:PERROW, in us");
         },
         "Instead of machines: what a step of one row takes at each stage, and "
         "each more row; no draft, and links that take no time")
      ->type_name("BASE[:PERROW]");
  app.add_option("--model", options.plan.target,
                 "The described target; default: the file's")
      ->type_name("NAME");
  app.add_option("--draft", options.plan.draft,
                 "The described draft; default: the file's")
      ->type_name("NAME");
  addNumber(app, "--stages", options.plan.stages, 0, cluster::maxStages,
            "Stages; 0: as many as are best");
  addChoice<sim::SimPlacement>(
      app, "--draft-placement",
      {{"own", sim::SimPlacement::Own},
       {"head", sim::SimPlacement::Head},
       {"none", sim::SimPlacement::None}},
      [&](sim::SimPlacement place) { options.plan.placement = place; },
      "Where the draft is: on a rank with the head, beside the first stage, "
      "or nowhere; default: own");
  app.add_option("--outputs", options.outputs,
                 "What the target says, so that the draft guesses as that of "
                 "--oracle-acceptance does with the same seed, behind a prompt "
                 "of ones; default: anything")
      ->type_name("IDS")
      ->delimiter(',')
      ->check(within<int32_t>(0, 31999));
  addNumber(app, "--context", options.plan.context, 2, 1 << 20,
            "Positions that each row attends to, for times and memory");
  addNumber(app, "--prefill-rows", options.plan.prefillRows, 1, 1 << 16,
            "Prompt rows of a step, where the latency allows so many");
  app.add_option_function<int64_t>(
         "--max-latency-us",
         [&](int64_t micros) {
           options.plan.maxLatency = std::chrono::microseconds(micros);
         },
         "Longest stretch of a step without a checkpoint; 0: no checkpoints; "
         "default: 500")
      ->type_name("N")
      ->check(within<int64_t>(0, 1 << 30));
  addChoice<int64_t>(
      app, "--activations", {{"f32", 4}, {"bf16", 2}, {"f16", 2}},
      [&](int64_t bytes) { options.plan.activationBytes = bytes; },
      "How rows travel between stages; default: f32");
  app.add_option("--head-us", options.headMicros,
                 "What each event costs the head's thread")
      ->type_name("X")
      ->check(within(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--wake-us", options.wakeMicros,
                 "How long an idle stage takes to take up what has come")
      ->type_name("X")
      ->check(within(0.0, 1e6))
      ->capture_default_str();
}

void addLength(CLI::App &app, const char *name,
               bench::LengthDistribution &length, const char *help) {
  app.add_option_function<std::string>(
         name,
         [&length, name](const std::string &text) {
           Expected<bench::LengthDistribution> read =
               bench::LengthDistribution::parse(text);
           if (!read)
             throw CLI::ValidationError(
                 std::string(name).substr(0, std::string(name).find(',')),
                 read.status().message());
           length = read.take();
         },
         help)
      ->type_name("LENGTH");
}

/// Adds the options of a load, which are those of an executable's `bench`.
void addLoad(CLI::App &app, SimOptions &options) {
  const char *group = "Requests";
  bench::WorkloadOptions &load = options.load;
  load.requests = 1;
  load.promptTokens = bench::LengthDistribution(64);
  auto number = [&](const char *name, auto &value, auto low, auto high,
                    const char *help) {
    return app.add_option(name, value, help)
        ->type_name("N")
        ->check(within(low, high))
        ->group(group);
  };
  number("--requests", load.requests, int64_t(1), int64_t(1'000'000),
         "How many; of a trace file at most so many");
  addChoice<bench::Arrival>(
      app, "--arrival",
      {{"all", bench::Arrival::All},
       {"fixed", bench::Arrival::Fixed},
       {"poisson", bench::Arrival::Poisson},
       {"gamma", bench::Arrival::Gamma}},
      [&](bench::Arrival arrival) { load.arrival = arrival; },
      "all: at once, the default; fixed: one each interval; poisson, gamma: "
      "after such intervals")
      ->group(group);
  number("--mean-interval-ms", load.meanIntervalMs, 1e-3, 1e9,
         "Mean time between two arrivals");
  number("--burstiness", load.burstiness, 1e-2, 1e6,
         "With gamma: the intervals' shape");
  app.add_option("--trace-file", load.traceFile,
                 "Arrivals and lengths from a file")
      ->type_name("FILE")
      ->check(notEmpty())
      ->group(group);
  const char *forms =
      "N, uniform:LOW:HIGH, normal:MEAN:SD, lognormal:MEAN:SD or choice:A,B,C";
  addLength(app, "--prompt-tokens", load.promptTokens, forms);
  addLength(app, "--tokens,--output-tokens", load.outputTokens,
            "Tokens to generate, the same");
  number(
      "--shared-prefix-tokens", options.prompt.sharedPrefixTokens, int64_t(0),
      bench::maxLength,
      "So many of each prompt's tokens, the first ones, are the same in all");
  number("--max-num-seqs", options.slots, int64_t(1), int64_t(4096),
         "Requests that run at a time; the others wait")
      ->capture_default_str();
  number("--cache-pages", options.cachePages, int64_t(0), int64_t(1) << 24,
         "Pages of each stage's cache; 0: as many as the requests can need");
  number("--max-itl-ms", options.maxItlMs, 0.0, 1e6,
         "Between two tokens, as far as prompts can be kept short; 0: any");
  app.add_flag_callback(
         "--no-reorder", [&] { options.reorders = false; },
         "Rows of requests that have ended stay in the step as long as a later "
         "one runs")
      ->group(group);
}

void addSpeculation(CLI::App &app, SimOptions &options) {
  const char *group = "Speculation";
  SpeculationOptions &speculation = options.speculation;
  addChoice<SpeculationMode>(
      app, "--speculate",
      {{"off", SpeculationMode::Off},
       {"sync", SpeculationMode::Sync},
       {"async", SpeculationMode::Async}},
      [&](SpeculationMode mode) { options.mode = mode; },
      "off: the plain pipeline; sync: draft, verify as one batch, repeat; "
      "async: guesses in flight all the time; default: async where there is a "
      "draft")
      ->group(group);
  app.add_option("--acceptance", options.acceptance,
                 "How often the draft's first candidate is right; each "
                 "further one is with 0.385 of that of what remains")
      ->type_name("A")
      ->check(within(0.0, 1.0))
      ->capture_default_str()
      ->group(group);
  addChoice<OracleConfidence>(
      app, "--confidence",
      {{"calibrated", OracleConfidence::Calibrated},
       {"uninformative", OracleConfidence::Uninformative}},
      [&](OracleConfidence kind) { options.confidence = kind; },
      "What the draft says of its candidates: the chance that they are right, "
      "or halves whatever they are; default: calibrated")
      ->group(group);
  auto number = [&](const char *name, int64_t &value, int64_t high,
                    const char *help) {
    addNumber(app, name, value, 1, high, help)->group(group);
  };
  number("--depth", speculation.depth, 1024,
         "Guesses on a path; sync: levels of each batch, default 4");
  number("--width", speculation.width, 64,
         "Candidates of a row; sync: guesses of a level, default 1");
  number("--nodes", speculation.nodes, 4096, "Guesses in flight");
  number("--draft-rows", speculation.draftRows, 64,
         "Rows that the draft computes at once");
  auto flag = [&](const char *name, auto set, const char *help) {
    app.add_flag_callback(name, set, help)->group(group);
  };
  flag(
      "--split-rows", [&] { speculation.splitRows = true; },
      "With sync: each row leaves as a frame of its own");
  flag(
      "--no-cancel", [&] { speculation.cancel = false; },
      "Do not tell stages what is dead");
  flag(
      "--no-continuous", [&] { speculation.continuous = false; },
      "Guess nothing new while results are outstanding");
  flag("--no-fuse", [&] { options.fuse = false; }, "One frame a step");
  flag("--no-tree", [&] { speculation.width = 1; }, "As --width 1");
}

void addScenarios(CLI::App &app, SimOptions &options) {
  const char *group = "Scenarios from seeds, without a cluster";
  app.add_flag("--faults", options.faults,
               "Delay messages, slow steps, and lose, delay and double cancels")
      ->group(group);
  app.add_flag("--breaks", options.breaks,
               "Lose and double other messages too, and let ranks die: every "
               "request must end, as an error if need be")
      ->group(group);
  app.add_option("--seeds", options.seeds,
                 "Run so many small scenarios, from --seed on; tokens must be "
                 "right and nothing held at the end in each")
      ->type_name("N")
      ->check(within<uint64_t>(1, uint64_t(1) << 40))
      ->group(group);
}

ExitNow usage(const std::string &message) {
  return wrongUsage(message, "sluice-sim");
}

/// Returns whether scenarios from seeds accept the option.
bool forScenarios(const std::string &name) {
  return name == "--faults" || name == "--breaks" || name == "--seeds" ||
         name == "--seed" || name == "--json" || name == "--trace";
}

/// Refuses options about speculation that contradict each other.
std::optional<ExitNow> checkSpeculation(const SimOptions &options,
                                        const CLI::App &app) {
  bool placed = options.plan.placement != sim::SimPlacement::None;
  if (!placed && options.mode && *options.mode != SpeculationMode::Off)
    return usage("--speculate needs a draft, --draft-placement is none");
  if (!placed && options.draftGiven)
    return usage("--draft names one, --draft-placement is none");
  if (options.speculation.splitRows && options.mode != SpeculationMode::Sync)
    return usage("--split-rows: only with --speculate sync");
  if (app.count("--width") > 0 && app.count("--no-tree") > 0)
    return usage("--width and --no-tree both say how wide guesses spread");
  return std::nullopt;
}

/// Checks the options for errors that the parser cannot find.
std::optional<ExitNow> check(const SimOptions &options, const CLI::App &app) {
  bool scenarios = options.faults || options.breaks || options.seeds;
  if (options.clusterFile.empty() && !scenarios && !options.steps)
    return usage("a cluster file is needed, or --seeds, --faults or --breaks");
  if (options.steps && (scenarios || !options.clusterFile.empty()))
    return usage("--step-us stands for a cluster file");
  if (!options.clusterFile.empty() && scenarios)
    return usage("--seeds, --faults and --breaks run scenarios of their own, "
                 "without a cluster");
  if (scenarios)
    for (const CLI::Option *option : app.get_options())
      if (option->count() > 0 && !forScenarios(option->get_name()))
        return usage(option->get_name() + ": scenarios choose that themselves");
  if (options.seeds && !options.traceFile.empty())
    return usage("--trace: of one run only, give --seed");
  for (const bench::BenchRequest &request : options.requests)
    if (request.promptTokens + request.outputTokens > options.plan.context + 1)
      return usage("--prompt-tokens and --tokens do not fit in --context " +
                   std::to_string(options.plan.context));
  if (!options.reorders && (!options.steps || options.plan.stages > 1))
    return usage("--no-reorder: only with --step-us and one stage");
  return checkSpeculation(options, app);
}

} // namespace

SimOptions simulator::parseOptions(int argc, char **argv,
                                   std::optional<ExitNow> &exit) {
  SimOptions options;
  CLI::App app("Runs the head and the stages of Sluice under virtual time: "
               "predicts a pipeline on described machines, or tries small ones "
               "with faults from seeds.",
               "sluice-sim");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "sluice-sim " SLUICE_VERSION);
  addModel(app, options);
  addLoad(app, options);
  addSpeculation(app, options);
  addScenarios(app, options);
  app.add_option("--seed", options.seed,
                 "Of the oracles; of the (first) scenario")
      ->type_name("N")
      ->check(seed())
      ->capture_default_str();
  app.add_option("--trace", options.traceFile,
                 "Write what every rank did, for Perfetto or chrome://tracing")
      ->type_name("FILE")
      ->check(notEmpty());
  app.add_flag("--json", options.json, "Write one JSON object");
  exit = parseArguments(app, argc, argv);
  if (exit)
    return options;
  options.draftGiven = app.count("--draft") > 0;
  if (options.steps)
    options.plan.placement = sim::SimPlacement::None;
  options.isLoad = app.count("--requests") > 0 || options.steps;
  options.load.seed = options.seed;
  Expected<bench::Workload> requests = bench::makeWorkload(options.load);
  if (!requests) {
    exit = usage(requests.status().message());
    return options;
  }
  options.requests = requests.take();
  bool sync = options.mode == SpeculationMode::Sync;
  if (sync && !app.count("--depth"))
    options.speculation.depth = syncDepth;
  if (sync && !app.count("--width"))
    options.speculation.width = syncWidth;
  if (options.mode == SpeculationMode::Off)
    options.plan.acceptance = 0;
  else
    options.plan.acceptance = std::min(options.acceptance, maxAcceptance);
  exit = check(options, app);
  return options;
}
