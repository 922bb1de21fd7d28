//===- GraphModel.h - a chain of the tiny model's programs on a GPU -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_GRAPHMODEL_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_GRAPHMODEL_H

#include "runtime/core/RowMoves.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/TinyGraph.h"

#include <gtest/gtest.h>
#include <mutex>
#include <numeric>
#include <set>

namespace sluice::cuda {

using RowLogits = std::vector<float>;

/// Makes rows die while the device computes, and removes them as the device
/// reports.
class DeviceReaper : public device::CheckpointHandler {
public:
  explicit DeviceReaper(StepBatch &batch) : batch(batch) {
    moves.reserve(size_t(batch.rowLimit()));
    dying.reserve(size_t(batch.rowLimit()));
    originOf.resize(size_t(batch.rowLimit()));
    seenAt.reserve(64);
    stays.reserve(size_t(batch.rowLimit()));
    std::iota(originOf.begin(), originOf.end(), 0);
  }

  /// Makes these rows, numbered as at the step's start, die. Returns once the
  /// executor has been told. Thread-safe.
  void kill(const std::vector<int64_t> &rows) {
    std::unique_lock lock(mutex);
    dying.assign(rows.begin(), rows.end());
    reported.wait(lock, [&] { return dying.empty(); });
  }

  /// Begins another step of the same batch.
  void begin() { std::iota(originOf.begin(), originOf.end(), 0); }

  std::span<const RowMove> checkpoint() override { return {}; }
  bool findDead(std::span<uint8_t> alive) override {
    std::lock_guard lock(mutex);
    // The next call shows that the executor has passed the last marks on to the
    // device.
    if (marked) {
      dying.clear();
      marked = false;
      reported.notify_all();
    }
    for (int64_t row : dying)
      alive[size_t(row)] = 0;
    marked = !dying.empty();
    return marked;
  }
  std::span<const RowMove> leave(std::span<const uint8_t> alive,
                                 Time seen) override {
    ++passed;
    if (alive.empty())
      return {};
    ++count;
    seenAt.push_back(seen);
    int64_t remaining = planCompaction(alive, moves);
    batch.keep(alive, moves, remaining);
    for (RowMove move : moves)
      originOf[size_t(move.to)] = originOf[size_t(move.from)];
    return moves;
  }
  std::span<const RowMove> dropOrphans() override {
    ++endings;
    stays.clear();
    for (int64_t row = 0; row < batch.rows(); ++row)
      stays.push_back(!orphans.contains(originOf[size_t(row)]));
    int64_t remaining = planCompaction(stays, moves);
    batch.keep(stays, moves, remaining);
    return moves;
  }

  int64_t passed = 0; ///< checkpoints passed so far
  /// Of these, checkpoints at which rows have left.
  int64_t count = 0;
  std::vector<Time> seenAt;  ///< when rows left, for each of these
  int64_t endings = 0;       ///< calls of dropOrphans()
  std::set<int64_t> orphans; ///< rows, numbered as at the step's start

private:
  StepBatch &batch;
  std::vector<RowMove> moves;
  std::vector<int64_t> originOf; ///< [row]: its row at the step's start
  std::vector<uint8_t> stays;
  std::mutex mutex;
  std::condition_variable reported;
  std::vector<int64_t> dying;
  bool marked = false;
};

struct GraphLimits {
  int64_t rows = 32;
  int64_t outputs = 8;
  int64_t sequences = 8;
  ActivationFormat wire = ActivationFormat::F32;
  CacheKind cacheKind = CacheKind::F16;
  bool fastMathBatch = false;
  /// Keeps rows in device memory between stages.
  bool deviceRows = false;
  /// The group as whose member the device computes the whole model, like the
  /// other members.
  DeviceGroup *group = nullptr;
};

/// The tiny model as a chain of programs that share one page table.
class GraphModel {
public:
  GraphModel(const cpu::TinyProgram &tiny,
             const std::vector<cpu::TinyPart> &parts, const GraphLimits &limits,
             emulator::EmulatedOptions options = {})
      : wire(limits.wire), deviceRows(limits.deviceRows),
        cache(CachePages::create({limits.sequences * 4, limits.sequences,
                                  cpu::TinyProgram::contextLength})
                  .take()) {
    if (options.program.empty())
      options.program = tinyKernels();
    Expected<std::unique_ptr<Driver>> driver = emulator::openEmulated(options);
    device = (*driver)->open(0).take();
    CudaExecutorOptions each;
    each.rows = limits.rows;
    each.outputs = limits.outputs;
    each.sequences = limits.sequences;
    each.pages = cache.limits().pages;
    each.cacheKind = limits.cacheKind;
    each.fastMathBatch = limits.fastMathBatch;
    for (cpu::TinyPart part : parts) {
      CudaProgram program = tinyGraph(tiny, part);
      LoadOptions loading;
      loading.group = limits.group;
      if (limits.group)
        program.members = limits.group->members();
      Expected<std::unique_ptr<CudaExecutor>> made =
          CudaExecutor::create(device, std::move(program), each, loading);
      EXPECT_TRUE(made) << made.status().message();
      stages.push_back(made.take());
      activations.emplace_back(size_t(limits.rows * rowBytes()));
    }
    copies.resize(parts.size());
  }

