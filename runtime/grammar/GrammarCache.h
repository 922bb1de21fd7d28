//===- GrammarCache.h - cache of compiled grammars ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Caches compiled grammars by their source. Both the check of a request and its
// execution need the grammar, and compiling one can take seconds. Finding out
// that a source cannot be compiled can take as long, so failures are cached
// too. A grammar is found only in the scope in which it was compiled, because
// the time that it takes would tell others that it was there.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARCACHE_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARCACHE_H

#include "runtime/grammar/Grammar.h"

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace sluice::grammar {

/// Keeps the most recently used grammars: at most `maxEntries`, whose sources
/// and tables take at most `maxBytes` together. Thread-safe. A grammar is
/// compiled on the thread that asks for it, and no other thread waits for that.
class GrammarCache {
public:
  explicit GrammarCache(size_t maxBytes, size_t maxEntries = 1024)
      : maxBytes(maxBytes), maxEntries(maxEntries) {}

  /// Returns the cache that all threads of the process share.
  static GrammarCache &ofProcess();

  /// Like the functions of Grammar; a cached grammar is returned at once,
  /// whatever the meter says. Errors: those of Grammar, or a schema that is not
  /// JSON. Errors are cached too, unless another attempt or a new meter could
  /// succeed.
  Expected<Grammar> fromGbnf(const std::string &text, WorkMeter &meter,
                             uint64_t scope = 0);
  Expected<Grammar> fromJsonSchema(const std::string &text, WorkMeter &meter,
                                   uint64_t scope = 0);
  /// Like the functions above, with their own meter of maxGrammarWork.
  Expected<Grammar> fromGbnf(const std::string &text);
  Expected<Grammar> fromJsonSchema(const std::string &text);

  size_t size() const; ///< the number of entries
  size_t bytes() const;

private:
  enum class Form { Gbnf, JsonSchema };
  /// The key of an entry. It is hashed before the lock is taken.
  struct Key {
    Form form;
    uint64_t scope;
    const std::string &text;
    size_t hash;
  };
  struct Entry {
    Form form;
    uint64_t scope;
    std::string text;
    size_t hash;
    Expected<Grammar> outcome;
    size_t bytes;
  };
  using Entries = std::list<Entry>;

  static Key keyOf(Form form, uint64_t scope, const std::string &text);
  template <typename Make>
  Expected<Grammar> get(const Key &key, WorkMeter &meter, Make make);
  std::optional<Expected<Grammar>> find(const Key &key);
  Entries::iterator locate(const Key &key);
  void keep(const Key &key, const Expected<Grammar> &outcome);
  void dropLast();

  size_t maxBytes;
  size_t maxEntries;
  mutable std::mutex mutex;
  Entries entries; ///< most recently used first
  std::unordered_multimap<size_t, Entries::iterator> index; ///< by hash
  size_t held = 0; ///< bytes of all entries
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARCACHE_H
