//===- GrammarMaker.h - compiles the grammars of requests -----------------===//
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

/// Returns the bytes of the model's tokens. It is called once, on a thread of
/// the pipeline, when the first request with a grammar comes.
using MakeTokenTrie =
    std::function<Expected<std::shared_ptr<const grammar::TokenTrie>>()>;

/// Compiles a grammar, or takes it from the process's cache. Fails as
/// grammar::Grammar does, with messages in the words of users.
Expected<grammar::Grammar> compileGrammar(const GrammarSource &source,
                                          WorkMeter &meter);

/// A grammar that is wanted as long as a request holds it; a GrammarMaker makes
/// it.
class WantedGrammar {
public:
  using Made = Expected<std::shared_ptr<const grammar::TokenGrammar>>;

  explicit WantedGrammar(GrammarSource source) : source(std::move(source)) {}

  /// Waits until the grammar is made, during which its maker must live. Fails
  /// as MakeTokenTrie and compileGrammar() do. Thread-safe.
  const Made &get() const { return made.get(); }
  /// Returns whether get() would return at once. Thread-safe.
  bool isMade() const {
    return made.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

private:
  friend class GrammarMaker;
  const GrammarSource source;
  std::promise<Made> promise;
  const std::shared_future<Made> made = promise.get_future().share();
  bool urgent = false; ///< guarded by the maker's mutex
};

/// Makes the grammars of requests as they open, on a low-priority thread of its
/// own, because one grammar can take seconds in which other requests need
/// masks. Urgent grammars come first, then the oldest. A grammar that no
/// request holds any more is not made, or given up while it is made. Only one
/// thread may use the maker.
class GrammarMaker {
public:
  using Made = WantedGrammar::Made;

  /// `onMade` is called on the maker's thread whenever a grammar has been made;
  /// it may be empty.
  explicit GrammarMaker(MakeTokenTrie makeTrie,
                        std::function<void()> onMade = {});
  /// Starts the thread; must be called once, before make(). Fails if the system
  /// gives no thread.
  Status start();
  /// Gives up the grammar in progress and ends the thread. No thread may be
  /// waiting in WantedGrammar::get() for a grammar that is not made.
  ~GrammarMaker();

  /// Returns the grammar and queues it to be made, unless it is queued already
  /// or one of those made last.
  std::shared_ptr<WantedGrammar> make(const GrammarSource &source);

  /// Makes the grammar urgent, because a step waits for it.
  void hurry(WantedGrammar &wanted);

private:
  void run();
  std::shared_ptr<WantedGrammar> takeNext();
  bool isCurrentUnwanted();
  Made makeNow(const GrammarSource &source, WorkMeter &meter);

  // The following belongs to the maker's thread.
  MakeTokenTrie makeTrie;
  const std::function<void()> onMade;
  std::shared_ptr<const grammar::TokenTrie> trie;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  /// Grammars to make. The pointers are weak, so a grammar goes when its last
  /// request does.
  std::list<std::weak_ptr<WantedGrammar>> queue;
  std::shared_ptr<WantedGrammar> current; ///< the grammar in progress
  /// Made grammars, last used first.
  std::list<std::shared_ptr<WantedGrammar>> known;
  bool closed = false;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_GRAMMARMAKER_H
