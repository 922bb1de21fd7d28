//===- CudaExecutor.cpp - runs the steps of a compiled program on a GPU ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All copies are in the stream before and after the graph, and are only as
// large as the step needs. The graph itself has only kernels.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaExecutor.h"

#include "runtime/device/cuda/CudaExecutorState.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

namespace sluice::cuda {

CudaExecutor::CudaExecutor(std::unique_ptr<State> state)
    : state(std::move(state)) {}

CudaExecutor::~CudaExecutor() {
  state->awaitIdle();
  if (!state->device->isGivenUp())
    return;
  static std::mutex mutex;
  static auto *kept = new std::vector<std::unique_ptr<State>>;
  std::lock_guard lock(mutex);
  kept->push_back(std::move(state));
}

const CudaExecutorLimits &CudaExecutor::limits() const {
  return state->context.limits;
}
int64_t CudaExecutor::vocabSize() const { return state->program.vocabSize; }
int64_t CudaExecutor::hiddenSize() const { return state->program.hiddenSize; }
bool CudaExecutor::hasEmbedding() const { return state->program.hasEmbedding; }
bool CudaExecutor::hasOutput() const { return state->program.hasOutput; }
uint64_t CudaExecutor::arenaBytes() const { return state->arena.bytes(); }

Expected<double> CudaExecutor::timeLastStep(int32_t runs) {
  if (!state->broken.ok())
    return state->broken;
  Expected<double> seconds = state->timeLastStep(runs);
  if (!seconds)
    state->broken = seconds.status();
  return seconds;
}

CudaExecutor::Inside CudaExecutor::inside(int64_t rows) const {
  return {state->context.plan,     state->arena.address(),
          state->stream,           state->program,
          *state->context.kernels, state->bucketFor(rows).nodes.list()};
}

void CudaExecutor::observe(NodeSequence::Observer observer) {
  state->observer = std::move(observer);
}

device::StepBounds CudaExecutor::State::bounds() const {
  const CudaExecutorLimits &limits = context.limits;
  return {program.hasEmbedding, program.hasOutput,    program.vocabSize,
          program.hiddenSize,   limits.rows,          limits.outputs,
          limits.pages,         limits.contextLength, /*hasDeviceRows=*/true};
}

Status CudaExecutor::execute(const device::StepInput &input) {
  if (!state->broken.ok())
    return state->broken;
  SLUICE_RETURN_IF_ERROR(device::checkStep(input, state->bounds()));
  SLUICE_RETURN_IF_ERROR(state->fillTables(input));
  state->broken =
      state->run(input).withContext(state->device->properties().name);
  return state->broken;
}

device::DeviceRows CudaExecutor::sentRows() const {
  return {state->sent, state->stream};
}

CudaExecutor::State::Bucket &CudaExecutor::State::bucketFor(int64_t rows) {
  return *std::find_if(buckets.begin(), buckets.end(),
                       [&](const Bucket &each) { return each.rows >= rows; });
}

Status CudaExecutor::State::fillTables(const device::StepInput &input) {
  const StepGraph &graph = *bucketFor(input.batch->rows()).description;
  return tables->fill(input, graph.layout, graph.attention());
}

Expected<double> CudaExecutor::State::timeLastStep(int32_t runs) {
  using Clock = std::chrono::steady_clock;
  if (!lastStep)
    return failure("there was no step");
  SLUICE_RETURN_IF_ERROR(device->enter());
  Clock::time_point begin;
  // The first run finds the device idle and is not measured.
  for (int32_t run = 0; run <= runs; ++run) {
    SLUICE_RETURN_IF_ERROR(lastStep->launch(stream));
    if (run > 0 && run < runs)
      continue;
    SLUICE_RETURN_IF_ERROR(device->record(ended, stream));
    SLUICE_RETURN_IF_ERROR(await(nullptr, lastStep, std::max(1, run)));
    if (run == 0)
      begin = Clock::now();
  }
  return std::chrono::duration<double>(Clock::now() - begin).count() / runs;
}

/// Runs a step whose tables are filled.
Status CudaExecutor::State::run(const device::StepInput &input) {
  const StepBatch &batch = *input.batch;
  const auto rows = static_cast<size_t>(batch.rows());
  SLUICE_RETURN_IF_ERROR(device->enter());
  SLUICE_RETURN_IF_ERROR(copyPages(input.copies));
  alive.assign(rows, 1);
  std::fill_n(aliveMemory.data(), rows, 1);
  *passed = *exchanged = exchangesSeen = 0;
  exchangeSeenAt = std::chrono::steady_clock::now().time_since_epoch();
  seenAt.clear();
  Bucket &bucket = bucketFor(batch.rows());
  for (StepTables::Part part : tables->stepParts())
    SLUICE_RETURN_IF_ERROR(sendTables(part));
  SLUICE_RETURN_IF_ERROR(sendIncoming(*bucket.description, input));
  lastStep = &bucket.nodes;
  SLUICE_RETURN_IF_ERROR(lastStep->launch(stream, observer));
  exchangesAwaited = bucket.description->exchanges;
  SLUICE_RETURN_IF_ERROR(fetchResults(bucket, input));
  SLUICE_RETURN_IF_ERROR(
      await(bucket.description->checkpoints ? input.checkpoints : nullptr,
            &bucket.nodes));
  exchangesAwaited = 0;
  replay(bucket, input);
  if (program.hasOutput)
    return fetchMissing(*bucket.description, input);
  if (input.keepsOutgoing)
    return keepSent(*bucket.description, input);
  writeSent(input);
  return {};
}

//===----------------------------------------------------------------------===//
// Copies to the device
//===----------------------------------------------------------------------===//

Status CudaExecutor::State::sendTables(StepTables::Part part) {
  if (part.count == 0)
    return {};
  const uint64_t offset = uint64_t(part.first) * sizeof(int32_t);
  return device->copyToDevice(arena.address() + context.plan.tables + offset,
                              tableMemory.data() + offset,
                              uint64_t(part.count) * sizeof(int32_t), stream);
}

/// Copies pages, as many at a time as the tables have room for. The last copies
/// may still be under way when it returns: their place in the tables is not
/// written again before the step has ended.
Status CudaExecutor::State::copyPages(std::span<const PageCopy> copies) {
  const auto room = static_cast<size_t>(TableLayout::copies);
  while (!copies.empty() && !copyNodes.isEmpty()) {
    std::span<const PageCopy> some =
        copies.first(std::min(copies.size(), room));
    copies = copies.subspan(some.size());
    tables->setCopies(some);
    SLUICE_RETURN_IF_ERROR(sendTables(tables->copyPart()));
    SLUICE_RETURN_IF_ERROR(copyNodes.launch(stream));
    if (copies.empty())
      break;
    // The next copies overwrite these entries of the tables.
    SLUICE_RETURN_IF_ERROR(device->record(ended, stream));
    SLUICE_RETURN_IF_ERROR(await(nullptr, &copyNodes));
  }
  return {};
}

/// Copies incoming rows on the device. Rows that follow each other in memory,
/// like those of a frame, go in one copy.
Status CudaExecutor::State::copyReceived(const StepGraph &graph,
                                         const device::StepInput &input) {
  const uint64_t bytes = uint64_t(program.hiddenSize) * sizeof(float);
  std::span<const uint64_t> from = input.incomingOnDevice;
  for (size_t row = 0, end = 0; row < from.size(); row = end) {
    for (end = row + 1; end < from.size() && from[end] == from[end - 1] + bytes;
         ++end) {
    }
    SLUICE_RETURN_IF_ERROR(device->copyOnDevice(
        graph.received + row * bytes, from[row], (end - row) * bytes, stream));
  }
  return {};
}

Status CudaExecutor::State::sendIncoming(const StepGraph &graph,
                                         const device::StepInput &input) {
  // The first member of a group broadcasts the incoming rows.
  if (graph.received == 0 || (context.group && context.group->member() > 0))
    return {};
  if (!input.incomingOnDevice.empty())
    return copyReceived(graph, input);
  const int64_t rows = input.batch->rows(), width = program.hiddenSize;
  for (int64_t row = 0; row < rows; ++row)
    decodeActivations(input.incomingFormat, input.incoming[size_t(row)],
                      incomingMemory.as<float>() + row * width, width);
  return device->copyToDevice(graph.received, incomingMemory.data(),
                              uint64_t(rows * width) * sizeof(float), stream);
}

//===----------------------------------------------------------------------===//
// Copies to the host
//===----------------------------------------------------------------------===//

/// Puts the copies of the step's results into the stream, and an event after
/// them.
Status CudaExecutor::State::fetchResults(const Bucket &bucket,
                                         const device::StepInput &input) {
  const StepGraph &graph = *bucket.description;
  const StepBatch &batch = *input.batch;
  if (program.hasOutput) {
    SLUICE_RETURN_IF_ERROR(fetchOutputs(graph, input));
  } else if (Status s = input.keepsOutgoing
                            ? Status()
                            : device->copyToHost(
                                  resultMemory.data(), graph.sent,
                                  uint64_t(batch.rows() * program.hiddenSize) *
                                      sizeof(float),
                                  stream);
             !s.ok()) {
    return s;
  }
  if (graph.checkpoints > 0)
    SLUICE_RETURN_IF_ERROR(device->copyToHost(
        departedMemory.data(), graph.table(graph.layout.departedAt),
        static_cast<uint64_t>(batch.rows()) * sizeof(int32_t), stream));
  return device->record(ended, stream);
}

/// Returns whether the other members still take part in the exchanges of the
/// step under way. Not every exchange is noted by itself; see GroupABI.h.
Status CudaExecutor::State::checkGroup(Time now) {
  if (!context.group)
    return {};
  // Relaxed: the host reads no data that the exchange has brought.
  const int32_t seen =
      std::atomic_ref(*exchanged).load(std::memory_order_relaxed);
  if (std::exchange(exchangesSeen, seen) != seen)
    exchangeSeenAt = now;
  if (seen < exchangesAwaited &&
      now - exchangeSeenAt > context.group->patience())
    context.group->giveUp(failure(
        "member ", context.group->member(), " of a group: exchange ", seen + 1,
        " of a step or one behind it has not ended within ",
        std::chrono::duration<double>(context.group->patience()).count(),
        " s: another member is lost"));
  return context.group->check();
}

/// Waits until the stream has reached the last record(), which comes after the
/// nodes `running`, launched `launches` times. Meanwhile it tells the device
/// which rows have died, and checks the group.
Status CudaExecutor::State::await(device::CheckpointHandler *checkpoints,
                                  const NodeSequence *running,
                                  int32_t launches) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const std::chrono::nanoseconds patience =
      launches * device->options().patience;
  while (true) {
    // The time is taken before the device is asked, so that a process that was
    // stopped in between finds the step done.
    const Clock::time_point now = Clock::now();
    const bool isLate = now - begin > patience;
    Expected<bool> done = device->isDone(ended);
    if (!done)
      return done.status();
    lookAtCheckpoints();
    if (*done)
      return {};
    SLUICE_RETURN_IF_ERROR(checkGroup(now.time_since_epoch()));
    if (checkpoints && checkpoints->findDead(alive))
      // Relaxed: no other data depend on the flags. Children are marked before
      // their parents, so that the device rarely sees a dead parent alone.
      for (size_t row = alive.size(); row-- > 0;)
        std::atomic_ref(aliveMemory.data()[row])
            .store(alive[row], std::memory_order_relaxed);
    if (isLate) {
      const std::string where = running ? running->whereItStands() : "";
      device->giveUp(failure("a step has not ended within ",
                             std::chrono::duration<double>(patience).count(),
                             " s", where.empty() ? "" : ": it is at ", where));
      return device->givenUp();
    }
    std::this_thread::yield();
  }
}

