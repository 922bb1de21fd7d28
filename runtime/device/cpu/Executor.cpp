//===- Executor.cpp - runs the steps of a compiled program ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Executor.h"
#include "runtime/device/cpu/ProcessorCount.h"
#include "runtime/device/cpu/Step.h"

#include <algorithm>
#include <limits>

namespace sluice::cpu {

namespace {

constexpr int64_t maxThreads = 1024;
constexpr int64_t maxRows = 1 << 20;
/// Makes every buffer of the arena start on a cache line; see ProgramABI.h.
constexpr int64_t capacityMultiple = 16;

int64_t roundedCapacity(int64_t capacity) {
  return (capacity + capacityMultiple - 1) / capacityMultiple *
         capacityMultiple;
}

Status checkRange(const char *what, int64_t value, int64_t least,
                  int64_t most) {
  if (value < least || value > most)
    return failure("executor: ", what, ": ", value, " is not between ", least,
                   " and ", most);
  return {};
}

Status checkWeights(const Program &program) {
  const std::vector<Weight> &weights = program.weights;
  // A table is looked up by tokens or by positions; the step function knows
  // which, and its compiler has checked the one that it is.
  int64_t leastRows = std::min(program.vocabSize, program.contextLength);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (auto *packed = std::get_if<PackedWeight>(&weights[i])) {
      if (!packed->data)
        return failure("executor: weight ", i, " has no data");
    } else if (auto *table = std::get_if<RowTable>(&weights[i])) {
      std::optional<uint64_t> bytes = rowBytes(table->format, table->cols);
      if (!table->data || !bytes || *bytes == 0)
        return failure("executor: weight ", i, " is not a table of ",
                       formatInfo(table->format).name, " rows");
      if (table->rows < leastRows)
        return failure("executor: weight ", i, ": a table of ", table->rows,
                       " rows has none for each token or position");
    } else if (std::get<std::span<const float>>(weights[i]).empty()) {
      return failure("executor: weight ", i, " is an empty vector");
    }
  }
  return {};
}

Status checkProgram(const Program &program) {
  constexpr int64_t most = int64_t{1} << 40;
  if (!program.step)
    return failure("executor: the program has no step function");
  for (auto [what, value, least] :
       {std::tuple{"row floats", program.rowFloats, int64_t{1}},
        std::tuple{"output floats", program.outputFloats, int64_t{1}},
        std::tuple{"logits offset", program.logitsOffset, int64_t{0}}})
    if (Status s = checkRange(what, value, least, most); !s.ok())
      return s;
  constexpr int64_t most32 = std::numeric_limits<int32_t>::max();
  for (auto [what, value] :
       {std::pair{"vocabulary", program.vocabSize},
        std::pair{"context length", program.contextLength}})
    if (Status s = checkRange(what, value, 1, most32); !s.ok())
      return s;
  if (program.logitsOffset + program.vocabSize > program.outputFloats)
    return failure("executor: logits end at ",
                   program.logitsOffset + program.vocabSize, " of ",
                   program.outputFloats, " floats of an output");
  return checkWeights(program);
}

/// Fills in what zeros stand for, and checks.
Expected<ExecutorLimits> resolve(const Program &program,
                                 ExecutorLimits limits) {
  if (limits.contextLength == 0)
    limits.contextLength = program.contextLength;
  if (limits.threads == 0)
    limits.threads = std::min(defaultThreadCount(), maxThreads);
  for (auto [what, value, most] :
       {std::tuple{"context length", limits.contextLength,
                   program.contextLength},
        std::tuple{"threads", limits.threads, maxThreads},
        std::tuple{"rows", limits.rows, maxRows},
        std::tuple{"outputs", limits.outputs, maxRows},
        std::tuple{"sequences", limits.sequences, maxRows}})
    if (Status s = checkRange(what, value, 1, most); !s.ok())
      return s;
  limits.outputs = std::min(limits.outputs, limits.rows);
  if (limits.cacheTokens == 0)
    limits.cacheTokens = limits.sequences *
                         CachePages::pagesFor(limits.contextLength) *
                         CachePages::pageTokens;
  if (Status s =
          checkRange("cache tokens", limits.cacheTokens, 1, int64_t{1} << 40);
      !s.ok())
    return s;
  return limits;
}

} // namespace

