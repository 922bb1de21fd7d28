//===- GrammarCache.h - grammars that were made lately --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grammars that were made lately, by their source: who checks a request and who
// answers it both need its grammar, and making one can take seconds. So can
// finding out that none can be made, which is remembered as well.
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

/// Keeps the grammars used last, `maxEntries` at most, and as far as their
/// sources and tables take no more than `maxBytes` together. Thread-safe; a
/// grammar is made on the thread that asks for it, and others do not wait for
/// that.
class GrammarCache {
public:
  explicit GrammarCache(size_t maxBytes, size_t maxEntries = 1024)
      : maxBytes(maxBytes), maxEntries(maxEntries) {}

  /// The one that the process's threads share.
  static GrammarCache &ofProcess();

  /// As Grammar's functions; one that is known is there at once, whatever the
  /// meter says. Errors: theirs; a schema that is not JSON. They are kept as
  /// well, unless another time or a meter of its own could do better.
  Expected<Grammar> fromGbnf(const std::string &text, WorkMeter &meter);
  Expected<Grammar> fromJsonSchema(const std::string &text, WorkMeter &meter);
  /// With a meter of their own, of maxGrammarWork.
  Expected<Grammar> fromGbnf(const std::string &text);
  Expected<Grammar> fromJsonSchema(const std::string &text);

  size_t size() const; ///< how many there are
  size_t bytes() const;

private:
  enum class Form { Gbnf, JsonSchema };
  /// Whoever makes one hashes it before it locks.
  struct Key {
    Form form;
    const std::string &text;
    size_t hash;
  };
  struct Entry {
    Form form;
    std::string text;
    size_t hash;
    Expected<Grammar> outcome;
    size_t bytes;
  };
  using Entries = std::list<Entry>;

  template <typename Make>
  Expected<Grammar> get(Form form, const std::string &text, WorkMeter &meter,
                        Make make);
  std::optional<Expected<Grammar>> find(const Key &key);
  Entries::iterator locate(const Key &key);
  void keep(const Key &key, const Expected<Grammar> &outcome);
  void dropLast();

  size_t maxBytes;
  size_t maxEntries;
  mutable std::mutex mutex;
  Entries entries;                                          ///< used last first
  std::unordered_multimap<size_t, Entries::iterator> index; ///< by hash
  size_t held = 0;                                          ///< bytes
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARCACHE_H
