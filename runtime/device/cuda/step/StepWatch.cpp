//===- StepWatch.cpp - waits for a step and talks with it -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/step/StepWatch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <variant>

namespace sluice::cuda {

Status StepWatch::allocate() {
  const auto rows = static_cast<uint64_t>(model.limits().rows);
  const uint64_t passedAt = (rows + 63) / 64 * 64;
  const uint64_t exchangedAt = passedAt + sizeof(int32_t);
  SLUICE_RETURN_IF_ERROR(
      flags.assign(*model.device, exchangedAt + sizeof(int32_t)));
  GraphContext &context = model.context;
  context.alive = flags.onDevice();
  context.passed = context.alive + passedAt;
  context.exchanged = context.alive + exchangedAt;
  passed = reinterpret_cast<int32_t *>(flags.data() + passedAt);
  exchanged = reinterpret_cast<int32_t *>(flags.data() + exchangedAt);
  alive.reserve(rows);
  seenAt.reserve(static_cast<size_t>(std::ranges::count_if(
      model.program.step.tasks, [](const device::StepTask &task) {
        return std::holds_alternative<device::CheckpointTask>(task);
      })));
  return {};
}

void StepWatch::begin(int64_t rows) {
  alive.assign(static_cast<size_t>(rows), 1);
  std::fill_n(flags.data(), rows, 1);
  *passed = *exchanged = exchangesSeen = 0;
  exchangeSeenAt = std::chrono::steady_clock::now().time_since_epoch();
  seenAt.clear();
}

/// Returns whether the other members still take part in the exchanges of the
/// step under way. Not every exchange is noted by itself; see GroupABI.h.
Status StepWatch::checkGroup(Time now) {
  DeviceGroup *group = model.context.group;
  if (!group)
    return {};
  // Relaxed: the host reads no data that the exchange has brought.
  const int32_t seen =
      std::atomic_ref(*exchanged).load(std::memory_order_relaxed);
  if (std::exchange(exchangesSeen, seen) != seen)
    exchangeSeenAt = now;
  if (seen < exchangesAwaited && now - exchangeSeenAt > group->patience())
    group->giveUp(
        failure("member ", group->member(), " of a group: exchange ", seen + 1,
                " of a step or one behind it has not ended within ",
                std::chrono::duration<double>(group->patience()).count(),
                " s: another member is lost"));
  return group->check();
}

Status StepWatch::await(device::CheckpointHandler *checkpoints,
                        const NodeSequence *running, int32_t launches) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const std::chrono::nanoseconds patience =
      launches * model.device->options().patience;
  while (true) {
    // The time is taken before the device is asked, so that a process that was
    // stopped in between finds the step done.
    const Clock::time_point now = Clock::now();
    const bool isLate = now - begin > patience;
    Expected<bool> done = model.device->isDone(model.ended);
    if (!done)
      return done.status();
    lookAtCheckpoints();
    if (*done)
      return {};
    SLUICE_RETURN_IF_ERROR(checkGroup(now.time_since_epoch()));
    if (checkpoints && checkpoints->findDead(alive))
      tellDead();
    if (isLate) {
      const std::string where = running ? running->whereItStands() : "";
      model.device->giveUp(
          failure("a step has not ended within ",
                  std::chrono::duration<double>(patience).count(), " s",
                  where.empty() ? "" : ": it is at ", where));
      return model.device->givenUp();
    }
    std::this_thread::yield();
  }
}

/// Writes the flags of rows that have died. Children are marked before their
/// parents, so that the device rarely sees a dead parent alone.
void StepWatch::tellDead() {
  // Relaxed: no other data depend on the flags.
  for (size_t row = alive.size(); row-- > 0;)
    std::atomic_ref(flags.data()[row])
        .store(alive[row], std::memory_order_relaxed);
}

/// Records the time for checkpoints at which rows have left since the last
/// look.
void StepWatch::lookAtCheckpoints() {
  // Relaxed: which rows have left is read after the step has ended.
  noteSeen(std::atomic_ref(*passed).load(std::memory_order_relaxed));
}

void StepWatch::noteSeen(int32_t last) {
  if (last > std::ssize(seenAt))
    seenAt.resize(static_cast<size_t>(last),
                  std::chrono::steady_clock::now().time_since_epoch());
}

void StepWatch::awaitIdle() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + model.device->options().patience;
  if (!model.ended || !model.device->enter().ok() ||
      !model.device->record(model.ended, model.stream).ok())
    return;
  for (Expected<bool> done = false; done && !*done;
       done = model.device->isDone(model.ended)) {
    const Clock::time_point now = Clock::now();
    if (exchangesAwaited > 0)
      (void)checkGroup(now.time_since_epoch());
    if (now > end)
      model.device->giveUp(failure("a step that has failed does not end"));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Time StepWatch::whenSeen(int32_t checkpoint) {
  noteSeen(checkpoint);
  return seenAt[static_cast<size_t>(checkpoint - 1)];
}

} // namespace sluice::cuda