/// Records the time for checkpoints at which rows have left since the last
/// look.
void CudaExecutor::State::lookAtCheckpoints() {
  // Relaxed: which rows have left is read after the step has ended.
  noteSeen(std::atomic_ref(*passed).load(std::memory_order_relaxed));
}

void CudaExecutor::State::noteSeen(int32_t last) {
  if (last > std::ssize(seenAt))
    seenAt.resize(static_cast<size_t>(last),
                  std::chrono::steady_clock::now().time_since_epoch());
}

/// Removes from the batch the rows that left on the device, checkpoint by
/// checkpoint.
void CudaExecutor::State::replay(const Bucket &bucket,
                                 const device::StepInput &input) {
  const StepGraph &graph = *bucket.description;
  const StepBatch &batch = *input.batch;
  originOf.resize(static_cast<size_t>(batch.rows()));
  std::iota(originOf.begin(), originOf.end(), 0);
  outputOf.assign(originOf.size(), -1);
  bool anyDeparted = false;
  if (graph.checkpoints > 0 && input.checkpoints)
    input.checkpoints->agree();
  // The rest of a step without rows was not computed.
  for (int32_t at = 1; at <= graph.checkpoints && batch.rows() > 0; ++at) {
    if (at == graph.checkpointsBeforeOutputs + 1)
      noteOutputs(batch);
    anyDeparted |= leaveAt(at, input);
  }
  if (graph.checkpoints == graph.checkpointsBeforeOutputs)
    noteOutputs(batch);
  rowOf.resize(originOf.size());
  std::iota(rowOf.begin(), rowOf.end(), 0);
  if (anyDeparted)
    dropOrphans(input);
  outputSlot.clear();
  for (int32_t row : batch.outputRows())
    outputSlot.push_back(outputOf[size_t(originOf[size_t(row)])]);
}

