//===- HeadState.h - the state of the head --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the files Head*.cpp. Head.cpp verifies and ends requests.
// HeadAdmission.cpp admits requests and provides their pages. HeadLaunch.cpp
// decides which certain rows and prompts leave for the first stage,
// HeadGuesses.cpp which guesses do. HeadDraft.cpp talks to the draft. Each
// event changes requests and marks what is due; pump() then turns what is due
// into commands, in the same order for all events.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEADSTATE_H
#define SLUICE_RUNTIME_CORE_HEADSTATE_H

#include "runtime/core/GuessTree.h"
#include "runtime/core/Head.h"
#include "runtime/core/PromptTimes.h"
#include "runtime/core/SlotClock.h"

namespace sluice {

/// How many guesses of a request can wait for a slot; the least likely are
/// dropped.
constexpr int64_t maxWaitingGuesses = 256;

/// Prompts get at least so many rows of a step, however many requests generate,
/// if no inter-token latency is set.
constexpr int64_t minPromptRows = 16;
/// Prompts may lengthen a step of other requests by 1/promptShare of its time,
/// whatever inter-token latency is set.
constexpr int64_t promptShare = 4;

/// A confirmed token and the node of its row.
struct PathEntry {
  NodeId node = 0;
  int32_t token = 0;
};

/// A slot in the head's table, and the request in it. The fields that each
/// token needs lie close together, from the limits at the end of `spec` on,
/// because a step visits all requests and these do not fit the nearest cache.
struct HeadRequest {
  explicit HeadRequest(int64_t treeCapacity) : tree(treeCapacity) {}

  SpeculationCounters counters;
  /// The last confirmed node of the slot's last request.
  NodeId lastPathEnd = noNode;
  RequestSpec spec;

  bool active = false;
  bool launchDue = false; ///< the root is among certainDue
  bool cancelDue = false; ///< rows in flight have died
  /// The last certain row left with nothing else in flight.
  bool travelsAlone = false;
  bool guessSent = false; ///< since the last confirmed row
  bool probeDue = false;
  bool treeFull = false; ///< the node limit was reached
  bool openAtStages = false;
  bool openAtDraft = false;
  /// The draft must close this or the slot's last request.
  bool closeOwed = false;
  int32_t epoch = 0;
  NodeId firstNode = 0;
  std::vector<PathEntry> path; ///< [position]: prompt and confirmed tokens
  NodeId nextNode = 0;         ///< continues from request to request
  int64_t emitted = 0;         ///< tokens given to the user
  NodeId lastCertain = noNode; ///< the certain row that left last
  Time launchedAt{0};          ///< when that row left

  // State at the first stage. Known rows are the rows of `path` at admission:
  // the prompt, and what the request had generated before.
  int64_t knownRows = 0;
  int64_t knownSent = 0;   ///< of these, rows that have left or were shared
  int64_t awaitedRows = 0; ///< of these, rows that another request waits for
  /// The last frame with the request's mark, counted from 1.
  uint64_t markedIn = 0;
  GuessTree tree; ///< its root is the path's last row

  int64_t drafted = 0; ///< path entries that the draft has computed
  int64_t burst = 0;   ///< guesses sent since none was in flight
  double weight = 0;   ///< the request's part of SlotLoad::weight

  // Sync mode.
  int64_t levels = 0;      ///< levels of the tree that the draft has answered
  int64_t outstanding = 0; ///< results of the batch under way

