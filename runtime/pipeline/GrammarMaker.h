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

#include <chrono>
#include <condition_variable>
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
Expected<grammar::Grammar> compileGrammar(const GrammarSource &source,
                                          WorkMeter &meter);

/// A grammar that somebody wants, by holding it; made by a GrammarMaker.
class WantedGrammar {
public:
  using Made = Expected<std::shared_ptr<const grammar::TokenGrammar>>;

  explicit WantedGrammar(GrammarSource source) : source(std::move(source)) {}

  /// Waits until it is made, for which its maker must live. Errors: no
  /// vocabulary, or those of compileGrammar(). Thread-safe.
  const Made &get() const { return made.get(); }
  /// Whether get() would not wait. Thread-safe.
  bool isMade() const {
    return made.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

private:
  friend class GrammarMaker;
  const GrammarSource source;
  std::promise<Made> promise;
  const std::shared_future<Made> made = promise.get_future().share();
  bool urgent = false; ///< of the maker's mutex
};

/// Makes the grammars of requests as they open, on a thread of its own: one can
/// take seconds, in which others want masks. One that nobody holds any more
/// when its turn comes is not made; urgent ones come first, then whoever came
/// first. One that everybody lets go of while it is made is given up. Used by
/// one thread; has its own, which gives way to others.
class GrammarMaker {
public:
  using Made = WantedGrammar::Made;

  /// `onMade` is called on the maker's thread when one has been made; it may be
  /// empty.
  explicit GrammarMaker(MakeTokenTrie makeTrie,
                        std::function<void()> onMade = {});
  /// Starts the thread; once, before make(). Errors: there is none to be had.
  Status start();
  /// Waits for the one that is being made. Nobody may wait for others.
  ~GrammarMaker();

  /// Begins to make it, unless somebody wants it already or it is one of those
  /// made last.
  std::shared_ptr<WantedGrammar> make(const GrammarSource &source);

  /// A step waits for it.
  void hurry(WantedGrammar &wanted);

private:
  void run();
  std::shared_ptr<WantedGrammar> takeNext();
  bool isCurrentUnwanted();
  Made makeNow(const GrammarSource &source, WorkMeter &meter);

  // The thread's own.
  MakeTokenTrie makeTrie;
  const std::function<void()> onMade;
  std::shared_ptr<const grammar::TokenTrie> trie;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  /// To be made. Holds none: who goes away with its request lets go.
  std::list<std::weak_ptr<WantedGrammar>> queue;
  std::shared_ptr<WantedGrammar> current;          ///< is being made
  std::list<std::shared_ptr<WantedGrammar>> known; ///< made; used last first
  bool closed = false;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_GRAMMARMAKER_H
