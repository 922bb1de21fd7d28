//===- GrammarMasks.cpp - which tokens a request's grammar allows ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/GrammarMasks.h"

#include "runtime/base/Guarded.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// Paths of a request that are followed without going back to its beginning.
constexpr size_t mostStates = 64;
/// Grammars that are kept, most of all for requests that come again, and the
/// bytes of masks that each of them keeps.
constexpr size_t mostCompiled = 16;
constexpr size_t maskCacheBytes = size_t(8) << 20;

} // namespace

Expected<grammar::Grammar>
pipeline::compileGrammar(const GrammarSource &source) {
  using grammar::Grammar;
  switch (source.kind) {
  case GrammarSource::Kind::JsonSchema: {
    auto schema = nlohmann::ordered_json::parse(source.text, nullptr,
                                                /*allow_exceptions=*/false);
    if (schema.is_discarded())
      return failure("the schema is not JSON");
    return Grammar::fromJsonSchema(schema);
  }
  case GrammarSource::Kind::Gbnf:
    return Grammar::fromGbnf(source.text);
  case GrammarSource::Kind::JsonObject:
  case GrammarSource::Kind::None:
    break;
  }
  return Grammar::anyJsonObject();
}

GrammarMasks::GrammarMasks(MakeTokenTrie makeTrie, int64_t requests)
    : makeTrie(std::move(makeTrie)), begun(size_t(requests), noNode),
      texts(size_t(requests)) {}

GrammarMasks::~GrammarMasks() {
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

//===----------------------------------------------------------------------===//
// The stage's thread
//===----------------------------------------------------------------------===//

void GrammarMasks::begin(Stage &stage) {
  {
    // Tasks of a step that nobody waited for, as its rows have left, are still
    // made: they are few, and their states are of use.
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return done == offered; });
    offered = done = 0;
  }
  used = 0;
  for (int64_t at = 0; at < std::ssize(stage.rows()); ++at) {
    const OpenRequest &request = stage.requestOf(at);
    const Row &row = stage.rows()[size_t(at)];
    if (request.grammar.kind == GrammarSource::Kind::None || !row.wantsOutput)
      continue;
    if (used == tasks.size())
      tasks.emplace_back();
    Task &task = tasks[used++];
    task.row = row;
    task.firstNode = request.firstNode;
    if (std::exchange(begun[size_t(row.request)], request.firstNode) !=
        request.firstNode)
      task.source = request.grammar;
    std::span<const int32_t> output = stage.outputOf(at);
    task.output.assign(output.begin(), output.end());
    task.status = {};
  }
  if (used == 0)
    return;
  {
    std::lock_guard lock(mutex);
    offered = used;
  }
  if (!thread.joinable())
    thread = std::thread([this] { run(); });
  changed.notify_all();
}

Expected<std::span<const uint64_t>> GrammarMasks::allowedAfter(const Row &row) {
  auto is = [&](const Task &task) {
    return task.row.request == row.request && task.row.node == row.node;
  };
  auto end = tasks.begin() + ptrdiff_t(used);
  auto found = std::find_if(tasks.begin(), end, is);
  if (found == end)
    return std::span<const uint64_t>();
  size_t index = size_t(found - tasks.begin());
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done > index; });
  }
  if (!found->status.ok())
    return found->status;
  return std::span<const uint64_t>(found->mask);
}

//===----------------------------------------------------------------------===//
// The thread that makes masks
//===----------------------------------------------------------------------===//

void GrammarMasks::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return closed || done < offered; });
    if (done == offered)
      return;
    Task &task = tasks[done];
    lock.unlock();
    Status made = guarded([&] {
      make(task);
      return Status();
    });
    if (!made.ok())
      task.status = made;
    lock.lock();
    ++done;
    changed.notify_all();
  }
}

void GrammarMasks::make(Task &task) {
  Text &text = texts[size_t(task.row.request)];
  if (text.firstNode != task.firstNode) {
    text = {};
    text.firstNode = task.firstNode;
    text.status = prepare(text, task.source);
  }
  task.mask.clear();
  task.status = text.status;
  if (!text.status.ok())
    return;
  std::optional<grammar::GrammarState> state = stateAt(text, task);
  // A guess that cannot come true, or what comes after the end: any token.
  if (!state || state->hasEnded())
    return;
  task.mask.resize(text.grammar->maskWords());
  task.status = state->fillMask(task.mask);
  if (text.states.size() == mostStates)
    text.states.pop_front();
  text.states.emplace_back(task.row.node, std::move(*state));
}

/// Finds the grammar, or makes it.
Status GrammarMasks::prepare(Text &text, const GrammarSource &source) {
  auto known = std::ranges::find(compiled, source, &Compiled::source);
  if (known != compiled.end()) {
    compiled.splice(compiled.begin(), compiled, known);
    text.grammar = compiled.front().grammar;
    return {};
  }
  if (!trie) {
    auto made = makeTrie();
    if (!made)
      return made.status().withContext("grammar");
    trie = made.take();
  }
  Expected<grammar::Grammar> rules = compileGrammar(source);
  if (!rules)
    return rules.status().withContext("grammar");
  text.grammar = std::make_shared<const grammar::TokenGrammar>(
      rules.take(), trie, maskCacheBytes);
  compiled.push_front({source, text.grammar});
  if (compiled.size() > mostCompiled)
    compiled.pop_back();
  return {};
}

/// Behind the task's row; nothing where the grammar forbids a token of its
/// path. A row that comes again finds itself.
std::optional<grammar::GrammarState> GrammarMasks::stateAt(Text &text,
                                                           const Task &task) {
  auto at = [&](NodeId node) {
    return std::ranges::find(text.states, node,
                             &decltype(text.states)::value_type::first);
  };
  if (auto same = at(task.row.node); same != text.states.end())
    return same->second;
  std::span<const int32_t> missing = task.output;
  std::optional<grammar::GrammarState> state;
  if (auto parent = at(task.row.parent);
      parent != text.states.end() && !missing.empty()) {
    state = parent->second;
    missing = missing.last(1);
  } else {
    state.emplace(text.grammar);
  }
  for (int32_t token : missing)
    if (!state->advance(token))
      return std::nullopt;
  return state;
}