  /// Returns how many known rows are to be sent until a request can go on:
  /// another request that waits for some of them, or this one.
  int64_t rowsToSend() const {
    return (awaitedRows > knownSent ? awaitedRows : knownRows) - knownSent;
  }
  /// Returns whether all known rows have left.
  bool promptSent() const { return knownSent == knownRows; }
  /// Returns whether the prompt's result is outstanding, or prompt rows have to
  /// leave.
  bool inPrompt() const {
    return static_cast<int64_t>(path.size()) == knownRows;
  }
  /// Returns whether the user has everything that the request asked for.
  bool isDone() const {
    return emitted == spec.maxTokens && spec.unscored() == 0;
  }
  /// Returns whether the root was launched and its result is outstanding.
  bool rootInFlight() const { return !tree.empty() && tree.root().launched; }
};

/// A row in the draft's present frame.
struct AskedRow {
  RequestId request = 0;
  NodeId node = 0;
  int32_t position = 0;
  bool certain = false;
};

/// A launched frame with certain rows, of prompts or after them.
struct RowFrame {
  uint64_t step = 0;
  bool hasPrompt = false;
  bool hasOthers = false;
  int64_t rows = 0;
  int64_t positions = 0; ///< the sum over all its rows
};

/// What a step contains so far, and what prompt rows it can still take.
struct PromptStep {
  int64_t rows = 0;
  int64_t positions = 0;        ///< the sum over all its rows
  int64_t room = 0;             ///< for prompt rows
  int64_t outputs = 0;          ///< for prompt rows that want an output
  std::optional<Time> max = {}; ///< the longest time that the step may take
};

/// Prompt rows in a frame, without rows that end their prompt.
struct PromptChunk {
  uint64_t step = 0;
  RequestId request = 0;
  NodeId last = noNode;
  int64_t end = 0; ///< the position after the last row
};

struct Head::State {
  State(const HeadLimits &limits, const SpeculationOptions &options,
        PipelineTimes times, bool wantsNotes);

  // Head.cpp
  RequestId idOf(const HeadRequest &request) const;
  void finish(HeadRequest &request, FinishReason reason,
              std::string error = {});
  void release(HeadRequest &request);
  void count(HeadRequest &request, int64_t SpeculationCounters::*what,
             int64_t by = 1);
  std::vector<RowFrame>::iterator firstUnder(uint64_t frames);
  void measureSteps(const ResultFrame &frame);
  void noteGone(uint64_t frames);
  void prefetch(std::span<const ResultRow> results) const;
  void handleResult(const ResultRow &result, bool isLate, Time now);
  void score(HeadRequest &request, const ResultRow &result);
  void verify(HeadRequest &request, const ResultRow &result, Time now);
  void learn(HeadRequest &request, int32_t token);
  void confirm(HeadRequest &request, int32_t token);
  void pump(Time now);
  /// Sets the wake-up to `time` if that is earlier; does nothing without a
  /// time.
  void wakeAt(std::optional<Time> time);
  /// Returns whether the row has a number or can get one; number() gives it
  /// one.
  bool canNumber(const HeadRequest &request, const GuessNode &node) const;
  static void number(HeadRequest &request, GuessNode &node);
  EpochMark markOf(const HeadRequest &request) const;
  /// Returns the greatest depth below the root at which guesses are of use; the
  /// text ends before deeper ones.
  int64_t depthLimit(const HeadRequest &request) const;

  // HeadAdmission.cpp
  Status check(const RequestSpec &spec) const;
  Status checkFrame(const RequestSpec &spec) const;
  int64_t longestPath(const RequestSpec &spec) const;
  static int64_t maxPrefixPages(const RequestSpec &spec);
  bool canGrow(const HeadRequest &request) const;
  int64_t pagesToGrowInto(const RequestSpec &spec) const;
  KnownText knownOf(const RequestSpec &spec);
  std::optional<ComingPrefix> comingPrefix(const RequestSpec &spec);
  bool await(const ComingPrefix &prefix);
  bool admit(HeadRequest &request, RequestSpec &spec, int64_t claimed);
  void setQueuePriority(HeadRequest &request,
                        const QueuePriority &queuePriority);
  void addToPrefilling(const HeadRequest &request);
  void pinChunks();
  void pinPages(HeadRequest &request, int64_t computed, NodeId node);
  bool makeRoomFor(HeadRequest &request);
  HeadRequest *lastInQueueOrder();
  bool fitsWithout(const QueuePriority &queuePriority, const RequestSpec &spec,
                   const HeadClaims &claims);
  void preempt(HeadRequest &request);

