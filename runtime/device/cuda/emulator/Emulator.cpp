//===- Emulator.cpp - blocks of fibers and what they wait for -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/Emulator.h"

#include "runtime/device/cuda/emulator/CopyBarriers.h"
#include "runtime/device/cuda/emulator/Fiber.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace sluice::cuda::emulator {

namespace {

constexpr uint32_t warpLanes = 32;
constexpr uint32_t maxThreads = 1024;
/// Bytes after the end of shared memory, which show writes beyond it.
constexpr size_t guardBytes = 1024;
/// Fills the target of a copy until the copy is waited for.
constexpr uint8_t poison = 0xff;
constexpr uint8_t guard = 0xa5;

enum class State : uint8_t {
  New,
  Ready,
  AtBarrier,
  AtCollective,
  AtPrior,
  Ended
};

struct Copy {
  void *to;
  const void *from;
  size_t bytes;
};

struct Block;

struct Thread {
  uint32_t index = 0;
  Block *block = nullptr;
  State state = State::Ready;
  Collective kind = Collective::Sync;
  std::source_location where;
  void *mine = nullptr;
  std::vector<Copy> open;                ///< copies that are in no group yet
  std::vector<std::vector<Copy>> groups; ///< committed, oldest first
  std::unique_ptr<Fiber> fiber;
};

/// Fibers for the next launches of this thread.
thread_local std::vector<std::unique_ptr<Fiber>> idleFibers;

std::unique_ptr<Fiber> takeFiber() {
  if (idleFibers.empty())
    return std::make_unique<Fiber>();
  std::unique_ptr<Fiber> fiber = std::move(idleFibers.back());
  idleFibers.pop_back();
  return fiber;
}

/// A block that runs or is going to run.
struct Block {
  Block(uint32_t threadCount, size_t sharedBytes)
      : sharedBytes(sharedBytes),
        memory(static_cast<uint8_t *>(std::aligned_alloc(
                   128, (sharedBytes + guardBytes + 127) / 128 * 128)),
               &std::free),
        threads(threadCount), lanesWaiting(threadCount / warpLanes) {
    for (uint32_t i = 0; i < threadCount; ++i) {
      threads[i].index = i;
      threads[i].block = this;
      threads[i].fiber = takeFiber();
    }
  }

  void begin(Dim3 newPlace, uint8_t leftover);
  bool ended() const {
    return std::all_of(threads.begin(), threads.end(),
                       [](const Thread &t) { return t.state == State::Ended; });
  }

  Dim3 place;
  size_t sharedBytes;
  std::unique_ptr<uint8_t, void (*)(void *)> memory;
  std::vector<Thread> threads;
  /// lanesWaiting: for each warp, how many lanes wait in a collective.
  /// threadsWaiting: how many threads of the block wait at the barrier.
  std::vector<uint32_t> lanesWaiting;
  uint32_t threadsWaiting = 0;
  CopyBarriers copyBarriers;
};

void Block::begin(Dim3 newPlace, uint8_t leftover) {
  place = newPlace;
  std::memset(memory.get(), leftover, sharedBytes);
  std::memset(memory.get() + sharedBytes, guard, guardBytes);
  for (Thread &thread : threads)
    thread.state = State::New;
  std::fill(lanesWaiting.begin(), lanesWaiting.end(), 0);
  threadsWaiting = 0;
  copyBarriers.clear();
}

const char *nameOf(Collective kind) {
  switch (kind) {
  case Collective::Shuffle:
    return "a shuffle";
  case Collective::Vote:
    return "a vote";
  case Collective::MatrixLoad:
    return "a matrix load";
  case Collective::Product:
    return "a matrix product";
  case Collective::Sync:
    break;
  }
  return "a warp's barrier";
}

std::string lineOf(const std::source_location &where) {
  std::string file = where.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line());
}

