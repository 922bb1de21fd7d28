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
// come true.
//
//   masks.begin(stage);            // the step is formed
//   ... compute it ...
//   masks.allowedAfter(row)        // its tokens, or why there are none
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H
#define SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H

#include "runtime/core/Stage.h"
#include "runtime/grammar/GrammarState.h"
#include "runtime/pipeline/Door.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace sluice::pipeline {

/// The bytes of the model's tokens; asked for once, when the first request with
/// a grammar comes, on a thread of the pipeline.
using MakeTokenTrie =
    std::function<Expected<std::shared_ptr<const grammar::TokenTrie>>()>;

/// From its source, with the words of users' errors. Errors: those of
/// grammar::Grammar.
Expected<grammar::Grammar> compileGrammar(const GrammarSource &source);

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

private:
  /// A row that needs a mask.
  struct Task {
    Row row;
    NodeId firstNode = 0; ///< of the row's request
    GrammarSource source; ///< only where the request's grammar is not known
    std::vector<int32_t> output; ///< up to the row; without its parent's state
    std::vector<uint64_t> mask;
    Status status;
  };
  /// What is known of a slot's request.
  struct Text {
    NodeId firstNode = noNode; ///< whose request it is; noNode: nobody's
    std::shared_ptr<const grammar::TokenGrammar> grammar;
    Status status; ///< of making it
    std::deque<std::pair<NodeId, grammar::GrammarState>> states; ///< by node
  };
  struct Compiled {
    GrammarSource source;
    std::shared_ptr<const grammar::TokenGrammar> grammar;
  };

  void run();
  void make(Task &task);
  Status prepare(Text &text, const GrammarSource &source);
  std::optional<grammar::GrammarState> stateAt(Text &text, const Task &task);

  MakeTokenTrie makeTrie;

  // The stage's thread.
  std::vector<NodeId> begun; ///< [slot]: the request whose source was given
  std::vector<Task> tasks;   ///< of the step; [0, used)
  size_t used = 0;

  // The other one.
  std::shared_ptr<const grammar::TokenTrie> trie;
  std::vector<Text> texts;      ///< [slot]
  std::list<Compiled> compiled; ///< latest first
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  size_t offered = 0, done = 0; ///< tasks of the step
  bool closed = false;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_GRAMMARMASKS_H