struct Executor::State {
  Program program; ///< its weights and tables have moved to `step`
  ExecutorLimits limits;
  CachePages pages;
  ThreadPool pool;
  SluiceStep step;
  ZeroedMemory arena;
  int64_t rowCapacity;
  int64_t outputCapacity;
  int64_t outputs = 0; ///< of the last step

  State(Program given, const ExecutorLimits &limits, CachePages pages)
      : program(std::move(given)), limits(limits), pages(std::move(pages)),
        pool(limits.threads), rowCapacity(roundedCapacity(limits.rows)),
        outputCapacity(roundedCapacity(limits.outputs)) {
    step.weights = std::move(program.weights);
    step.ropeTables = std::move(program.ropeTables);
    step.pool = &pool;
    step.pages = &this->pages;
    step.linear = linearKernels(isaName(program.isa));
    step.attention = &attentionKernels(program.isa);
    step.runs.reserve(static_cast<size_t>(limits.rows));
    step.nextUnit =
        std::make_unique<SluiceStep::Counter[]>(program.caches.size());
  }

  Status allocate();

  float *logits() const {
    return arena.floats() + program.rowFloats * rowCapacity +
           program.logitsOffset * outputCapacity;
  }
};

Status Executor::State::allocate() {
  for (CacheShape shape : program.caches) {
    Expected<LayerCache> cache =
        LayerCache::create(shape, pages.limits().pages);
    if (!cache)
      return cache.status();
    step.caches.push_back(cache.take());
    step.scratchFloats =
        std::max(step.scratchFloats,
                 roundedCapacity(attentionScratchFloats(shape.headDim)));
  }
  Expected<ZeroedMemory> scratch = ZeroedMemory::allocate(
      static_cast<uint64_t>(step.scratchFloats * limits.threads) *
          sizeof(float),
      "attention scratch");
  if (!scratch)
    return scratch.status();
  step.scratch = scratch.take();

  // Both products stay below 2^60; so does their sum in floats, and only in
  // bytes it may not fit.
  uint64_t floats =
      static_cast<uint64_t>(program.rowFloats * rowCapacity) +
      static_cast<uint64_t>(program.outputFloats * outputCapacity);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(floats, sizeof(float), &bytes))
    return failure("arena: ", floats, " floats are more than can be addressed");
  Expected<ZeroedMemory> memory = ZeroedMemory::allocate(bytes, "arena");
  if (!memory)
    return memory.status();
  arena = memory.take();
  return {};
}

Expected<std::unique_ptr<Executor>>
Executor::create(Program program, const ExecutorLimits &wanted) {
  if (Status s = checkProgram(program); !s.ok())
    return s;
  Expected<ExecutorLimits> limits = resolve(program, wanted);
  if (!limits)
    return limits.status();
  if (Status s = requireIsa(isaName(program.isa)); !s.ok())
    return s;
  Expected<CachePages> pages =
      CachePages::create({CachePages::pagesFor(limits->cacheTokens),
                          limits->sequences, limits->contextLength});
  if (!pages)
    return pages.status();
  auto state =
      std::make_unique<State>(std::move(program), *limits, pages.take());
  if (Status s = state->allocate(); !s.ok())
    return s;
  return std::unique_ptr<Executor>(new Executor(std::move(state)));
}

Executor::Executor(std::unique_ptr<State> state) : state(std::move(state)) {}
Executor::~Executor() = default;

const ExecutorLimits &Executor::limits() const { return state->limits; }
int64_t Executor::vocabSize() const { return state->program.vocabSize; }
int64_t Executor::threads() const { return state->pool.threads(); }
uint64_t Executor::arenaBytes() const { return state->arena.bytes(); }