class Launch {
public:
  Launch(const LaunchOptions &options, const std::function<void()> &kernel)
      : options(options), kernel(kernel), random(options.seed) {}

  Status run();
  void fail(const Thread &thread, const std::string &what);

  const LaunchOptions &options;
  Thread *running = nullptr;

private:
  std::vector<uint32_t> orderOf(size_t count);
  void runTogether(std::span<const uint32_t> indices);
  bool runReady();
  bool stalled(size_t warp);
  void runThread(Thread &thread);
  bool release();
  void checkEnd(const Block &block);
  void diagnose(const Block &block);

  const std::function<void()> &kernel;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Block>> blocks; ///< resident blocks
  std::vector<Thread *> threads; ///< the threads of resident blocks
  std::vector<uint32_t> stalls;  ///< [warp]: turns that it is going to miss
  Status failure;
};

thread_local Launch *current = nullptr;

std::string placeText(const Block &block) {
  const Dim3 &at = block.place;
  return "block (" + std::to_string(at.x) + "," + std::to_string(at.y) + "," +
         std::to_string(at.z) + "): ";
}

std::string text(const Thread &thread) {
  std::string name = "thread " + std::to_string(thread.index);
  switch (thread.state) {
  case State::AtBarrier:
    return name + " waits at the block's barrier at " + lineOf(thread.where);
  case State::AtCollective:
    return name + " waits in " + nameOf(thread.kind) + " at " +
           lineOf(thread.where);
  case State::Ended:
    return name + " has ended";
  default:
    return name + " runs";
  }
}

bool sameLine(const Thread &a, const Thread &b) {
  return a.where.line() == b.where.line() &&
         std::strcmp(a.where.file_name(), b.where.file_name()) == 0;
}

void Launch::fail(const Thread &thread, const std::string &what) {
  failure = Status::error(placeText(*thread.block) + what);
}

std::vector<uint32_t> Launch::orderOf(size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (options.order == Order::Descending)
    std::reverse(order.begin(), order.end());
  if (options.order == Order::Shuffled)
    std::shuffle(order.begin(), order.end(), random);
  return order;
}

Status Launch::run() {
  const Dim3 &grid = options.grid;
  std::vector<uint32_t> order = orderOf(size_t{grid.x} * grid.y * grid.z);
  size_t together = std::clamp<size_t>(options.resident, 1, order.size());
  for (size_t i = 0; i < together; ++i)
    blocks.push_back(
        std::make_unique<Block>(options.threads, options.sharedBytes));
  for (size_t first = 0; first < order.size(); first += together) {
    runTogether(std::span(order).subspan(
        first, std::min(together, order.size() - first)));
    if (!failure.ok())
      return failure;
  }
  // Fibers of a failed launch are abandoned with what is on their stacks.
  for (auto &block : blocks)
    for (Thread &thread : block->threads)
      idleFibers.push_back(std::move(thread.fiber));
  return Status();
}

void Launch::runTogether(std::span<const uint32_t> indices) {
  const Dim3 &grid = options.grid;
  if (options.prior)
    options.prior(false);
  threads.clear();
  for (size_t i = 0; i < indices.size(); ++i) {
    uint32_t index = indices[i];
    blocks[i]->begin(
        {index % grid.x, index / grid.x % grid.y, index / grid.x / grid.y},
        options.leftover);
    for (Thread &thread : blocks[i]->threads)
      threads.push_back(&thread);
  }
  stalls.assign(threads.size() / warpLanes, 0);
  while (runReady() || (failure.ok() && release())) {
  }
  for (size_t i = 0; failure.ok() && i < indices.size(); ++i)
    checkEnd(*blocks[i]);
}

/// Runs each thread that can continue, once. Returns whether there was one.
bool Launch::runReady() {
  bool any = false;
  for (uint32_t index : orderOf(threads.size())) {
    Thread &thread = *threads[index];
    if (thread.state != State::Ready && thread.state != State::New)
      continue;
    any = true;
    if (stalled(index / warpLanes))
      continue;
    runThread(thread);
    if (!failure.ok())
      return false;
  }
  return any;
}

