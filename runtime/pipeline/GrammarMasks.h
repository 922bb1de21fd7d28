//===- GrammarMasks.h - which tokens a request's grammar allows -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tokens may follow the rows of a step, where their requests have a
// grammar. A row's token is known when its step begins and its successor's
// choice is due at its end, so that masks are made on a thread of their own
// while the layers are computed. Guesses are rows like others: each follows the
// text of its own path, and a guess that the grammar forbids is one that cannot
// come true. A request's grammar is begun with its first row, so that its
// prompt is computed meanwhile, and is not made at all if the request leaves
// before its turn; those that rows wait for come first.
//
//   masks.begin(stage);            // the step is formed
//   ... compute it ...
//   masks.allowedAfter(row)        // its tokens, or why there are none
//   masks.close(frame.closes);     // the step has ended
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H
#define SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H

#include "runtime/core/Stage.h"
#include "runtime/grammar/GrammarState.h"
#include "runtime/pipeline/GrammarMaker.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace sluice::pipeline {

/// Used by one stage's thread; has one of its own from the first row on that
/// needs it.
class GrammarMasks {
public:
  GrammarMasks(MakeTokenTrie makeTrie, int64_t requests);
  ~GrammarMasks();

  /// Begins to make the masks of the step that has been formed.
  void begin(Stage &stage);

  /// A bit for each token that may follow the row, which is one of the step's
  /// and wants an output; none: every token may, as its request has no grammar
  /// or the row cannot come true. Waits for its mask. Valid until begin().
  /// Errors: no token may follow, or the grammar cannot be used.
  Expected<std::span<const uint64_t>> allowedAfter(const Row &row);

  /// Lets go of the grammars of requests that have closed: one that is not made
  /// yet is not made for them.
  void close(std::span<const RequestId> requests);

private:
  /// Outlives the thread, which waits for what it makes.
  GrammarMaker maker;

  /// A row that needs a mask.
  struct Task {
    Row row;
    NodeId firstNode = 0;                         ///< of the row's request
    std::shared_ptr<const WantedGrammar> grammar; ///< until the mask is made
    std::vector<int32_t> output; ///< up to the row; without its parent's state
    std::vector<uint64_t> mask;
    Status status;
  };
  /// What is known of a slot's request.
  struct Text {
    NodeId firstNode = noNode; ///< whose request it is; noNode: nobody's
    std::deque<std::pair<NodeId, grammar::GrammarState>> states; ///< by node
  };
  /// The open request of a slot with a grammar.
  struct Begun {
    NodeId firstNode = noNode;
    std::shared_ptr<WantedGrammar> grammar;
    bool urgent = false; ///< a row has wanted an output
  };

  void run();
  void make(Task &task);
  std::optional<grammar::GrammarState>
  stateAt(Text &text, const Task &task,
          const std::shared_ptr<const grammar::TokenGrammar> &grammar);

  // The stage's thread.
  std::vector<Begun> begun; ///< [slot]
  std::vector<Task> tasks;  ///< of the step; [0, used)
  size_t used = 0;

  // The other one.
  std::vector<Text> texts; ///< [slot]
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  size_t offered = 0, done = 0; ///< tasks of the step
  bool closed = false;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H
