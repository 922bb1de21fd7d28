//===- GrammarCache.cpp - cache of compiled grammars ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarCache.h"

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/GrammarTables.h"
#include "runtime/grammar/schema/SchemaDocument.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

GrammarCache &GrammarCache::ofProcess() {
  // A large schema usually takes some megabytes, so this is enough for a queue
  // of them.
  static GrammarCache cache(size_t(256) << 20);
  return cache;
}

size_t GrammarCache::size() const {
  std::lock_guard lock(mutex);
  return entries.size();
}

size_t GrammarCache::bytes() const {
  std::lock_guard lock(mutex);
  return held;
}

GrammarCache::Key GrammarCache::keyOf(Form form, uint64_t scope,
                                      const std::string &text) {
  const size_t salt = static_cast<size_t>(scope) + static_cast<size_t>(form);
  return {form, scope, text, std::hash<std::string>()(text) + salt};
}

GrammarCache::Entries::iterator GrammarCache::locate(const Key &key) {
  auto [first, last] = index.equal_range(key.hash);
  auto same = std::find_if(first, last, [&](const auto &each) {
    return each.second->form == key.form && each.second->scope == key.scope &&
           each.second->text == key.text;
  });
  return same == last ? entries.end() : same->second;
}

std::optional<Expected<Grammar>> GrammarCache::find(const Key &key) {
  std::lock_guard lock(mutex);
  auto found = locate(key);
  if (found == entries.end())
    return std::nullopt;
  entries.splice(entries.begin(), entries, found);
  return found->outcome;
}

void GrammarCache::keep(const Key &key, const Expected<Grammar> &outcome) {
  Entry entry{key.form,
              key.scope,
              key.text,
              key.hash,
              outcome,
              key.text.size() + (outcome ? outcome->bytes()
                                         : outcome.status().message().size())};
  std::lock_guard lock(mutex);
  if (locate(key) != entries.end())
    return; // another thread has compiled it meanwhile
  // What can fail for want of memory comes first: an entry without its place in
  // the index could not be removed.
  const size_t bytes = entry.bytes;
  Entries made;
  made.push_front(std::move(entry));
  index.emplace(key.hash, made.begin());
  entries.splice(entries.begin(), made);
  held += bytes;
  while (held > maxBytes || entries.size() > maxEntries)
    dropLast();
}

void GrammarCache::dropLast() {
  auto last = std::prev(entries.end());
  auto [first, end] = index.equal_range(last->hash);
  index.erase(std::find_if(
      first, end, [&](const auto &each) { return each.second == last; }));
  held -= last->bytes;
  entries.erase(last);
}

template <typename Make>
Expected<Grammar> GrammarCache::get(const Key &key, WorkMeter &meter,
                                    Make make) {
  if (std::optional<Expected<Grammar>> known = find(key))
    return *known;
  bool isFirst = meter.steps() == 0;
  Expected<Grammar> made = make();
  // A grammar that exceeds the limits of a whole request, with nothing spent
  // before it, always does.
  if (made || meter.end() == WorkMeter::End::None ||
      (meter.endsAlways() && isFirst))
    keep(key, made);
  return made;
}

Expected<Grammar> GrammarCache::fromGbnf(const std::string &text,
                                         WorkMeter &meter, uint64_t scope) {
  return get(keyOf(Form::Gbnf, scope, text), meter,
             [&] { return Grammar::fromGbnf(text, meter); });
}

Expected<Grammar> GrammarCache::fromGbnf(const std::string &text) {
  WorkMeter meter(maxGrammarWork);
  return fromGbnf(text, meter);
}

Expected<Grammar> GrammarCache::fromJsonSchema(const std::string &text) {
  WorkMeter meter(maxGrammarWork);
  return fromJsonSchema(text, meter);
}

Expected<Grammar> GrammarCache::fromJsonSchema(const std::string &text,
                                               WorkMeter &meter,
                                               uint64_t scope) {
  return get(keyOf(Form::JsonSchema, scope, text), meter,
             [&]() -> Expected<Grammar> {
               SLUICE_RETURN_IF_ERROR(spendOnSchema(meter, text.size()));
               Expected<text::JsonTree> schema = readSchema(text);
               if (!schema)
                 return schema.status();
               return Grammar::fromJsonSchema(schema->root(), meter);
             });
}