/// In shuffled order, returns whether the warp is held back for a while, so
/// that other warps may get far ahead of it.
bool Launch::stalled(size_t warp) {
  if (options.order != Order::Shuffled)
    return false;
  constexpr uint32_t chance = 2048, longest = 16384;
  if (stalls[warp] > 0)
    return --stalls[warp] > 0;
  if (random() % chance == 0)
    stalls[warp] = uint32_t(random() % longest);
  return stalls[warp] > 0;
}

void Launch::runThread(Thread &thread) {
  running = &thread;
  if (thread.state == State::Ready)
    return thread.fiber->resume();
  thread.state = State::Ready;
  thread.fiber->start(
      [](void *launch) {
        auto *self = static_cast<Launch *>(launch);
        self->kernel();
        Thread &ended = *self->running;
        if (!ended.open.empty() || !ended.groups.empty())
          self->fail(ended, "thread " + std::to_string(ended.index) +
                                " has ended with copies that nobody waited "
                                "for");
        ended.state = State::Ended;
      },
      this);
}

/// Called when no thread can continue: lets those go on that wait for the
/// previous kernel.
bool Launch::release() {
  bool any = false;
  for (Thread *thread : threads)
    any |= thread->state == State::AtPrior;
  if (!any)
    return false;
  if (options.prior)
    options.prior(true);
  for (Thread *thread : threads)
    if (thread->state == State::AtPrior)
      thread->state = State::Ready;
  return true;
}

void Launch::checkEnd(const Block &block) {
  if (!block.ended())
    return diagnose(block);
  if (block.copyBarriers.hasOpenCopies())
    return fail(block.threads.front(),
                "the block has ended with bulk copies that nobody waited for");
  for (size_t i = 0; i < guardBytes; ++i)
    if (block.memory.get()[block.sharedBytes + i] != guard)
      return fail(block.threads.front(),
                  "shared memory was written behind its end, at " +
                      std::to_string(block.sharedBytes + i));
}

/// Called when no thread can continue: reports the places of two threads that
/// wait for each other.
void Launch::diagnose(const Block &block) {
  for (const Thread &one : block.threads) {
    if (one.state != State::AtCollective)
      continue;
    uint32_t first = one.index / warpLanes * warpLanes;
    for (uint32_t i = first; i < first + warpLanes; ++i) {
      const Thread &other = block.threads[i];
      if (other.state != one.state || other.kind != one.kind ||
          !sameLine(other, one))
        return fail(one, text(one) + ", but " + text(other));
    }
  }
  for (const Thread &one : block.threads)
    for (const Thread &other : block.threads)
      if (one.state == State::AtBarrier &&
          (other.state != State::AtBarrier || !sameLine(other, one)))
        return fail(one, text(one) + ", but " + text(other));
}

} // namespace

Status launch(const LaunchOptions &options,
              const std::function<void()> &kernel) {
  if (options.threads == 0 || options.threads % warpLanes != 0 ||
      options.threads > maxThreads)
    return failure("a block of ", options.threads, " threads");
  Launch now(options, kernel);
  Launch *outer = current;
  current = &now;
  Status status = now.run();
  current = outer;
  return status;
}

ThreadPosition threadPosition() {
  const Thread &self = *current->running;
  return {self.index, self.block->place, current->options.grid};
}

uint8_t *sharedMemory() { return current->running->block->memory.get(); }

void blockBarrier(std::source_location where) {
  Thread &self = *current->running;
  Block &block = *self.block;
  self.state = State::AtBarrier;
  self.where = where;
  bool all = ++block.threadsWaiting == block.threads.size();
  for (size_t i = 0; all && i < block.threads.size(); ++i)
    all = sameLine(block.threads[i], self);
  if (all) {
    for (Thread &thread : block.threads)
      thread.state = State::Ready;
    block.threadsWaiting = 0;
  }
  // The last thread, too, continues in the order of the launch.
  self.fiber->suspend();
}