uint64_t Executor::cacheBytes() const {
  uint64_t bytes = 0;
  for (const LayerCache &cache : state->step.caches)
    bytes += cache.bytes();
  return bytes;
}

Expected<SequenceId> Executor::openSequence() { return state->pages.open(); }

void Executor::closeSequence(SequenceId sequence) {
  state->pages.close(sequence);
}

int64_t Executor::sequenceLength(SequenceId sequence) const {
  return state->pages.length(sequence);
}

void Executor::truncateSequence(SequenceId sequence, int64_t length) {
  state->pages.truncate(sequence, length);
}

/// Cuts the batch into runs of one sequence each, and checks all that needs no
/// change to find out.
Status Executor::check(const StepBatch &batch) const {
  if (batch.rows() == 0)
    return failure("step: no rows");
  if (batch.rows() > state->limits.rows)
    return failure("step: ", batch.rows(), " rows is more than the limit of ",
                   state->limits.rows);
  if (batch.outputs() > state->limits.outputs)
    return failure("step: ", batch.outputs(),
                   " rows ask for logits, more than the limit of ",
                   state->limits.outputs);
  std::vector<RowRun> &runs = state->step.runs;
  runs.clear();
  for (int64_t row = 0; row < batch.rows(); ++row) {
    int32_t token = batch.tokens()[row];
    SequenceId sequence = batch.sequences()[row];
    int64_t position = batch.positions()[row];
    if (token < 0 || token >= state->program.vocabSize)
      return failure("step: token ", token, " at position ", position,
                     " is not in the vocabulary of ", state->program.vocabSize);
    if (position >= state->limits.contextLength)
      return failure("step: position ", position, " is beyond the context of ",
                     state->limits.contextLength);
    // StepBatch keeps a sequence's rows together and without gaps.
    if (row > 0 && sequence == batch.sequences()[row - 1]) {
      ++runs.back().count;
      continue;
    }
    runs.push_back({row, 1});
    if (!state->pages.isOpen(sequence))
      return failure("step: sequence ", sequence, " is not open");
    if (position != state->pages.length(sequence))
      return failure("step: sequence ", sequence, ": position ", position,
                     " does not continue its ", state->pages.length(sequence),
                     " tokens");
  }
  return {};
}

/// Makes room in the cache for every row, or for none.
Status Executor::reserve(const StepBatch &batch) {
  const std::vector<RowRun> &runs = state->step.runs;
  for (size_t i = 0; i < runs.size(); ++i) {
    Status grown =
        state->pages.grow(batch.sequences()[runs[i].begin],
                          batch.positions()[runs[i].begin] + runs[i].count);
    if (grown.ok())
      continue;
    while (i-- > 0)
      state->pages.truncate(batch.sequences()[runs[i].begin],
                            batch.positions()[runs[i].begin]);
    return grown;
  }
  return {};
}

Status Executor::execute(const StepBatch &batch) {
  if (Status s = check(batch); !s.ok())
    return s;
  if (Status s = reserve(batch); !s.ok())
    return s;
  SluiceStep &step = state->step;
  step.batch = &batch;
  for (size_t layer = 0; layer < step.caches.size(); ++layer)
    step.nextUnit[layer].value.store(0, std::memory_order_relaxed);
  state->outputs = batch.outputs();
  auto body = [this, &batch](int64_t thread) {
    state->program.step(&state->step, batch.rows(), batch.outputs(),
                        state->arena.floats(), state->rowCapacity,
                        state->outputCapacity, thread, state->pool.threads());
  };
  state->pool.run(body);
  step.batch = nullptr;
  return {};
}

std::span<const float> Executor::logits(int64_t output) const {
  assert(output >= 0 && output < state->outputs);
  int64_t size = state->program.vocabSize;
  return {state->logits() + output * size, static_cast<size_t>(size)};
}

} // namespace sluice::cpu
