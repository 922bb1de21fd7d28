//===- HeadState.h - what the head keeps ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the files Head*.cpp. Head.cpp verifies and ends requests;
// HeadAdmission.cpp admits them and sees that they have pages; HeadLaunch.cpp
// decides which certain rows and prompts leave for the first stage, and
// HeadGuesses.cpp which guesses; HeadDraft.cpp talks to the draft. Each event
// changes requests and sets what is due; pump() then turns what is due into
// commands, in one order whatever the event was.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEADSTATE_H
#define SLUICE_RUNTIME_CORE_HEADSTATE_H

#include "runtime/core/GuessTree.h"
#include "runtime/core/Head.h"
#include "runtime/core/PromptTimes.h"
#include "runtime/core/SlotClock.h"

namespace sluice {

/// Guesses of a request that wait for a slot, at most; the least likely go.
constexpr int64_t maxWaitingGuesses = 256;

/// Prompts get so many rows of a step however many requests generate, where no
/// latency is asked for.
constexpr int64_t minPromptRows = 16;
/// Prompts may make a step of the others longer by one part in so many,
/// whatever latency is asked for.
constexpr int64_t promptShare = 4;

/// A token that is certain, and its row.
struct PathEntry {
  NodeId node = 0;
  int32_t token = 0;
};

/// A slot in the head's table, and the request in it. What each token needs
/// lies close together, from the limits at the end of `spec` on: a step goes
/// over all requests, which do not fit the nearest cache.
struct HeadRequest {
  explicit HeadRequest(int64_t treeCapacity) : tree(treeCapacity) {}

  SpeculationCounters counters;
  NodeId lastPathEnd = noNode; ///< the last confirmed node of the one before
  RequestSpec spec;

  bool active = false;
  bool launchDue = false;    ///< the root is among certainDue
  bool cancelDue = false;    ///< rows in flight have died
  bool travelsAlone = false; ///< the last certain row: nothing else in flight
  bool guessSent = false;    ///< since the last confirmed row
  bool probeDue = false;
  bool treeFull = false; ///< the node limit has been met
  bool openAtStages = false;
  bool openAtDraft = false;
  bool closeOwed = false; ///< to the draft, of the request before as well
  int32_t epoch = 0;
  NodeId firstNode = 0;
  std::vector<PathEntry> path; ///< [position]: the prompt, what was confirmed
  NodeId nextNode = 0;         ///< goes on from request to request
  int64_t emitted = 0;         ///< tokens given to the user
  NodeId lastCertain = noNode; ///< certain row that left last
  Time launchedAt{0};          ///< of it

  // At the first stage. Known rows are those of `path` at admission: the
  // prompt, and what the request had generated before.
  int64_t knownRows = 0;
  int64_t knownSent = 0;   ///< of them, those that have left or were shared
  int64_t awaitedRows = 0; ///< of them, those that another waits for
  uint64_t markedIn = 0;   ///< the last frame with its mark, counted from 1
  GuessTree tree;          ///< its root is the path's last row

  int64_t drafted = 0; ///< path entries that the draft has computed
  int64_t burst = 0;   ///< guesses since none was in flight
  double weight = 0;   ///< in the gathering slot

  // Sync mode.
  int64_t levels = 0;      ///< of the tree that the draft has answered
  int64_t outstanding = 0; ///< results of the batch under way

  /// Known rows to send until somebody can go on: another that waits for some
  /// of them, or the request itself.
  int64_t rowsToSend() const {
    return (awaitedRows > knownSent ? awaitedRows : knownRows) - knownSent;
  }
  /// Whether all of the known rows have left.
  bool promptSent() const { return knownSent == knownRows; }
  /// Whether it waits for its prompt's result, or still for its rows to leave.
  bool inPrompt() const {
    return static_cast<int64_t>(path.size()) == knownRows;
  }
  /// Whether the user has all that was asked for.
  bool isDone() const {
    return emitted == spec.maxTokens && spec.unscored() == 0;
  }
  /// Whether the root was launched and its result is to come.
  bool rootInFlight() const { return !tree.empty() && tree.root().launched; }
};

/// A row in the frame that is with the draft.
struct AskedRow {
  RequestId request = 0;
  NodeId node = 0;
  int32_t position = 0;
  bool certain = false;
};

/// A frame with certain rows, of prompts or behind them.
struct RowFrame {
  uint64_t step = 0;
  bool hasPrompt = false;
  bool hasOthers = false;
  int64_t rows = 0;
  int64_t positions = 0; ///< of all its rows, added up
};

/// What a step has so far, and what rows of prompts it may have besides.
struct PromptStep {
  int64_t rows = 0;
  int64_t positions = 0;        ///< of all its rows, added up
  int64_t room = 0;             ///< for rows of prompts
  int64_t outputs = 0;          ///< for those of them that want an output
  std::optional<Time> max = {}; ///< that it may take
};

/// Rows of a prompt in a frame, but for those that end it.
struct PromptChunk {
  uint64_t step = 0;
  RequestId request = 0;
  NodeId last = noNode;
  int64_t end = 0; ///< the position behind it
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
  /// At the latest; no time: never.
  void wakeAt(std::optional<Time> time);
  /// Whether a row can have a number, and giving it one.
  bool canNumber(const HeadRequest &request, const GuessNode &node) const;
  static void number(HeadRequest &request, GuessNode &node);
  EpochMark markOf(const HeadRequest &request) const;
  /// Guesses of this depth below the request's root, or deeper, are of no use:
  /// the text ends before.
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
  std::vector<int32_t> known;     ///< work of knownOf()
  std::vector<RequestId> leaving; ///< work of fitsWithout()
  uint64_t chances = 0;           ///< as Head's

  int64_t active = 0;       ///< requests
  int64_t generating = 0;   ///< of them, those whose prompts have left
  int64_t generatingAt = 0; ///< positions of these, added up
  std::vector<RequestId>
      prefilling; ///< with known rows to send, by queue priority
  std::vector<RequestId> certainDue; ///< whose roots are to leave
  uint64_t framesSent = 0;           ///< to the first stage
  uint64_t framesGone = 0; ///< of them, those known to have left the last
  std::vector<RowFrame> rowFrames; ///< that have not gone, the oldest first
  std::vector<PromptChunk> chunks; ///< likewise, where prefixes are shared
  Time newsAt{0};                  ///< when rows left or answers came last
  Time quietFor{0};                ///< after which an empty frame follows
  uint64_t framesBefore = 0;       ///< framesSent, as followUp() has left it
  uint64_t draftFrames = 0;        ///< to the draft
  bool draftBusy = false;
  std::vector<AskedRow> asked; ///< in the frame that the draft has
  bool rowsDied = false;       ///< in flight, since sendCancels()
  SlotLoad load;               ///< of the slot to join, by countSlots()
  int64_t runningLiving = 0;   ///< rows in the running slot, likewise
  int64_t guessesAlive = 0;    ///< in flight, likewise
  struct SlotRows {
    uint64_t slot = 0;
    int64_t rows = 0;
  };
  std::vector<SlotRows> slotsSeen; ///< work of countSlots()
  std::optional<Verdict> lastVerdict;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEADSTATE_H
