//===- Emulator.cpp - blocks of fibers and what they wait for -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/Emulator.h"
#include "runtime/device/cuda/emulator/Fiber.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace sluice::cuda::emulator {

namespace {

constexpr uint32_t warpLanes = 32;
constexpr uint32_t maxThreads = 1024;
/// Behind the end of shared memory, to see what is written there.
constexpr size_t guardBytes = 1024;
constexpr uint8_t poison = 0xff, guard = 0xa5;

enum class State : uint8_t { Ready, AtBarrier, AtCollective, AtPrior, Ended };

struct Copy {
  void *to;
  const void *from;
  size_t bytes;
};

struct Thread {
  uint32_t index = 0;
  State state = State::Ready;
  Collective kind = Collective::Sync;
  std::source_location where;
  void *mine = nullptr;
  std::vector<Copy> open;                ///< copies of no group yet
  std::vector<std::vector<Copy>> groups; ///< committed, oldest first
  Fiber fiber;
};

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
      : options(options), kernel(kernel), random(options.seed),
        memory(static_cast<uint8_t *>(std::aligned_alloc(
                   128, (options.sharedBytes + guardBytes + 127) / 128 * 128)),
               &std::free),
        lanesWaiting(options.threads / warpLanes) {
    for (uint32_t i = 0; i < options.threads; ++i) {
      threads.push_back(std::make_unique<Thread>());
      threads.back()->index = i;
    }
  }

  Status run();

  const LaunchOptions &options;
  const std::function<void()> &kernel;
  std::mt19937_64 random;
  std::unique_ptr<uint8_t, void (*)(void *)> memory;
  std::vector<std::unique_ptr<Thread>> threads;
  /// Of each warp: its lanes that wait in a collective. And of the block: its
  /// threads that wait at the barrier.
  std::vector<uint32_t> lanesWaiting;
  uint32_t threadsWaiting = 0;
  Thread *running = nullptr;
  Dim3 block;
  Status failure;

private:
  std::vector<uint32_t> orderOf(uint32_t count);
  void runBlock();
  bool runReady();
  bool release();
  void diagnose();
  void endOf(const Thread &thread);
  std::string placeText() const;
  std::string text(const Thread &thread) const;

  friend void emulator::fail(const char *, std::source_location);
};

thread_local Launch *current = nullptr;

std::string Launch::placeText() const {
  return "block (" + std::to_string(block.x) + "," + std::to_string(block.y) +
         "," + std::to_string(block.z) + "): ";
}