  // HeadLaunch.cpp
  void sendCancels(Time now);
  void countSlots(uint64_t joined);
  void addToSlot(uint64_t slot);
  StepFrame &newFrame();
  Row rowOf(const HeadRequest &request, const GuessNode &node,
            bool certain) const;
  void sendCertainAndPrompts(Time now);
  StepFrame *sendCertain(Time now);
  bool nothingUnderWay();
  void giveSlot(StepFrame &frame, bool hasPrompt, Time now);
  bool hasRoom() const;
  bool waitsForOthers() const;
  bool promptsMayLeave(bool joinsFrame, Time now);
  PromptStep promptStep() const;
  int64_t rowsThatFit(const PromptStep &step, const HeadRequest &request) const;
  void addKnownRows(PromptStep &step, HeadRequest &request, StepFrame &frame,
                    int64_t max);
  HeadRequest *soonestDone(const PromptStep &step);
  StepFrame *sendPrompts(StepFrame *frame, Time now);
  StepFrame &frameToOpenIn(StepFrame *frame, RequestId id, Time now);
  int64_t sendKnownRows(HeadRequest &request, StepFrame &frame, int64_t max);
  OpenRequest openingOf(const HeadRequest &request) const;
  void noteNews(Time now);
  void followUp(Time now);

  // HeadGuesses.cpp
  bool mayGuess(const HeadRequest &request) const;
  GuessNode *bestWaiting(HeadRequest *&owner, bool tooDeep);
  void sendGuesses(Time now);
  void sendGuess(HeadRequest &request, GuessNode &guess, StepFrame &frame,
                 uint64_t slot, Time now);
  void finishGuesses(StepFrame &frame);
  void note(const HeadRequest &request, const GuessNode &node, Verdict verdict);
  void sendBatches(Time now);
  void sendBatch(HeadRequest &request, Time now);

  // HeadDraft.cpp
  bool wantsGuesses(const HeadRequest &request) const;
  void askDraft();
  void askForPath(HeadRequest &request, StepFrame &frame, int64_t &room);
  void askForFrontier(StepFrame &frame);
  void askForLevel(HeadRequest &request, StepFrame &frame);
  bool draftHasRoom() const;
  int64_t batchGuesses() const;
  bool guessesCanPay() const;
  void ask(HeadRequest &request, StepFrame &frame, const Row &row);
  bool levelIsSent(const HeadRequest &request) const;
  void endLevel(HeadRequest &request);
  void takeAnswer(const AskedRow &asked, const GuessRow *guesses);
  void addCandidates(HeadRequest &request, int32_t parent,
                     const GuessRow &guesses);

  HeadLimits limits;
  SpeculationOptions options;
  SpeculationPolicy policy;
  PromptTimes promptTimes;
  bool wantsNotes;
  std::vector<HeadRequest> requests;
  SpeculationCounters totals; ///< of all requests so far
  HeadCommands commands;
  SlotClock clock;

  PageLedger ledger;
  std::vector<int32_t> known;     ///< scratch memory of knownOf()
  std::vector<RequestId> leaving; ///< scratch memory of fitsWithout()
  uint64_t chances = 0;           ///< see Head::chances()

  int64_t active = 0;       ///< requests
  int64_t generating = 0;   ///< of these, requests whose prompts have left
  int64_t generatingAt = 0; ///< the sum of the positions of these requests
  /// Requests with known rows to send, sorted by queue priority.
  std::vector<RequestId> prefilling;
  std::vector<RequestId> certainDue; ///< requests whose roots are to leave
  uint64_t framesSent = 0;           ///< to the first stage
  /// Frames of these that are known to have left the last stage.
  uint64_t framesGone = 0;
  std::vector<RowFrame> rowFrames; ///< frames under way, the oldest first
  std::vector<PromptChunk> chunks; ///< likewise; only if prefixes are shared
  Time newsAt{0};                  ///< when rows left or answers came last
  Time quietFor{0}; ///< the time without news before an empty frame leaves
  uint64_t framesBefore = 0; ///< framesSent at the end of the last followUp()
  uint64_t draftFrames = 0;  ///< frames sent to the draft
  bool draftBusy = false;
  std::vector<AskedRow> asked; ///< the rows of the draft's present frame
  bool rowsDied = false; ///< whether rows died in flight since sendCancels()
  SlotLoad load;         ///< of the slot to join; set by countSlots()
  /// Living rows of the running slot; set by countSlots().
  int64_t runningLiving = 0;
  int64_t guessesAlive = 0; ///< guesses in flight; set by countSlots()
  struct SlotRows {
    uint64_t slot = 0;
    int64_t rows = 0;
  };
  std::vector<SlotRows> slotsSeen; ///< scratch memory of countSlots()
  std::optional<Verdict> lastVerdict;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEADSTATE_H
