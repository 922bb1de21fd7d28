//===- GrammarMasks.cpp - the tokens that requests' grammars allow --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/GrammarMasks.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/Insist.h"
#include "runtime/base/ThreadPriority.h"
#include "runtime/grammar/GrammarLimits.h"
#include "runtime/pipeline/Clock.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// How many rows of a request have their grammar states kept, so that their
/// successors need not start from the beginning of the text.
constexpr size_t maxStates = 64;

Status tooSlow(size_t steps) {
  return failure("grammar: its masks have taken more than ", steps, " steps");
}

} // namespace

GrammarMasks::GrammarMasks(MakeTokenTrie makeTrie, int64_t requests)
    : GrammarMasks(std::move(makeTrie), requests, Limits()) {}

GrammarMasks::GrammarMasks(MakeTokenTrie makeTrie, int64_t requests,
                           Limits limits)
    : limits(limits), hasGrammars(makeTrie != nullptr), begun(size_t(requests)),
      maker(std::move(makeTrie), [this] { grammarMade(); }) {}

GrammarMasks::~GrammarMasks() {
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  offered.notify_all();
  for (std::thread *thread : {&quick, &slow})
    if (thread->joinable())
      thread->join();
}

Status GrammarMasks::start(std::function<void()> given) {
  if (!hasGrammars)
    return {};
  onMade = std::move(given);
  SLUICE_RETURN_IF_ERROR(maker.start());
  return guarded([this] {
    quick = std::thread([this] { runQuick(); });
    slow = std::thread([this] { runSlow(); });
    return Status();
  });
}

//===----------------------------------------------------------------------===//
// The stage's thread
//===----------------------------------------------------------------------===//

void GrammarMasks::begin(Stage &stage) {
  used = 0;
  for (int64_t at = 0; at < std::ssize(stage.rows()); ++at) {
    const OpenRequest &request = stage.requestOf(at);
    const Row &row = stage.rows()[size_t(at)];
    if (request.grammar.kind == GrammarSource::Kind::None)
      continue;
    Begun &latest = begun[size_t(row.request)];
    if (latest.firstNode != request.firstNode) {
      latest = {request.firstNode, std::make_shared<GrammarText>()};
      latest.text->tenant = request.tenant;
      latest.text->grammar = maker.make(request.grammar, request.tenant);
    }
    if (!row.wantsOutput || row.position + 1 < request.promptTokens)
      continue;
    if (!std::exchange(latest.urgent, true))
      maker.hurry(*latest.text->grammar);
    offer(row, stage.outputOf(at), latest.text);
  }
  if (used == 0)
    return;
  {
    std::lock_guard lock(mutex);
    quickTasks.insert(quickTasks.end(), tasks.begin(),
                      tasks.begin() + ptrdiff_t(used));
  }
  offered.notify_all();
}

/// Returns whether something else may use the task. A thread that made a mask
/// releases the mutex before its reference, so if it does not hold the task any
/// more, what it did with it happened before.
bool GrammarMasks::isHeld(const Task &task) {
  std::lock_guard lock(mutex);
  return task.use_count() > 1;
}

/// Adds a row to the tasks of the step, and reuses a task that nothing else
/// holds.
void GrammarMasks::offer(const Row &row, std::span<const int32_t> output,
                         const std::shared_ptr<GrammarText> &text) {
  if (used == tasks.size())
    tasks.emplace_back();
  Task &task = tasks[used++];
  if (isHeld(task))
    task = nullptr;
  if (!task)
    task = std::make_shared<RowMask>();
  task->row = row;
  task->text = text;
  task->output.assign(output.begin(), output.end());
  task->mask.clear();
  task->status = {};
  task->isMade = false;
}

std::shared_ptr<RowMask> GrammarMasks::maskOf(const Row &row) const {
  auto end = tasks.begin() + ptrdiff_t(used);
  auto found = std::find_if(tasks.begin(), end, [&](const Task &task) {
    return task->row.request == row.request && task->row.node == row.node;
  });
  return found == end ? nullptr : *found;
}

bool GrammarMasks::waitFor(const RowMask &mask, Time until) {
  std::unique_lock lock(mutex);
  return made.wait_until(lock, toTimePoint(until),
                         [&mask] { return mask.isMade; });
}

void GrammarMasks::waitFor(const RowMask &mask) {
  std::unique_lock lock(mutex);
  made.wait(lock, [&mask] { return mask.isMade; });
}

void GrammarMasks::close(std::span<const RequestId> requests) {
  for (RequestId request : requests) {
    Begun &latest = begun[size_t(request)];
    if (latest.text)
      drop(*latest.text);
    latest = {};
  }
}

/// Removes the tasks of a text, so that only a thread that works on it still
/// holds its grammar.
void GrammarMasks::drop(GrammarText &text) {
  auto isIts = [&text](const Task &task) {
    return task && task->text.get() == &text;
  };
  for (Task &task : tasks)
    if (isIts(task))
      task.reset();
  used = 0; // the step has ended
  text.isClosed = true;
  std::lock_guard lock(mutex);
  for (std::deque<Task> *queue : {&waitingTasks, &quickTasks, &slowTasks})
    std::erase_if(*queue, isIts);
  updateState(text.tenant);
}

