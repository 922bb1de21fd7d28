//===- GrammarCache.h - grammars that were made lately --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grammars that were made lately, by their source: who checks a request and who
// answers it both need its grammar, and making one can take seconds.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARCACHE_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARCACHE_H

#include "runtime/grammar/Grammar.h"

#include <list>
#include <mutex>
#include <optional>
#include <string>

namespace sluice::grammar {

/// Keeps the grammars used last, as far as their sources and tables take no
/// more than `mostBytes` together. Thread-safe; a grammar is made on the thread
/// that asks for it, and others do not wait for that.
class GrammarCache {
public:
  explicit GrammarCache(size_t mostBytes) : mostBytes(mostBytes) {}

  /// The one that the process's threads share.
  static GrammarCache &ofProcess();

  /// As Grammar's functions. Errors: theirs, which are not kept; a schema that
  /// is not JSON.
  Expected<Grammar> fromGbnf(const std::string &text);
  Expected<Grammar> fromJsonSchema(const std::string &text);

  size_t bytes() const;

private:
  enum class Form { Gbnf, JsonSchema };
  struct Entry {
    Form form;
    std::string text;
    Grammar grammar;
    size_t bytes;
  };

  template <typename Make>
  Expected<Grammar> get(Form form, const std::string &text, Make make);
  std::optional<Grammar> find(Form form, const std::string &text);
  void keep(Entry entry);

  size_t mostBytes;
  mutable std::mutex mutex;
  std::list<Entry> entries; ///< used last first
  size_t held = 0;          ///< bytes
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARCACHE_H
