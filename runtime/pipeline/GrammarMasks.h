//===- GrammarMasks.h - the tokens that requests' grammars allow ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes which tokens may follow the rows of a step whose requests have a
// grammar. A row's token is known when its step begins, and the next token is
// chosen at the step's end, so masks are made on other threads while the layers
// are computed. Guesses are rows like others: each follows the text of its own
// path, and a guess that the grammar forbids cannot come true. A request's
// grammar is started with its first row, while its prompt is computed, and is
// not made at all if the request leaves first. Grammars that rows wait for come
// first.
//
//   masks.begin(stage);                  // the step is formed
//   ... compute it ...
//   auto mask = masks.maskOf(row);
//   if (!mask || masks.waitFor(*mask, now() + patience))
//     ... choose a token ...             // else later; other rows do not wait
//   masks.close(frame.closes);           // the step has ended
//
// Two threads make the masks. The quick thread makes them in order, but passes
// a mask that takes more than a few milliseconds to the slow thread. The slow
// thread has a low priority. It chooses the tenant for which it has spent the
// least time (VirtualTimes.h), and the request of that tenant on which it has
// spent the least work. A request that costs far too much is refused. So a
// grammar with expensive masks delays only its own request and other requests
// with expensive masks. These wait for one of its masks at a time.
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

/// The state of a request's grammar along its text. One thread works on it at a
/// time.
struct GrammarText {
  TenantNumber tenant = 0;
  std::shared_ptr<WantedGrammar> grammar;
  std::deque<std::pair<NodeId, grammar::GrammarState>> states; ///< by node
  std::atomic<bool> isClosed{false}; ///< no row waits for its masks any more
  // Guarded by the mutex of GrammarMasks.
  size_t slowRows = 0;  ///< rows that are left to the slow thread
  size_t slowSteps = 0; ///< work that the slow thread has spent on them
};

/// A mask that a row waits for.
struct RowMask {
  Row row;
  std::shared_ptr<GrammarText> text;
  std::vector<int32_t> output; ///< the request's output up to the row
  // Valid once the mask is made:
  std::vector<uint64_t> mask; ///< empty if any token may follow
  Status status;              ///< why no token can be chosen
  bool isMade = false;        ///< guarded by the mutex of GrammarMasks
};

/// Owned and used by the stage's thread.
class GrammarMasks {
public:
  /// How long a step waits for masks after its own end.
  static constexpr Time patience = std::chrono::milliseconds(1);

  struct Limits {
    /// For one mask on the quick thread, about two milliseconds.
    size_t quickSteps = size_t{1} << 17;
    /// For all masks of a request on the slow thread, some ten seconds.
    size_t slowSteps = size_t{1} << 29;
  };

  /// Makes room for `requests` slots. `makeTrie` may be empty if no request has
  /// a grammar; start() then starts no thread.
  GrammarMasks(MakeTokenTrie makeTrie, int64_t requests);
  GrammarMasks(MakeTokenTrie makeTrie, int64_t requests, Limits limits);
  ~GrammarMasks();

  /// Starts the threads; must be called once, before begin(). `onMade` is
  /// called on one of them whenever a mask has been made; it may be empty.
  /// Fails if the system gives no thread.
  Status start(std::function<void()> onMade = {});

  /// Starts to make the masks of the step that has been formed.
  void begin(Stage &stage);

  /// Returns the mask after a row of the step that wants an output; null if the
  /// request has no grammar, so that any token may follow.
  std::shared_ptr<RowMask> maskOf(const Row &row) const;

  /// Waits until the mask is made, but at most until `until`. Returns whether
  /// it is made; then the caller may read it.
  bool waitFor(const RowMask &mask, Time until);
  /// Waits until the mask is made, however long; the limits bound the time.
  void waitFor(const RowMask &mask);
  bool isMade(const RowMask &mask) { return waitFor(mask, Time(0)); }

  /// Releases the grammars of requests that have closed. Grammars and masks
  /// that only they need are not made any more.
  void close(std::span<const RequestId> requests);

private:
  using Task = std::shared_ptr<RowMask>;

  void offer(const Row &row, std::span<const int32_t> output,
             const std::shared_ptr<GrammarText> &text);
  bool isHeld(const Task &task);
  void runQuick();
  void runSlow();
  void grammarMade();
  void drop(GrammarText &text);
  void leaveToSlow(std::unique_lock<std::mutex> &lock, Task task);
  Task takeSlow();
  void updateState(TenantNumber tenant);
  void makeOn(const Task &task, WorkMeter &meter);
  void make(RowMask &task, WorkMeter &meter);
  std::optional<grammar::GrammarState>
  stateAt(GrammarText &text, const RowMask &task,
          const std::shared_ptr<const grammar::TokenGrammar> &grammar);

  const Limits limits;
  const bool hasGrammars;       ///< whether requests can have grammars
  std::function<void()> onMade; ///< set before the threads start

  // The following belongs to the stage's thread.
  struct Begun {
    NodeId firstNode = noNode;
    std::shared_ptr<GrammarText> text;
    bool urgent = false; ///< whether a row has wanted an output
  };
  std::vector<Begun> begun; ///< [slot]: the open request, if it has a grammar
  std::vector<Task> tasks;  ///< masks of the step: [0, used)
  size_t used = 0;
  std::thread quick, slow;

  std::mutex mutex;
  std::condition_variable offered, made;
  std::deque<Task> waitingTasks; ///< tasks that wait for their grammars
  std::deque<Task> quickTasks;
  std::deque<Task> slowTasks; ///< tasks of each text in order
  Task slowTask;              ///< the one that the slow thread works on
  VirtualTimes slowTimes;     ///< of the steps of the slow thread
  bool closed = false;

  /// Destroyed first, because it calls back.
  GrammarMaker maker;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H