/// Records the device's output numbers, which are those of the batch at this
/// point and stay.
void CudaExecutor::State::noteOutputs(const StepBatch &batch) {
  for (int64_t output = 0; output < batch.outputs(); ++output)
    outputOf[size_t(originOf[size_t(batch.outputRows()[size_t(output)])])] =
        static_cast<int32_t>(output);
}

/// Reports the checkpoint to the batch. Returns whether any rows left there.
bool CudaExecutor::State::leaveAt(int32_t checkpoint,
                                  const device::StepInput &input) {
  const auto *departedAt = departedMemory.as<int32_t>();
  stays.clear();
  bool all = true;
  for (int32_t origin : originOf) {
    stays.push_back(departedAt[origin] != checkpoint);
    all &= stays.back() != 0;
  }
  if (!input.checkpoints)
    return false;
  if (all) {
    input.checkpoints->leave({}, {});
    return false;
  }
  noteSeen(checkpoint);
  for (RowMove move :
       input.checkpoints->leave(stays, seenAt[size_t(checkpoint - 1)]))
    originOf[size_t(move.to)] = originOf[size_t(move.from)];
  originOf.resize(static_cast<size_t>(input.batch->rows()));
  return true;
}

/// Removes rows that the device does not know to be dead; its rows stay where
/// they are.
void CudaExecutor::State::dropOrphans(const device::StepInput &input) {
  for (RowMove move : input.checkpoints->dropOrphans()) {
    originOf[size_t(move.to)] = originOf[size_t(move.from)];
    rowOf[size_t(move.to)] = rowOf[size_t(move.from)];
  }
  originOf.resize(static_cast<size_t>(input.batch->rows()));
  rowOf.resize(originOf.size());
}

/// Moves rows of the device up to the places of those that the host has
/// removed. Each moved row comes from behind all rows that stay in place.
Status CudaExecutor::State::keepSent(const StepGraph &graph,
                                     const device::StepInput &input) {
  const uint64_t bytes = uint64_t(program.hiddenSize) * sizeof(float);
  sent = graph.sent;
  for (int64_t row = 0; row < input.batch->rows(); ++row)
    if (rowOf[size_t(row)] != row)
      SLUICE_RETURN_IF_ERROR(device->copyOnDevice(
          sent + uint64_t(row) * bytes,
          sent + uint64_t(rowOf[size_t(row)]) * bytes, bytes, stream));
  return {};
}

void CudaExecutor::State::writeSent(const device::StepInput &input) const {
  const int64_t width = program.hiddenSize;
  const int64_t bytes = width * activationBytes(input.outgoingFormat);
  for (int64_t row = 0; row < input.batch->rows(); ++row)
    encodeActivations(input.outgoingFormat,
                      resultMemory.as<float>() + rowOf[size_t(row)] * width,
                      input.outgoing.data() + row * bytes, width);
}

} // namespace sluice::cuda
