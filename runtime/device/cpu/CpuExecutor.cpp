//===- CpuExecutor.cpp - the executor of compiled programs on CPUs --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/CpuExecutor.h"

#include "runtime/device/cpu/AvailableMemory.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/device/cpu/StepTasks.h"

#include <algorithm>

namespace sluice::cpu {

namespace {

constexpr int64_t maxRows = 1 << 20;
constexpr int64_t maxPages = 1 << 30;
/// Makes every buffer of the arena start on a cache line; see CpuProgramABI.h.
constexpr int64_t capacityMultiple = 16;

int64_t roundedCapacity(int64_t capacity) {
  return (capacity + capacityMultiple - 1) / capacityMultiple *
         capacityMultiple;
}

Status checkWeights(const CpuProgram &program) {
  const std::vector<CpuWeight> &weights = program.weights;
  // A table is indexed by positions or by tokens, whose number a program
  // without an embedding does not know. This checks the smaller number: only
  // the row kernel knows which it needs, and the compiler has checked that one.
  int64_t minRows = program.hasEmbedding
                        ? std::min(program.vocabSize, program.contextLength)
                        : program.contextLength;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (auto *packed = std::get_if<PackedWeight>(&weights[i])) {
      if (!packed->data)
        return failure("executor: weight ", i, " has no data");
    } else if (auto *table = std::get_if<EmbeddingTable>(&weights[i])) {
      std::optional<uint64_t> bytes = rowBytes(table->format, table->cols);
      if (!table->data || !bytes || *bytes == 0)
        return failure("executor: weight ", i, " is not a table of ",
                       formatInfo(table->format).name, " rows");
      if (table->rows < minRows)
        return failure("executor: weight ", i, ": a table of ", table->rows,
                       " rows has none for each token or position");
    } else if (std::get<std::span<const float>>(weights[i]).empty()) {
      return failure("executor: weight ", i, " is an empty vector");
    }
  }
  return {};
}

Status checkProgram(const CpuProgram &program) {
  if (program.step.tasks.empty())
    return failure("executor: the program has no tasks");
  SLUICE_RETURN_IF_ERROR(program.checkSizes());
  return checkWeights(program);
}

/// Replaces zeros by their defaults and checks the limits.
Expected<CpuExecutorOptions> resolve(const CpuProgram &program,
                                     CpuExecutorOptions limits,
                                     const ThreadPool *pool) {
  if (limits.contextLength == 0)
    limits.contextLength = program.contextLength;
  if (pool)
    limits.threads = pool->threads();
  else if (limits.threads == 0)
    limits.threads = std::min(defaultThreadCount(), maxThreads);
  for (auto [what, value, max] :
       {std::tuple{"context length", limits.contextLength,
                   program.contextLength},
        std::tuple{"threads", limits.threads, maxThreads},
        std::tuple{"rows", limits.rows, maxRows},
        std::tuple{"outputs", limits.outputs, maxRows},
        std::tuple{"pages", limits.pages, maxPages}})
    SLUICE_RETURN_IF_ERROR(device::checkRange(what, value, 1, max));
  limits.outputs = std::min(limits.outputs, limits.rows);
  return limits;
}

} // namespace

struct CpuExecutor::State {
  CpuProgram program; ///< does not change: `tasks` refer to it
  CpuExecutorOptions limits;
  std::shared_ptr<ThreadPool> pool;
  SluiceStep step;
  ZeroedMemory arena;
  StepTasks tasks;
  int64_t rowCapacity;
  int64_t outputCapacity;
  int64_t outputs = 0; ///< of the last step

  State(CpuProgram given, const CpuExecutorOptions &limits,
        std::shared_ptr<ThreadPool> team)
      : program(std::move(given)), limits(limits), pool(std::move(team)),
        rowCapacity(roundedCapacity(limits.rows)),
        outputCapacity(roundedCapacity(limits.outputs)) {
    step.pool = pool.get();
    step.linear = linearKernels(isaName(program.isa));
    step.attention = &attentionKernels(program.isa);
    step.reserve(limits.rows, pool->threads());
  }

  Status allocate();
  Status makeResident();
  uint64_t cacheBytes() const;

  float *logits() const {
    return arena.floats() + program.rowFloats * rowCapacity +
           program.logitsOffset * outputCapacity;
  }
};

