//===- PipelineModel.cpp - a simple pipeline for tests of the head --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/test/PipelineModel.h"

#include <algorithm>
#include <cmath>

namespace sluice::test {

namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

double unit(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

} // namespace

PipelineModel::PipelineModel(Head head, PipelineModelOptions options,
                             const HeadLimits &limits)
    : head(std::move(head)), options(std::move(options)), limits(limits),
      random(this->options.seed),
      workers(static_cast<size_t>(this->options.stages) + 1),
      nodes(static_cast<size_t>(limits.requests)),
      inSlot(static_cast<size_t>(limits.requests)) {
  for (Worker &worker : workers) {
    worker.board.resize(static_cast<size_t>(limits.requests));
    worker.store.resize(static_cast<size_t>(limits.requests));
    worker.open.resize(static_cast<size_t>(limits.requests));
  }
  workers.back().isDraft = true;
}

void PipelineModel::at(Time when, std::function<void()> act) {
  events.push({when, eventCount++, std::move(act)});
}

double PipelineModel::vary(double value) {
  if (!options.wild)
    return value;
  double u = unit(random());
  return value * (u < 0.1 ? 10 * u * 20 : 2 * u);
}

Time PipelineModel::delay(double millis) {
  return Time(std::llround(vary(millis) * 1e6));
}

void PipelineModel::fail(std::string what) {
  if (failures.size() < 10)
    failures.push_back(std::move(what));
}

int32_t PipelineModel::nextToken(uint64_t hash) const {
  return static_cast<int32_t>(mix(hash, 1) %
                              static_cast<uint64_t>(options.vocabulary));
}

std::vector<int32_t> PipelineModel::truth(const RequestSpec &spec,
                                          FinishReason &reason) const {
  uint64_t hash = 0;
  for (int32_t token : spec.prompt)
    hash = mix(hash, static_cast<uint64_t>(token) + 7);
  std::vector<int32_t> tokens;
  reason = FinishReason::Length;
  int64_t rows = static_cast<int64_t>(spec.prompt.size());
  while (static_cast<int64_t>(tokens.size()) != spec.maxTokens) {
    int32_t token = nextToken(hash);
    if (std::find(spec.stopTokens.begin(), spec.stopTokens.end(), token) !=
        spec.stopTokens.end()) {
      reason = FinishReason::Stop;
      break;
    }
    tokens.push_back(token);
    if (rows++ == limits.contextLength)
      break;
    hash = mix(hash, static_cast<uint64_t>(token) + 7);
  }
  return tokens;
}

//===----------------------------------------------------------------------===//
// Commands of the head
//===----------------------------------------------------------------------===//

/// Notes a row that the head sent, and checks it.
void PipelineModel::know(const Row &row, bool isPrompt) {
  std::vector<NodeInfo> &table = nodes[static_cast<size_t>(row.request)];
  if (static_cast<size_t>(row.node) >= table.size())
    table.resize(static_cast<size_t>(row.node) + 1);
  uint64_t before = 0;
  if (row.parent != noNode) {
    if (row.parent >= row.node)
      return fail("a parent is numbered above its child");
    before = table[static_cast<size_t>(row.parent)].hash;
  }
  if (row.position >= limits.contextLength)
    fail("a row beyond the context");
  NodeInfo &info = table[static_cast<size_t>(row.node)];
  uint64_t hash = mix(before, static_cast<uint64_t>(row.token) + 7);
  if (info.hash != 0 && (info.hash != hash || info.parent != row.parent))
    fail("a node is not what it was");
  if (row.certain && !isPrompt && row.token != nextToken(before))
    fail("a certain row is wrong");
  info = {row.parent, hash};
}

void PipelineModel::know(const StepFrame &frame) {
  for (size_t i = 0; i < frame.rows.size(); ++i) {
    const Row &row = frame.rows[i];
    if (i > 0 && frame.rows[i - 1].request == row.request &&
        frame.rows[i - 1].node >= row.node)
      fail("rows are not in order");
    auto mark = std::find_if(
        frame.marks.begin(), frame.marks.end(),
        [&](const EpochMark &each) { return each.request == row.request; });
    if (mark == frame.marks.end())
      return fail("a row without a mark");
    if (row.node > mark->confirmed + numberSpan(options.speculation))
      fail("numbers are too far apart");
    const RequestSpec &spec =
        all[inSlot[static_cast<size_t>(row.request)]].spec;
    int64_t prompt = static_cast<int64_t>(spec.prompt.size());
    if (spec.maxTokens >= 0 && row.position >= prompt + spec.maxTokens - 1)
      fail("a row of no use");
    know(row, row.position < prompt);
  }
}

/// Checks how many guesses the draft has to keep.
void PipelineModel::checkDraft(const Worker &draft) {
  for (size_t request = 0; request < draft.store.size(); ++request) {
    const std::vector<uint8_t> &store = draft.store[request];
    Row row;
    row.request = static_cast<RequestId>(request);
    int64_t alive = 0;
    row.node = std::max<NodeId>(0, draft.board[request].confirmed + 1);
    for (; row.node < static_cast<NodeId>(store.size()); ++row.node)
      alive += store[static_cast<size_t>(row.node)] && this->alive(draft, row);
    if (alive > options.speculation.nodes)
      fail("the draft has too many guesses");
  }
}

void PipelineModel::obey() {
  HeadCommands &commands = head.commands();
  for (const EpochMark &mark : commands.cancels) {
    for (size_t i = 0; i < workers.size(); ++i)
      for (int copies = options.wild ? 1 + random() % 2 : 1; copies > 0;
           --copies)
        at(clock + delay(options.linkMillis * (options.wild ? 100 : 1)),
           [this, i, mark] {
             publish(workers[i], mark);
             schedule(i);
           });
  }
  for (StepFrame &frame : commands.launches) {
    know(frame);
    lastLaunch = std::max(lastLaunch, clock + delay(options.linkMillis));
    at(lastLaunch, [this, frame] { arrive(0, frame); });
  }
  for (StepFrame &frame : commands.drafts) {
    know(frame);
    if (++draftsOut > 1)
      fail("two frames are with the draft");
    at(clock, [this, frame] { arrive(workers.size() - 1, frame); });
  }
  for (TokenEvent &event : commands.tokens) {
    ModelRequest &request = all[inSlot[static_cast<size_t>(event.request)]];
    if (!request.finished.empty())
      fail("a token after the end");
    if (request.tokens.empty())
      request.firstToken = clock;
    request.lastToken = clock;
    request.tokens.push_back(event.token);
  }
  for (FinishEvent &event : commands.finished) {
    ModelRequest &request = all[inSlot[static_cast<size_t>(event.request)]];
    request.finished.push_back(event.reason);
    request.counters = head.counters(event.request);
    at(clock, [this] { trySubmit(); });
  }
  if (commands.wake && (!wakeAt || *wakeAt > *commands.wake)) {
    wakeAt = std::max(clock, *commands.wake);
    at(*wakeAt, [this, when = *wakeAt] {
      if (wakeAt != when)
        return;
      wakeAt.reset();
      head.onWake(clock);
      obey();
    });
  }
  commands.clear();
}

void PipelineModel::submitAt(Time when, RequestSpec spec) {
  all.emplace_back(std::move(spec));
  at(when, [this, index = all.size() - 1] {
    toSubmit.push_back(index);
    trySubmit();
  });
}

void PipelineModel::trySubmit() {
  while (!toSubmit.empty() && head.holdings().requests < limits.requests) {
    size_t index = toSubmit.front();
    toSubmit.pop_front();
    // The slot is known only after the call, but nothing is looked up before
    // obey().
    RequestSpec spec = all[index].spec;
    Expected<std::optional<RequestId>> id = head.submit(spec, clock);
    if (!id || !*id) {
      fail(id ? "no slot is free" : id.status().message());
      return;
    }
    inSlot[static_cast<size_t>(**id)] = index;
    all[index].submitted = clock;
    obey();
  }
}

void PipelineModel::finishAt(Time when, size_t request) {
  at(when, [this, request] {
    for (size_t slot = 0; slot < inSlot.size(); ++slot)
      if (inSlot[slot] == request && all[request].submitted != Time(0) &&
          all[request].finished.empty()) {
        head.finish(static_cast<RequestId>(slot), FinishReason::Cancelled,
                    clock);
        obey();
      }
  });
}

void PipelineModel::run() {
  while (!events.empty()) {
    Event event = events.top();
    events.pop();
    clock = event.at;
    event.act();
    if (eventCount > 5000000)
      return fail("it does not end");
  }
}

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

void PipelineModel::publish(Worker &worker, const EpochMark &mark) {
  Board &board = worker.board[static_cast<size_t>(mark.request)];
  if (mark.confirmed * 2 + mark.ended > board.confirmed * 2 + board.ended)
    board = {mark.confirmed, mark.ended};
}

bool PipelineModel::alive(const Worker &worker, const Row &row) const {
  const Board &board = worker.board[static_cast<size_t>(row.request)];
  if (board.ended && row.node <= board.confirmed)
    return false;
  if (row.certain)
    return true;
  NodeId at = row.node;
  while (at > board.confirmed)
    at =
        nodes[static_cast<size_t>(row.request)][static_cast<size_t>(at)].parent;
  return at == board.confirmed;
}

void PipelineModel::arrive(size_t index, StepFrame frame) {
  Worker &worker = workers[index];
  worker.mailbox.push_back(std::move(frame));
  if (!worker.isDraft)
    framesPeak =
        std::max(framesPeak, static_cast<int64_t>(worker.mailbox.size()));
  if (!worker.busy)
    begin(index);
}

/// Takes a frame's rows into the step, except dead ones.
void PipelineModel::admit(Worker &worker, StepFrame frame) {
  for (const OpenRequest &open : frame.opens) {
    if (worker.open[static_cast<size_t>(open.request)])
      fail("opened twice");
    worker.open[static_cast<size_t>(open.request)] = 1;
    worker.step.opens.push_back(open);
  }
  for (const EpochMark &mark : frame.marks) {
    publish(worker, mark);
    if (options.sharedRank && (worker.isDraft || &worker == &workers.front()))
      publish(worker.isDraft ? workers.front() : workers.back(), mark);
    worker.step.marks.push_back(mark);
  }
  for (const Row &row : frame.rows) {
    if (!alive(worker, row))
      continue;
    std::vector<uint8_t> &store =
        worker.store[static_cast<size_t>(row.request)];
    store.resize(std::max(store.size(), static_cast<size_t>(row.node) + 1));
    bool found = row.parent == noNode || store[static_cast<size_t>(row.parent)];
    if (!found)
      fail(worker.isDraft ? "the draft lacks a row's parent"
                          : "a stage lacks a row's parent");
    if (!worker.open[static_cast<size_t>(row.request)])
      fail("a row of a request that is not open");
    store[static_cast<size_t>(row.node)] = 1;
    worker.step.rows.push_back(row);
  }
  for (RequestId request : frame.closes) {
    if (!worker.open[static_cast<size_t>(request)])
      fail("closed without being open");
    worker.open[static_cast<size_t>(request)] = 0;
    worker.store[static_cast<size_t>(request)].clear();
    worker.step.closes.push_back(request);
  }
  worker.step.step = frame.step;
  worker.step.launched = frame.launched;
  worker.step.timings = std::move(frame.timings);
}

void PipelineModel::begin(size_t index) {
  Worker &worker = workers[index];
  worker.step.clear();
  bool closes = false;
  while (!worker.mailbox.empty() && !closes) {
    StepFrame frame = std::move(worker.mailbox.front());
    worker.mailbox.pop_front();
    // A slot that is closed here is opened again in a later step, if at all.
    closes = !frame.closes.empty() || (options.wild && random() % 4 == 0) ||
             worker.isDraft;
    admit(worker, std::move(frame));
  }
  if (worker.isDraft && options.wild)
    checkDraft(worker);
  worker.busy = true;
  worker.started = worker.segment = clock;
  worker.startRows = static_cast<int64_t>(worker.step.rows.size());
  worker.remaining = 1;
  const auto &millis =
      worker.isDraft ? options.draftMillis : options.stepMillis;
  worker.millis = worker.startRows ? vary(millis(worker.startRows)) : 0;
  uint64_t generation = ++worker.generation;
  at(clock + Time(std::llround(worker.millis * 1e6)),
     [this, index, generation] { end(index, generation); });
}

/// Something was published: the worker checks at its next checkpoint.
void PipelineModel::schedule(size_t index) {
  Worker &worker = workers[index];
  if (!worker.busy || worker.millis <= 0)
    return;
  double done = (clock - worker.segment).count() / (worker.millis * 1e6);
  double here = 1 - worker.remaining + done * worker.remaining;
  double count = static_cast<double>(options.checkpoints);
  double next = std::min(1.0, std::floor(here * count + 1) / count);
  double wait = (next - here) / worker.remaining * worker.millis;
  at(clock + Time(std::llround(std::max(0.0, wait) * 1e6)),
     [this, index, generation = worker.generation] {
       checkpoint(index, generation);
     });
}

void PipelineModel::checkpoint(size_t index, uint64_t generation) {
  Worker &worker = workers[index];
  if (!worker.busy || worker.generation != generation)
    return;
  // A step may end before the worker checks again.
  if (options.wild && random() % 4 == 0)
    return;
  size_t before = worker.step.rows.size();
  std::erase_if(worker.step.rows, [&](const Row &row) {
    if (alive(worker, row))
      return false;
    std::vector<uint8_t> &store =
        worker.store[static_cast<size_t>(row.request)];
    if (static_cast<size_t>(row.node) < store.size())
      store[static_cast<size_t>(row.node)] = 0;
    return true;
  });
  size_t rows = worker.step.rows.size();
  if (rows == before)
    return;
  double done =
      std::min(1.0, (clock - worker.segment).count() / (worker.millis * 1e6));
  worker.remaining *= 1 - done;
  worker.segment = clock;
  const auto &millis =
      worker.isDraft ? options.draftMillis : options.stepMillis;
  worker.millis =
      rows ? worker.remaining * millis(static_cast<int64_t>(rows)) : 0;
  uint64_t next = ++worker.generation;
  at(clock + Time(std::llround(worker.millis * 1e6)),
     [this, index, next] { end(index, next); });
}

void PipelineModel::end(size_t index, uint64_t generation) {
  Worker &worker = workers[index];
  if (!worker.busy || worker.generation != generation)
    return;
  worker.busy = false;
  int64_t rows = static_cast<int64_t>(worker.step.rows.size());
  StageTiming timing = {.rows = static_cast<int32_t>(worker.startRows),
                        .departed =
                            static_cast<int32_t>(worker.startRows - rows),
                        .busyNanos = (clock - worker.started).count()};
  StepFrame out = std::move(worker.step);
  worker.step = {};
  if (worker.isDraft) {
    guess(worker, out, timing);
  } else {
    out.timings.push_back(timing);
    worker.lastOut =
        std::max(worker.lastOut, clock + delay(options.linkMillis));
    if (index + 2 < workers.size())
      at(worker.lastOut, [this, index, out] { arrive(index + 1, out); });
    else
      answer(worker, out, timing);
  }
  if (!worker.mailbox.empty() && !worker.busy)
    begin(index);
}

void PipelineModel::answer(Worker &worker, StepFrame &frame,
                           const StageTiming &) {
  ResultFrame results;
  results.step = frame.step;
  results.launched = frame.launched;
  results.timings = frame.timings;
  for (const Row &row : frame.rows)
    if (row.wantsOutput) {
      uint64_t hash =
          nodes[static_cast<size_t>(row.request)][static_cast<size_t>(row.node)]
              .hash;
      results.results.push_back({row.node, row.request, nextToken(hash), {}});
    }
  std::sort(results.results.begin(), results.results.end(),
            [](const ResultRow &a, const ResultRow &b) {
              return a.request != b.request ? a.request < b.request
                                            : a.node < b.node;
            });
  at(worker.lastOut, [this, results] {
    head.onResults(results, clock);
    obey();
  });
}

void PipelineModel::guess(Worker &, StepFrame &frame,
                          const StageTiming &timing) {
  GuessFrame reply;
  reply.step = frame.step;
  reply.timing = timing;
  for (const Row &row : frame.rows) {
    if (!row.wantsOutput)
      continue;
    GuessRow &guesses = reply.guesses.emplace_back();
    guesses.node = row.node;
    guesses.request = row.request;
    uint64_t hash =
        nodes[static_cast<size_t>(row.request)][static_cast<size_t>(row.node)]
            .hash;
    int32_t right = nextToken(hash);
    double luck = unit(mix(hash, options.seed + 99));
    int32_t other = right;
    for (size_t i = 0; i < options.hits.size(); ++i) {
      bool hit = luck >= 0 && luck < options.hits[i] &&
                 row.position >= options.rightFrom;
      luck = hit ? -1 : luck - options.hits[i];
      other = (other + 1) % options.vocabulary;
      guesses.candidates.push_back(
          {hit ? right : other, static_cast<float>(options.confidences[i])});
    }
  }
  --draftsOut;
  head.onGuesses(reply, clock);
  obey();
}

int64_t PipelineModel::held() const {
  int64_t count = 0;
  for (const Worker &worker : workers) {
    count += static_cast<int64_t>(worker.mailbox.size()) + worker.busy;
    count += std::count(worker.open.begin(), worker.open.end(), 1);
    for (const std::vector<uint8_t> &store : worker.store)
      count += std::count(store.begin(), store.end(), 1);
  }
  return count;
}

} // namespace sluice::test
