//===- GrammarMaker.h - compiles the grammars of requests -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_GRAMMARMAKER_H
#define SLUICE_RUNTIME_PIPELINE_GRAMMARMAKER_H

#include "runtime/core/VirtualTimes.h"
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

  WantedGrammar(GrammarSource source, TenantNumber tenant)
      : source(std::move(source)), tenant(tenant) {}

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
  // Guarded by the maker's mutex:
  TenantNumber tenant; ///< of those that want it, the one that had the least
  bool isUrgent = false;
  bool isLong = false; ///< takes too long for the quick thread
};

/// Makes the grammars of requests as they open, because one grammar can take
/// seconds in which other requests need masks. A grammar that takes the quick
/// thread more than some milliseconds is left to the slow thread. Both have a
/// low priority. Each makes first what is urgent, then what belongs to the
/// tenant for which the least time was spent (VirtualTimes.h), then what is
/// oldest. So a grammar waits for the one in progress and for those of tenants
/// that had less, and not for all that came before it. A grammar that no
/// request holds any more is not made, or given up while it is made. Only one
/// thread may use the maker.
class GrammarMaker {
public:
  using Made = WantedGrammar::Made;

  struct Limits {
    /// The processor's time for a grammar on the quick thread.
    std::chrono::nanoseconds quickTime = std::chrono::milliseconds(20);
    /// How many grammars are kept for later requests, and how much memory they
    /// take together. One that takes more than half of it is not kept.
    size_t kept = 16;
    size_t keptBytes = size_t{256} << 20;
  };

  /// `onMade` is called on a thread of the maker whenever a grammar has been
  /// made; it may be empty.
  explicit GrammarMaker(MakeTokenTrie makeTrie,
                        std::function<void()> onMade = {});
  GrammarMaker(MakeTokenTrie makeTrie, std::function<void()> onMade,
               Limits limits);
  /// Starts the threads; must be called once, before make(). Fails if the
  /// system gives no thread.
  Status start();
  /// Gives up the grammars in progress and ends the threads. No thread may be
  /// waiting in WantedGrammar::get() for a grammar that is not made.
  ~GrammarMaker();

  /// Returns the grammar and queues it to be made, unless it is queued already
  /// or one of those made last. An error of a grammar is found again likewise,
  /// unless memory or time had run out.
  std::shared_ptr<WantedGrammar> make(const GrammarSource &source,
                                      TenantNumber tenant);

  /// Makes the grammar urgent, because a step waits for it.
  void hurry(WantedGrammar &wanted);

private:
  /// A grammar to make. The pointer is weak, so a grammar goes when its last
  /// request does.
  struct Queued {
    std::weak_ptr<WantedGrammar> wanted;
    TenantNumber tenant = 0;
  };
  struct Worker {
    const bool isSlow;
    std::shared_ptr<WantedGrammar> current = {}; ///< the grammar in progress
    std::thread thread = {};
  };

  std::shared_ptr<WantedGrammar> find(const GrammarSource &source,
                                      TenantNumber tenant);
  void join(Queued &queued, WantedGrammar &wanted, TenantNumber tenant);
  void run(Worker &worker);
  bool takeNext(Worker &worker);
  void removeUnwanted();
  void updateState(TenantNumber tenant);
  bool isUnwanted(const Worker &worker);
  Status needTrie();
  Made makeNow(const GrammarSource &source, WorkMeter &meter);
  void publish(Worker &worker, Made made, bool isKept,
               std::unique_lock<std::mutex> &lock);
  std::list<std::shared_ptr<WantedGrammar>>
  keep(const std::shared_ptr<WantedGrammar> &wanted);

  const Limits limits;
  MakeTokenTrie makeTrie;
  const std::function<void()> onMade;
  /// Set by the quick thread, before the slow one has its first grammar.
  std::shared_ptr<const grammar::TokenTrie> trie;

  std::mutex mutex;
  std::condition_variable changed;
  std::list<Queued> queue; ///< the oldest first
  VirtualTimes times;
  /// Made grammars, last used first.
  std::list<std::shared_ptr<WantedGrammar>> known;
  bool closed = false;
  Worker quick{.isSlow = false}, slow{.isSlow = true};
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_GRAMMARMAKER_H
