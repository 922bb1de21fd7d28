//===- GrammarCache.cpp - grammars that were made lately ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarCache.h"

#include "runtime/grammar/GrammarTables.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::grammar;

static size_t bytesOf(const GrammarTables &tables) {
  auto bytes = [](const auto &list) { return list.size() * sizeof(list[0]); };
  return sizeof(tables) + bytes(tables.states) + bytes(tables.ranges) +
         bytes(tables.rows) + bytes(tables.callList) + bytes(tables.rules);
}

GrammarCache &GrammarCache::ofProcess() {
  // Some megabytes are usual for a large schema: enough for a queue of them.
  static GrammarCache cache(size_t(256) << 20);
  return cache;
}

size_t GrammarCache::bytes() const {
  std::lock_guard lock(mutex);
  return held;
}

std::optional<Grammar> GrammarCache::find(Form form, const std::string &text) {
  std::lock_guard lock(mutex);
  auto same = [&](const Entry &each) {
    return each.form == form && each.text == text;
  };
  auto found = std::ranges::find_if(entries, same);
  if (found == entries.end())
    return std::nullopt;
  entries.splice(entries.begin(), entries, found);
  return found->grammar;
}

void GrammarCache::keep(Entry entry) {
  std::lock_guard lock(mutex);
  held += entry.bytes;
  entries.push_front(std::move(entry));
  while (held > mostBytes) {
    held -= entries.back().bytes;
    entries.pop_back();
  }
}

template <typename Make>
Expected<Grammar> GrammarCache::get(Form form, const std::string &text,
                                    Make make) {
  if (std::optional<Grammar> known = find(form, text))
    return *known;
  Expected<Grammar> made = make();
  if (made)
    keep({form, text, *made, text.size() + bytesOf(made->tables())});
  return made;
}

Expected<Grammar> GrammarCache::fromGbnf(const std::string &text) {
  return get(Form::Gbnf, text, [&] { return Grammar::fromGbnf(text); });
}

Expected<Grammar> GrammarCache::fromJsonSchema(const std::string &text) {
  return get(Form::JsonSchema, text, [&]() -> Expected<Grammar> {
    auto schema = nlohmann::ordered_json::parse(text, nullptr,
                                                /*allow_exceptions=*/false);
    if (schema.is_discarded())
      return failure("the schema is not JSON");
    return Grammar::fromJsonSchema(schema);
  });
}