  /// The requests for the outputs of the next steps.
  std::vector<OutputRequest> requests;

  CachePages &pages() { return cache; }
  CudaExecutor &stage(size_t index) { return *stages[index]; }

  void place(const StepBatch &batch) {
    for (int64_t row = 0; row < batch.rows(); ++row) {
      SequenceId sequence = batch.sequences()[row];
      int64_t length = batch.positions()[row] + 1;
      if (cache.length(sequence) < length)
        ASSERT_TRUE(cache.grow(sequence, length).ok());
    }
  }

  void addCopy(PageCopy copy) {
    for (std::vector<PageCopy> &each : copies)
      each.push_back(copy);
  }

  Status execute(const StepBatch &batch,
                 device::CheckpointHandler *checkpoints = nullptr) {
    incoming.clear();
    incomingOnDevice.clear();
    for (size_t i = 0; i < stages.size() && (i == 0 || batch.rows() > 0); ++i) {
      device::StepInput input;
      input.batch = &batch;
      input.pages = &cache;
      input.copies = copies[i];
      input.incoming = incoming;
      input.incomingFormat = input.outgoingFormat = wire;
      input.incomingOnDevice = incomingOnDevice;
      input.keepsOutgoing = deviceRows && i + 1 < stages.size();
      if (!input.keepsOutgoing)
        input.outgoing = activations[i];
      if (i + 1 == stages.size())
        input.requests = requests;
      input.checkpoints = checkpoints;
      SLUICE_RETURN_IF_ERROR(stages[i]->execute(input));
      copies[i].clear();
      SLUICE_RETURN_IF_ERROR(passOn(i, batch, input.keepsOutgoing));
    }
    return {};
  }

  RowLogits logits(int64_t output) const {
    std::span<const float> values = stages.back()->logits(output);
    return {values.begin(), values.end()};
  }

private:
  /// Makes the results of stage `i` the input of the next stage.
  Status passOn(size_t i, const StepBatch &batch, bool isOnDevice) {
    incoming.clear();
    incomingOnDevice.clear();
    if (!isOnDevice) {
      for (int64_t row = 0; row < batch.rows(); ++row)
        incoming.push_back(activations[i].data() + row * rowBytes());
      return {};
    }
    device::DeviceRows rows = stages[i]->sentRows();
    for (int64_t row = 0; row < batch.rows(); ++row)
      incomingOnDevice.push_back(rows.address + uint64_t(row * rowBytes()));
    return device->synchronize(rows.stream);
  }

  int64_t rowBytes() const {
    return cpu::TinyProgram::hiddenSize * activationBytes(wire);
  }

  ActivationFormat wire;
  bool deviceRows;
  std::shared_ptr<Device> device;
  CachePages cache;
  std::vector<std::unique_ptr<CudaExecutor>> stages;
  std::vector<std::vector<PageCopy>> copies; ///< copies[stage]
  std::vector<std::vector<uint8_t>> activations;
  std::vector<const uint8_t *> incoming;
  std::vector<uint64_t> incomingOnDevice;
};

/// Returns the logits of the last of `tokens`, computed in steps of `chunk`
/// rows, alone in its sequence. Works with GraphModel and cpu::TinyModel.
template <typename Model>
RowLogits graphLogitsAlone(Model &model, const std::vector<int32_t> &tokens,
                           int64_t chunk) {
  SequenceId id = *model.pages().open();
  auto count = static_cast<int64_t>(tokens.size());
  for (int64_t first = 0; first < count; first += chunk) {
    int64_t last = std::min(first + chunk, count);
    StepBatch batch(chunk, 1);
    for (int64_t t = first; t < last; ++t)
      EXPECT_TRUE(batch.add(id, t, tokens[size_t(t)], t + 1 == last).ok());
    model.place(batch);
    Status status = model.execute(batch);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  model.pages().close(id);
  return model.logits(0);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_GRAPHMODEL_H