Status CpuExecutor::State::allocate() {
  for (device::CacheShape shape : program.caches) {
    Expected<LayerCache> cache =
        LayerCache::create(shape, limits.cacheFormat, limits.pages);
    if (!cache)
      return cache.status();
    step.caches.push_back(cache.take());
    step.scratchFloats =
        std::max(step.scratchFloats, roundedCapacity(attentionScratchFloats(
                                         shape.headDim, limits.cacheFormat)));
  }
  for (const CpuWeight &weight : program.weights)
    if (const auto *packed = std::get_if<PackedWeight>(&weight))
      step.scratchFloats =
          std::max(step.scratchFloats,
                   roundedCapacity(linearScratchBytes(*step.linear, *packed) /
                                   static_cast<int64_t>(sizeof(float))));
  Expected<ZeroedMemory> scratch = ZeroedMemory::allocate(
      static_cast<uint64_t>(step.scratchFloats * limits.threads) *
          sizeof(float),
      "scratch memory");
  if (!scratch)
    return scratch.status();
  step.scratch = scratch.take();

  // Both products stay below 2^60, so their sum in floats does not overflow;
  // only the sum in bytes may.
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
  Expected<StepTasks> bound = StepTasks::bind(
      program, {arena.floats(), rowCapacity, outputCapacity}, step.caches);
  if (!bound)
    return bound.status();
  tasks = bound.take();
  return limits.resident ? makeResident() : Status();
}

Status CpuExecutor::State::makeResident() {
  uint64_t bytes = cacheBytes() + step.scratch.bytes() + arena.bytes();
  // Without this check the kernel would kill a process.
  if (auto available = availableMemory(); available && *available < bytes)
    return failure("memory: the cache and a step take ", bytes,
                   " bytes, and this machine has ", *available, " to give");
  for (LayerCache &cache : step.caches)
    SLUICE_RETURN_IF_ERROR(cache.makeResident());
  SLUICE_RETURN_IF_ERROR(step.scratch.makeResident("scratch memory"));
  return arena.makeResident("arena");
}

uint64_t CpuExecutor::State::cacheBytes() const {
  uint64_t bytes = 0;
  for (const LayerCache &cache : step.caches)
    bytes += cache.bytes();
  return bytes;
}

Expected<std::unique_ptr<CpuExecutor>>
CpuExecutor::create(CpuProgram program, const CpuExecutorOptions &wanted,
                    std::shared_ptr<ThreadPool> pool,
                    comm::Collectives *group) {
  if (int64_t members = group ? group->members() : 1;
      members != program.members)
    return failure("executor: a program for ", program.members,
                   " members in a group of ", members);
  SLUICE_RETURN_IF_ERROR(checkProgram(program));
  Expected<CpuExecutorOptions> limits = resolve(program, wanted, pool.get());
  if (!limits)
    return limits.status();
  SLUICE_RETURN_IF_ERROR(requireIsa(isaName(program.isa)));
  if (!pool)
    pool = std::make_shared<ThreadPool>(limits->threads);
  auto state =
      std::make_unique<State>(std::move(program), *limits, std::move(pool));
  state->step.group = group;
  SLUICE_RETURN_IF_ERROR(state->allocate());
  return std::unique_ptr<CpuExecutor>(new CpuExecutor(std::move(state)));
}

CpuExecutor::CpuExecutor(std::unique_ptr<State> state)
    : state(std::move(state)) {}
CpuExecutor::~CpuExecutor() = default;

const CpuExecutorOptions &CpuExecutor::limits() const { return state->limits; }
int64_t CpuExecutor::vocabSize() const { return state->program.vocabSize; }
int64_t CpuExecutor::hiddenSize() const { return state->program.hiddenSize; }
bool CpuExecutor::hasEmbedding() const { return state->program.hasEmbedding; }
bool CpuExecutor::hasOutput() const { return state->program.hasOutput; }
int64_t CpuExecutor::threads() const { return state->pool->threads(); }
uint64_t CpuExecutor::arenaBytes() const { return state->arena.bytes(); }

uint64_t CpuExecutor::cacheBytes() const { return state->cacheBytes(); }

device::StepBounds CpuExecutor::bounds() const {
  const CpuProgram &program = state->program;
  return {.hasEmbedding = program.hasEmbedding,
          .hasOutput = program.hasOutput,
          .vocabSize = program.vocabSize,
          .hiddenSize = program.hiddenSize,
          .limits = state->limits};
}

Status CpuExecutor::execute(const device::StepInput &input) {
  SLUICE_RETURN_IF_ERROR(device::checkStep(input, bounds()));
  // Thread 0 may change the batch at a checkpoint before another thread has
  // started, so the counts are read here.
  const StepCounts counts = {input.batch->rows(), input.batch->outputs()};
  state->step.begin(input);
  auto body = [&](int64_t thread) {
    int64_t threads = state->pool->threads();
    if (!input.copies.empty()) {
      state->step.copyPages(thread, threads);
      state->step.barrier(thread);
    }
    state->tasks.run(state->step, counts, thread, threads);
    if (input.timesWaits)
      state->step.endShare(thread);
  };
  state->pool->run(body);
  state->outputs = input.batch->outputs();
  return state->step.broken;
}

std::optional<device::StepWaits> CpuExecutor::waits() const {
  if (!state->step.input.timesWaits)
    return std::nullopt;
  return state->step.sumWaits();
}

std::span<const float> CpuExecutor::logits(int64_t output) const {
  assert(state->program.hasOutput && output >= 0 && output < state->outputs);
  int64_t size = state->program.vocabSize;
  return {state->logits() + output * size, static_cast<size_t>(size)};
}

} // namespace sluice::cpu
