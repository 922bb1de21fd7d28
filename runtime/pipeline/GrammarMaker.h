//===- GrammarMaker.h - makes grammars ready for use ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_GRAMMARMAKER_H
#define SLUICE_RUNTIME_PIPELINE_GRAMMARMAKER_H

#include "runtime/core/Rows.h"
#include "runtime/grammar/TokenGrammar.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <thread>

namespace sluice::pipeline {

/// The bytes of the model's tokens; asked for once, when the first request with
/// a grammar comes, on a thread of the pipeline.
using MakeTokenTrie =
    std::function<Expected<std::shared_ptr<const grammar::TokenTrie>>()>;

/// From its source, with the words of users' errors, or from the process's
/// cache. Errors: those of grammar::Grammar.
Expected<grammar::Grammar> compileGrammar(const GrammarSource &source);

/// Makes the grammars of requests as they open, on a thread of its own: one can
/// take seconds, in which others want masks. Used by one thread; has its own
/// from the first grammar on.
class GrammarMaker {
public:
  using Made = Expected<std::shared_ptr<const grammar::TokenGrammar>>;

  explicit GrammarMaker(MakeTokenTrie makeTrie);
  /// Waits for the one that is being made. Nobody may wait for others.
  ~GrammarMaker();

  /// Begins to make it, if it is not one of those used last. Whoever gets it
  /// waits for it. Errors then: no vocabulary, or those of compileGrammar().
  std::shared_future<Made> make(const GrammarSource &source);

private:
  struct Job {
    GrammarSource source;
    std::promise<Made> made;
  };
  struct Known {
    GrammarSource source;
    std::shared_future<Made> made;
  };

  void run();
  Made makeNow(const GrammarSource &source);

  std::list<Known> known; ///< used last first; the user's thread

  // The thread's own.
  MakeTokenTrie makeTrie;
  std::shared_ptr<const grammar::TokenTrie> trie;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool closed = false;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_GRAMMARMAKER_H