std::string Launch::text(const Thread &thread) const {
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

std::vector<uint32_t> Launch::orderOf(uint32_t count) {
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
  uint32_t blocks = grid.x * grid.y * grid.z;
  for (uint32_t index : orderOf(blocks)) {
    block = {index % grid.x, index / grid.x % grid.y, index / grid.x / grid.y};
    runBlock();
    if (!failure.ok())
      return failure;
  }
  return Status();
}

void Launch::runBlock() {
  uint8_t *shared = memory.get();
  std::memset(shared, poison, options.sharedBytes);
  std::memset(shared + options.sharedBytes, guard, guardBytes);
  if (options.prior)
    options.prior(false);
  for (auto &thread : threads)
    thread->state = State::Ready;
  std::fill(lanesWaiting.begin(), lanesWaiting.end(), 0);
  threadsWaiting = 0;
  for (uint32_t index : orderOf(options.threads)) {
    running = threads[index].get();
    running->fiber.start(
        [](void *launch) {
          auto *self = static_cast<Launch *>(launch);
          self->kernel();
          self->endOf(*self->running);
        },
        this);
    if (!failure.ok())
      return;
  }
  while (runReady() || release())
    if (!failure.ok())
      return;
  if (!failure.ok())
    return;
  bool ended = std::all_of(threads.begin(), threads.end(), [](auto &thread) {
    return thread->state == State::Ended;
  });
  if (!ended)
    return diagnose();
  for (size_t i = 0; i < guardBytes; ++i)
    if (shared[options.sharedBytes + i] != guard) {
      failure = Status::error(placeText() +
                              "shared memory was written behind its end, at " +
                              std::to_string(options.sharedBytes + i));
      return;
    }
}

void Launch::endOf(const Thread &thread) {
  if (!thread.open.empty() || !thread.groups.empty())
    failure =
        Status::error(placeText() + "thread " + std::to_string(thread.index) +
                      " has ended with copies that nobody waited for");
  running->state = State::Ended;
}

/// Runs each thread that can go on, once. Whether there was one.
bool Launch::runReady() {
  bool any = false;
  for (uint32_t index : orderOf(options.threads)) {
    if (threads[index]->state != State::Ready)
      continue;
    any = true;
    running = threads[index].get();
    running->fiber.resume();
    if (!failure.ok())
      return false;
  }
  return any;
}

/// No thread can go on: those that wait for the kernel before now may.
bool Launch::release() {
  bool any = false;
  for (auto &thread : threads)
    any |= thread->state == State::AtPrior;
  if (!any)
    return false;
  if (options.prior)
    options.prior(true);
  for (auto &thread : threads)
    if (thread->state == State::AtPrior)
      thread->state = State::Ready;
  return true;
}

/// Nothing moves any more: says of two threads that wait for each other where
/// they are.
void Launch::diagnose() {
  for (auto &one : threads) {
    if (one->state != State::AtCollective)
      continue;
    uint32_t first = one->index / warpLanes * warpLanes;
    for (uint32_t i = first; i < first + warpLanes; ++i) {
      const Thread &other = *threads[i];
      if (other.state == one->state && other.kind == one->kind &&
          other.where.line() == one->where.line())
        continue;
      failure =
          Status::error(placeText() + text(*one) + ", but " + text(other));
      return;
    }
  }
  for (auto &one : threads)
    for (auto &other : threads)
      if (one->state == State::AtBarrier &&
          (other->state != State::AtBarrier ||
           other->where.line() != one->where.line())) {
        failure =
            Status::error(placeText() + text(*one) + ", but " + text(*other));
        return;
      }
}

bool sameLine(const Thread &a, const Thread &b) {
  return a.where.line() == b.where.line() &&
         std::strcmp(a.where.file_name(), b.where.file_name()) == 0;
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

Place place() {
  return {current->running->index, current->block, current->options.grid};
}

uint8_t *sharedMemory() { return current->memory.get(); }

void blockBarrier(std::source_location where) {
  Thread &self = *current->running;
  self.state = State::AtBarrier;
  self.where = where;
  bool all = ++current->threadsWaiting == current->threads.size();
  for (size_t i = 0; all && i < current->threads.size(); ++i)
    all = sameLine(*current->threads[i], self);
  if (all) {
    for (auto &thread : current->threads)
      thread->state = State::Ready;
    current->threadsWaiting = 0;
  }
  // The last one's turn, too, comes in the launch's order.
  self.fiber.suspend();
}

void warpCollective(Collective kind, void *mine,
                    void (*resolve)(void *const *lanes),
                    std::source_location where) {
  Thread &self = *current->running;
  self.state = State::AtCollective;
  self.kind = kind;
  self.where = where;
  self.mine = mine;
  uint32_t warp = self.index / warpLanes;
  auto *warpThreads = &current->threads[size_t{warp} * warpLanes];
  bool all = ++current->lanesWaiting[warp] == warpLanes;
  void *lanes[warpLanes];
  for (uint32_t i = 0; all && i < warpLanes; ++i) {
    const Thread &lane = *warpThreads[i];
    all = lane.kind == kind && sameLine(lane, self);
    lanes[i] = lane.mine;
  }
  if (!all)
    return self.fiber.suspend();
  resolve(lanes);
  for (uint32_t i = 0; i < warpLanes; ++i)
    warpThreads[i]->state = State::Ready;
  current->lanesWaiting[warp] = 0;
}

void waitForPrior() {
  Thread &self = *current->running;
  self.state = State::AtPrior;
  self.fiber.suspend();
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
    for (const Copy &copy : groups.front())
      std::memcpy(copy.to, copy.from, copy.bytes);
    groups.erase(groups.begin());
  }
}

void fail(const char *what, std::source_location where) {
  Thread &self = *current->running;
  current->failure = Status::error(current->placeText() + "thread " +
                                   std::to_string(self.index) + " at " +
                                   lineOf(where) + ": " + what);
  self.fiber.suspend();
  std::abort(); // A failed launch resumes nobody.
}

} // namespace sluice::cuda::emulator