//===----------------------------------------------------------------------===//
// The threads that make masks
//===----------------------------------------------------------------------===//

void GrammarMasks::runQuick() {
  std::unique_lock lock(mutex);
  while (true) {
    offered.wait(lock, [this] { return closed || !quickTasks.empty(); });
    if (closed)
      return;
    Task task = std::move(quickTasks.front());
    quickTasks.pop_front();
    // This thread does not wait for grammars, and only one thread at a time
    // makes masks of a text.
    if (!task->text->grammar->isMade()) {
      // Looks again each time, because it may be made meanwhile.
      insist(lock, [&] {
        const bool isMade = task->text->grammar->isMade();
        (isMade ? quickTasks : waitingTasks).push_back(task);
      });
      continue;
    }
    if (task->text->slowRows > 0) {
      leaveToSlow(lock, std::move(task));
      continue;
    }
    lock.unlock();
    WorkMeter meter({.steps = limits.quickSteps});
    makeOn(task, meter);
    lock.lock();
    if (meter.end() == WorkMeter::End::None) {
      task->isMade = true;
      made.notify_all();
      lock.unlock();
      if (onMade)
        onMade();
      lock.lock();
    } else {
      leaveToSlow(lock, std::move(task));
    }
  }
}

/// Requeues the rows that waited for the grammar. Runs on the maker's thread.
void GrammarMasks::grammarMade() {
  std::unique_lock lock(mutex);
  insist(lock, [this] {
    for (; !waitingTasks.empty(); waitingTasks.pop_back())
      quickTasks.push_front(waitingTasks.back());
  });
  offered.notify_all();
}

void GrammarMasks::leaveToSlow(std::unique_lock<std::mutex> &lock, Task task) {
  ++task->text->slowRows;
  insist(lock, [&] {
    slowTimes.setState(task->text->tenant, VirtualTimes::State::Waiting);
    slowTasks.push_back(task);
  });
  offered.notify_all();
}

/// Takes the first task of the tenant for which the least was spent, and there
/// of the text that has cost the least so far; null if there is none. The
/// caller holds the mutex.
GrammarMasks::Task GrammarMasks::takeSlow() {
  auto next = std::ranges::min_element(slowTasks, {}, [&](const Task &task) {
    const GrammarText &text = *task->text;
    return std::pair(slowTimes.of(text.tenant), text.slowSteps);
  });
  if (next == slowTasks.end())
    return nullptr;
  Task task = std::move(*next);
  slowTasks.erase(next);
  return task;
}

/// Notes whether a tenant's masks wait for the slow thread. The caller holds
/// the mutex.
void GrammarMasks::updateState(TenantNumber tenant) {
  auto belongs = [tenant](const Task &task) {
    return task && task->text->tenant == tenant;
  };
  slowTimes.setState(
      tenant, VirtualTimes::stateOf(std::ranges::any_of(slowTasks, belongs),
                                    belongs(slowTask)));
}

void GrammarMasks::runSlow() {
  giveWayToOthers();
  std::unique_lock lock(mutex);
  while (true) {
    offered.wait(lock, [&] { return closed || (slowTask = takeSlow()); });
    if (closed)
      return;
    Task task = slowTask;
    GrammarText &text = *task->text;
    updateState(text.tenant);
    lock.unlock();
    WorkMeter meter({.steps = grammar::maxMaskSteps},
                    [&text] { return text.isClosed.load(); });
    makeOn(task, meter);
    lock.lock();
    slowTimes.advance(text.tenant, Time(meter.steps()));
    text.slowSteps += meter.steps();
    if (text.slowSteps > limits.slowSteps)
      task->status = guarded([&] { return tooSlow(limits.slowSteps); });
    --text.slowRows;
    slowTask = nullptr;
    updateState(text.tenant);
    task->isMade = true;
    made.notify_all();
    lock.unlock();
    if (onMade)
      onMade();
    task.reset(); // this may be the last reference to large data
    lock.lock();
  }
}

void GrammarMasks::makeOn(const Task &task, WorkMeter &meter) {
  Status done = guarded([&] {
    make(*task, meter);
    return Status();
  });
  if (!done.ok())
    task->status = done;
}

void GrammarMasks::make(RowMask &task, WorkMeter &meter) {
  GrammarText &text = *task.text;
  task.mask.clear();
  const WantedGrammar::Made &grammar = text.grammar->get();
  task.status = grammar.status();
  if (!grammar)
    return;
  std::optional<grammar::GrammarState> state = stateAt(text, task, *grammar);
  // The row is a guess that cannot come true, or follows the end: any token may
  // follow.
  if (!state || state->hasEnded())
    return;
  task.mask.resize((*grammar)->maskWords());
  task.status = state->fillMask(task.mask, meter);
  if (text.states.size() == maxStates)
    text.states.pop_front();
  text.states.emplace_back(task.row.node, std::move(*state));
}

/// Returns the state after the task's row, or nothing if the grammar forbids a
/// token of its path. For a repeated row the state is there already.
std::optional<grammar::GrammarState> GrammarMasks::stateAt(
    GrammarText &text, const RowMask &task,
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
