//===- GrammarMasks.cpp - which tokens a request's grammar allows ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/GrammarMasks.h"

#include "runtime/base/Guarded.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// Paths of a request that are followed without going back to its beginning.
constexpr size_t mostStates = 64;

} // namespace

GrammarMasks::GrammarMasks(MakeTokenTrie makeTrie, int64_t requests)
    : maker(std::move(makeTrie)), begun(size_t(requests)),
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
    if (request.grammar.kind == GrammarSource::Kind::None)
      continue;
    Begun &latest = begun[size_t(row.request)];
    if (latest.firstNode != request.firstNode)
      latest = {request.firstNode, maker.make(request.grammar)};
    if (!row.wantsOutput || row.position + 1 < request.promptTokens)
      continue;
    if (!std::exchange(latest.urgent, true))
      maker.hurry(*latest.grammar);
    if (used == tasks.size())
      tasks.emplace_back();
    Task &task = tasks[used++];
    task.row = row;
    task.firstNode = request.firstNode;
    task.grammar = latest.grammar;
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

void GrammarMasks::close(std::span<const RequestId> requests) {
  for (RequestId request : requests)
    begun[size_t(request)] = {};
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
  if (std::exchange(text.firstNode, task.firstNode) != task.firstNode)
    text.states.clear();
  task.mask.clear();
  const auto wanted = std::exchange(task.grammar, nullptr);
  const WantedGrammar::Made &grammar = wanted->get();
  task.status = grammar.status();
  if (!grammar)
    return;
  std::optional<grammar::GrammarState> state = stateAt(text, task, *grammar);
  // A guess that cannot come true, or what comes after the end: any token.
  if (!state || state->hasEnded())
    return;
  task.mask.resize((*grammar)->maskWords());
  task.status = state->fillMask(task.mask);
  if (text.states.size() == mostStates)
    text.states.pop_front();
  text.states.emplace_back(task.row.node, std::move(*state));
}

/// Behind the task's row; nothing where the grammar forbids a token of its
/// path. A row that comes again finds itself.
std::optional<grammar::GrammarState> GrammarMasks::stateAt(
    Text &text, const Task &task,
    const std::shared_ptr<const grammar::TokenGrammar> &grammar) {
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
    state.emplace(grammar);
  }
  for (int32_t token : missing)
    if (!state->advance(token))
      return std::nullopt;
  return state;
}
