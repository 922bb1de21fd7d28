//===- GrammarMasks.h - which tokens a request's grammar allows -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tokens may follow the rows of a step, where their requests have a
// grammar. A row's token is known when its step begins and its successor's
// choice is due at its end, so that masks are made on other threads while the
// layers are computed. Guesses are rows like others: each follows the text of
// its own path, and a guess that the grammar forbids is one that cannot come
// true. A request's grammar is begun with its first row, so that its prompt is
// computed meanwhile, and is not made at all if the request leaves before its
// turn; those that rows wait for come first.
//
//   masks.begin(stage);                  // the step is formed
//   ... compute it ...
//   auto mask = masks.maskOf(row);
//   if (!mask || masks.waitFor(*mask, now() + patience))
//     ... choose a token ...             // else later: others do not wait
//   masks.close(frame.closes);           // the step has ended
//
// The quick thread makes masks in turn. What takes it more than a few
// milliseconds it gives up, and the slow thread makes it, which gives way to
// all other threads and takes the request first that has cost it the least so
// far. A request that costs far too much is refused. So a grammar whose masks
// take long holds up its own request alone.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H
#define SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H

#include "runtime/core/Stage.h"
#include "runtime/grammar/GrammarState.h"
#include "runtime/pipeline/GrammarMaker.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace sluice::pipeline {

/// The text of a request with a grammar, as its masks see it. One thread works
/// on it at a time.
struct GrammarText {
  std::shared_ptr<WantedGrammar> grammar;
  std::deque<std::pair<NodeId, grammar::GrammarState>> states; ///< by node
  std::atomic<bool> isClosed{false}; ///< nobody waits for its masks
  // Of the mutex of GrammarMasks.
  size_t slowRows = 0;  ///< that are left to the slow thread
  size_t slowSteps = 0; ///< that it has taken for them so far
};

/// A mask that a row waits for.
struct RowMask {
  Row row;
  std::shared_ptr<GrammarText> text;
  std::vector<int32_t> output; ///< up to the row
  // Once it is made:
  std::vector<uint64_t> mask; ///< empty: any token may follow
  Status status;              ///< why none may
  bool isMade = false;        ///< of the mutex of GrammarMasks
};

/// Belongs to the stage's thread.
class GrammarMasks {
public:
  /// What a step waits for masks beyond its own time.
  static constexpr Time patience = std::chrono::milliseconds(1);

  struct Limits {
    /// Of one mask on the quick thread, about two milliseconds.
    size_t quickSteps = size_t{1} << 17;
    /// Of all masks of a request on the slow thread, some ten seconds.
    size_t slowSteps = size_t{1} << 29;
  };

  /// For so many slots.
  GrammarMasks(MakeTokenTrie makeTrie, int64_t requests);
  GrammarMasks(MakeTokenTrie makeTrie, int64_t requests, Limits limits);
  ~GrammarMasks();

  /// Starts the threads; once, before begin(). `onMade` is called on one of
  /// them whenever a mask has been made; it may be empty. Errors: there are
  /// none to be had.
  Status start(std::function<void()> onMade = {});

  /// Begins to make the masks of the step that has been formed.
  void begin(Stage &stage);

  /// The mask after a row, which is one of the step's and wants an output;
  /// null: any token may follow, as the request has no grammar.
  std::shared_ptr<RowMask> maskOf(const Row &row) const;

  /// Waits until the mask is made, until `until` at the latest. Whether it is;
  /// what it holds is then the caller's to read.
  bool waitFor(const RowMask &mask, Time until);
  /// The same for as long as it takes, which the limits bound.
  void waitFor(const RowMask &mask);
  bool isMade(const RowMask &mask) { return waitFor(mask, Time(0)); }

  /// Lets go of the grammars of requests that have closed: what is not made yet
  /// is not made for them.
  void close(std::span<const RequestId> requests);

private:
  using Task = std::shared_ptr<RowMask>;

  void offer(const Row &row, std::span<const int32_t> output,
             const std::shared_ptr<GrammarText> &text);
  void runQuick();
  void runSlow();
  void grammarMade();
  void drop(GrammarText &text);
  void leaveToSlow(std::unique_lock<std::mutex> &lock, Task task);
  Task takeSlow();
  void makeOn(const Task &task, WorkMeter &meter);
  void make(RowMask &task, WorkMeter &meter);
  std::optional<grammar::GrammarState>
  stateAt(GrammarText &text, const RowMask &task,
          const std::shared_ptr<const grammar::TokenGrammar> &grammar);

  const Limits limits;
  std::function<void()> onMade; ///< fixed before there are threads

  // The stage's thread.
  struct Begun {
    NodeId firstNode = noNode;
    std::shared_ptr<GrammarText> text;
    bool urgent = false; ///< a row has wanted an output
  };
  std::vector<Begun> begun; ///< [slot]: the open request, if it has a grammar
  std::vector<Task> tasks;  ///< of the step; [0, used)
  size_t used = 0;
  std::thread quick, slow;

  std::mutex mutex;
  std::condition_variable offered, made;
  std::deque<Task> waitingTasks; ///< for their grammars
  std::deque<Task> quickTasks;
  std::deque<Task> slowTasks; ///< of a text in order
  bool closed = false;

  /// Ends first: it calls back.
  GrammarMaker maker;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H