void warpCollective(Collective kind, void *mine,
                    void (*resolve)(void *const *lanes),
                    std::source_location where) {
  Thread &self = *current->running;
  Block &block = *self.block;
  self.state = State::AtCollective;
  self.kind = kind;
  self.where = where;
  self.mine = mine;
  uint32_t warp = self.index / warpLanes;
  Thread *warpThreads = &block.threads[size_t{warp} * warpLanes];
  bool all = ++block.lanesWaiting[warp] == warpLanes;
  void *lanes[warpLanes];
  for (uint32_t i = 0; all && i < warpLanes; ++i) {
    const Thread &lane = warpThreads[i];
    all = lane.kind == kind && sameLine(lane, self);
    lanes[i] = lane.mine;
  }
  if (!all)
    return self.fiber->suspend();
  resolve(lanes);
  for (uint32_t i = 0; i < warpLanes; ++i)
    warpThreads[i].state = State::Ready;
  block.lanesWaiting[warp] = 0;
}

void waitForPrior() {
  Thread &self = *current->running;
  self.state = State::AtPrior;
  self.fiber->suspend();
}

void copyAsync(void *shared, const void *global, size_t bytes) {
  std::memset(shared, poison, bytes);
  current->running->open.push_back({shared, global, bytes});
}

void copyAsyncCommit() {
  Thread &self = *current->running;
  self.groups.push_back(std::move(self.open));
  self.open.clear();
}

void copyAsyncWait(int groupsLeft) {
  auto &groups = current->running->groups;
  while (static_cast<int>(groups.size()) > groupsLeft) {
    for (const Copy &copy : groups.front()) {
      std::memcpy(copy.to, copy.from, copy.bytes);
      if (uint64_t *sum = current->options.copiedBytes)
        *sum += copy.bytes;
    }
    groups.erase(groups.begin());
  }
}

/// Ends the launch if `wrong` describes a mistake.
static void expectNothing(const char *wrong, std::source_location where) {
  if (wrong)
    fail(wrong, where);
}

void initialiseBarrier(void *barrier, uint32_t arrivals,
                       std::source_location where) {
  Block &block = *current->running->block;
  expectNothing(block.copyBarriers.initialise(barrier, arrivals), where);
}

void arriveAtBarrier(void *barrier, uint32_t bytes,
                     std::source_location where) {
  Block &block = *current->running->block;
  expectNothing(block.copyBarriers.arrive(barrier, bytes), where);
}

void copyBulk(void *barrier, void *shared, const void *global, uint32_t bytes,
              std::source_location where) {
  Block &block = *current->running->block;
  const auto *begin = static_cast<uint8_t *>(shared);
  if (begin < block.memory.get() ||
      begin + bytes > block.memory.get() + block.sharedBytes)
    fail("a bulk copy to what is not the block's shared memory", where);
  expectNothing(block.copyBarriers.copy(barrier, shared, global, bytes), where);
}

bool testBarrier(void *barrier, uint32_t parity, std::source_location where) {
  Block &block = *current->running->block;
  bool ended = false;
  uint64_t copied = 0;
  expectNothing(block.copyBarriers.test(barrier, parity, ended, copied), where);
  if (uint64_t *sum = current->options.copiedBytes)
    *sum += copied;
  if (!ended)
    yield();
  return ended;
}

void yield() { current->running->fiber->suspend(); }

void fail(const char *what, std::source_location where) {
  Thread &self = *current->running;
  current->fail(self, "thread " + std::to_string(self.index) + " at " +
                          lineOf(where) + ": " + what);
  self.fiber->suspend();
  std::abort(); // A failed launch resumes no fiber.
}

} // namespace sluice::cuda::emulator
