//===- PipelineModel.h - a simple pipeline for tests of the head ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A simple model of the stages, the draft and the links between them, for tests
// of the head: it has queues, times and the rule by which rows die, but no
// layers. The true next token is a hash of the path, so the head must give the
// same text whatever it does. The model also checks that a living row finds its
// parent wherever it arrives.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_PIPELINEMODEL_H
#define SLUICE_RUNTIME_CORE_TEST_PIPELINEMODEL_H

#include "runtime/core/Head.h"

#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>

namespace sluice::test {

struct PipelineModelOptions {
  int64_t stages = 8;
  /// Returns how long a step of `rows` rows takes.
  std::function<double(int64_t rows)> stepMillis;
  std::function<double(int64_t rows)> draftMillis;
  double linkMillis = 0.2;
  int64_t checkpoints = 40; ///< in each step
  /// Whether the draft and the first stage share a board.
  bool sharedRank = false;
  int32_t vocabulary = 1000;
  /// For the draft's first, second, ... candidate, the chance that it is right
  /// and the confidence that the draft states.
  std::vector<double> hits;
  std::vector<double> confidences;
  int32_t rightFrom = 0; ///< before this position the draft is always wrong
  uint64_t seed = 0;
  SpeculationOptions speculation; ///< the limits that are checked
  /// Whether times vary at random, cancels come late and twice, dead rows are
  /// found or not, and mailboxes are emptied in part.
  bool wild = false;
};

/// The outcome of a request.
struct ModelRequest {
  explicit ModelRequest(RequestSpec spec) : spec(std::move(spec)) {}

  RequestSpec spec;
  std::vector<int32_t> tokens;
  std::vector<FinishReason> finished;
  Time submitted{0}, firstToken{0}, lastToken{0};
  SpeculationCounters counters;
};

class PipelineModel {
public:
  PipelineModel(Head head, PipelineModelOptions options,
                const HeadLimits &limits);

  /// Submits the request at this time, or as soon as a slot is free.
  void submitAt(Time at, RequestSpec spec);
  /// Ends the request at this time on the user's behalf.
  void finishAt(Time at, size_t request);
  /// Runs until nothing is left to do.
  void run();

  const std::vector<ModelRequest> &requests() const { return all; }
  Head &theHead() { return head; }
  Time now() const { return clock; }
  /// Returns the text that the request must give under any schedule.
  std::vector<int32_t> truth(const RequestSpec &spec,
                             FinishReason &reason) const;
  /// Returns how many rows and frames are held anywhere.
  int64_t held() const;
  /// Returns the rules that were broken; empty if none.
  const std::vector<std::string> &broken() const { return failures; }
  int64_t maxFrames() const { return framesPeak; }

private:
  struct NodeInfo {
    NodeId parent = noNode;
    uint64_t hash = 0;
  };
  struct Board {
    NodeId confirmed = noNode;
    bool ended = false;
  };
  struct Worker {
    bool isDraft = false;
    std::deque<StepFrame> mailbox;
    std::vector<Board> board;                ///< [request]
    std::vector<std::vector<uint8_t>> store; ///< [request][node]
    std::vector<uint8_t> open;               ///< [request]
    bool busy = false;
    StepFrame step;
    int64_t startRows = 0;
    double remaining = 0; ///< the remaining part of the step's work
    double millis = 0;
    Time segment{0}, started{0};
    uint64_t generation = 0;
    Time lastOut{0};
  };
  struct Event {
    Time at;
    uint64_t number;
    std::function<void()> act;
    bool operator<(const Event &other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void at(Time when, std::function<void()> act);
  Time delay(double millis);
  double vary(double value);
  void fail(std::string what);
  void obey();
  void know(const StepFrame &frame);
  void know(const Row &row, bool isPrompt);
  void checkDraft(const Worker &draft);
  int32_t nextToken(uint64_t hash) const;
  bool alive(const Worker &worker, const Row &row) const;
  void publish(Worker &worker, const EpochMark &mark);
  void arrive(size_t worker, StepFrame frame);
  void begin(size_t worker);
  void admit(Worker &worker, StepFrame frame);
  void schedule(size_t worker);
  void checkpoint(size_t worker, uint64_t generation);
  void end(size_t worker, uint64_t generation);
  void answer(Worker &worker, StepFrame &frame, const StageTiming &timing);
  void guess(Worker &worker, StepFrame &frame, const StageTiming &timing);
  void trySubmit();

  Head head;
  PipelineModelOptions options;
  HeadLimits limits;
  std::mt19937_64 random;
  std::priority_queue<Event> events;
  uint64_t eventCount = 0;
  Time clock{0};
  std::vector<Worker> workers;              ///< the stages, then the draft
  std::vector<std::vector<NodeInfo>> nodes; ///< [request][node]
  std::vector<ModelRequest> all;
  std::deque<size_t> toSubmit;
  std::vector<size_t> inSlot; ///< [request id]: the index in `all`
  std::vector<std::string> failures;
  Time lastLaunch{0};
  std::optional<Time> wakeAt;
  int64_t framesPeak = 0, draftsOut = 0;
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_PIPELINEMODEL_H
