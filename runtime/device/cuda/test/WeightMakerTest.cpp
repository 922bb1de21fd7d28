//===- WeightMakerTest.cpp - makes random weights on the device -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/weights/WeightMaker.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/TinyGraph.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

/// A matrix that is made on the host, and the same matrix to be made on the
/// device.
struct RandomMatrix {
  RandomMatrix(Format stored, Format format, int64_t rows, int64_t cols,
               uint64_t key) {
    const RandomRows random = {key, {0, 0.05f}};
    const uint64_t bytes = *rowBytes(stored, cols);
    memory.resize(uint64_t(rows) * bytes);
    for (int64_t row = 0; row < rows; ++row)
      writeRandomRow(stored, random.keyOf(row), random.spread,
                     memory.data() + uint64_t(row) * bytes, cols);
    host = {memory.data(), stored, format, rows, cols};
    made = {nullptr, stored, format, rows, cols};
    made.random = random;
  }

  std::vector<uint8_t> memory;
  StoredMatrix host, made;
};

class WeightMakerTest : public testing::Test {
protected:
  WeightMakerTest() { open({}); }
  ~WeightMakerTest() override { close(); }

  void open(const emulator::EmulatedOptions &options) {
    device = (*emulator::openEmulated(options))->open(0).take();
    stream = *device->makeStream();
    kernels = KernelLibrary::load(*device, {}).take();
  }
  void close() {
    device->destroy(stream);
    kernels.reset();
  }

  /// Loads the tiles of all weights, which are made on the device if `makes`,
  /// else sent.
  Status load(const std::vector<LinearWeight> &weights, bool makes,
              std::vector<std::vector<uint8_t>> &tiles,
              WeightUpload::Progress progress = nullptr) {
    cpu::ThreadPool pool(2);
    auto upload = WeightUpload::create(*device, stream, pool, progress).take();
    WeightMaker maker(*device, *kernels, stream, progress);
    std::vector<DeviceAddress> places;
    Status status;
    for (const LinearWeight &weight : weights) {
      places.push_back(*device->allocate(*layoutBytes(*weightSpec(weight))));
      if (status.ok())
        status = makes ? maker.linear(weight, places.back())
                       : upload->linear(weight, places.back());
    }
    if (status.ok())
      status = makes ? maker.finish() : upload->finish();
    for (size_t i = 0; i < weights.size(); ++i) {
      const auto *there = reinterpret_cast<const uint8_t *>(places[i]);
      tiles.emplace_back(there, there + *layoutBytes(*weightSpec(weights[i])));
      device->release(places[i]);
    }
    return status;
  }

  std::unique_ptr<Device> device;
  Stream stream = nullptr;
  std::unique_ptr<KernelLibrary> kernels;
};

LinearWeight some(int64_t rows = 20) {
  static const RandomMatrix matrix(Format::F16, Format::F16, 64, 32, 1);
  LinearWeight weight = {"w", matrix.made, false, {}, false};
  weight.matrix.rows = rows;
  return weight;
}

} // namespace

/// Weights of each format, plain ones in e4m3, and gated ones. They are more
/// than are made at once, and progress is reported as they are made.
TEST_F(WeightMakerTest, MakesWhatWouldHaveBeenSent) {
  std::vector<RandomMatrix> matrices;
  uint64_t key = 0;
  for (Format format : {Format::F32, Format::F16, Format::BF16, Format::Q8_0,
                        Format::Q4_0, Format::Q4_K, Format::Q6_K, Format::E4M3})
    for (int i = 0; i < 2; ++i)
      matrices.emplace_back(format, format, 21, 256, ++key);
  for (Format stored : {Format::F32, Format::F16, Format::BF16})
    for (int i = 0; i < 2; ++i)
      matrices.emplace_back(stored, Format::E4M3, 21, 256, ++key);
  std::vector<LinearWeight> sent, made;
  for (size_t i = 0; i < matrices.size(); i += 2)
    for (bool gated : {false, true}) {
      sent.push_back({"w", matrices[i].host, false, {}, false});
      made.push_back({"w", matrices[i].made, false, {}, false});
      if (!gated)
        continue;
      sent.back().partner = matrices[i + 1].host;
      made.back().partner = matrices[i + 1].made;
      EXPECT_TRUE(canMakeOnDevice(made.back()));
    }
  std::vector<uint64_t> reported;
  uint64_t all = 0, sum = 0;
  std::vector<std::vector<uint8_t>> expected, found;
  ASSERT_TRUE(load(sent, false, expected).ok());
  Status status = load(made, true, found, [&](uint64_t bytes) {
    reported.push_back(bytes);
    return Status();
  });
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(found.size(), 22u);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], expected[i]) << "weight " << i;
    all += found[i].size();
  }
  EXPECT_EQ(reported.size(), 2u); // 16 and 6
  for (uint64_t bytes : reported)
    sum += bytes;
  EXPECT_EQ(sum, all);
}

TEST_F(WeightMakerTest, CanBeInterrupted) {
  std::vector<std::vector<uint8_t>> tiles;
  int asked = 0;
  Status status = load(std::vector(40, some()), true, tiles, [&](uint64_t) {
    return ++asked == 2 ? failure("interrupted") : Status();
  });
  EXPECT_EQ(status.message(), "interrupted");
  EXPECT_EQ(asked, 2);
}

TEST_F(WeightMakerTest, ADeviceThatFailsSaysSo) {
  close();
  emulator::EmulatedOptions options;
  options.failKernel = 2;
  open(options);
  std::vector<std::vector<uint8_t>> tiles;
  EXPECT_EQ(load({some(), some()}, true, tiles).message(),
            "random weights from 'w' on: cuGraphLaunch: an illegal memory "
            "access was encountered");
}

/// With marks the error names the weight.
TEST_F(WeightMakerTest, ADeviceThatDoesNotEndIsGivenUp) {
  for (bool marks : {false, true}) {
    emulator::EmulatedOptions options;
    options.endlessKernel = "sluice_random_f16";
    // The device stays in use until the process ends.
    Device &used = *(*emulator::openEmulated(options))->open(0)->release();
    DeviceOptions wanted;
    wanted.patience = std::chrono::milliseconds(100);
    wanted.marks = marks;
    used.use(wanted);
    Stream other = *used.makeStream();
    auto library = KernelLibrary::load(used, {}).take();
    const RandomMatrix floats(Format::F32, Format::F32, 16, 64, 1);
    WeightMaker maker(used, *library, other, nullptr);
    for (const LinearWeight &weight :
         {LinearWeight{"v", floats.made, false, {}, false}, some()}) {
      DeviceAddress to = *used.allocate(*layoutBytes(*weightSpec(weight)));
      ASSERT_TRUE(maker.linear(weight, to).ok());
    }
    EXPECT_EQ(maker.finish().message(),
              std::string("random weights from 'v' on") +
                  (marks ? ", at kernel 2 of 2 (sluice_random_f16)" : "") +
                  ": the making of weights has not ended within 0.1 s");
    EXPECT_TRUE(used.isGivenUp());
  }
  ASSERT_TRUE(device->enter().ok());
}

/// Weights without a kernel are made on the host.
TEST_F(WeightMakerTest, KnowsWhatItCannotMake) {
  EXPECT_TRUE(canMakeOnDevice(some()));
  EXPECT_TRUE(canMakeOnDevice(TableWeight{"t", some().matrix}));
  EXPECT_FALSE(canMakeOnDevice(VectorWeight{"v", some().matrix}));
  LinearWeight weight = some();
  weight.transposed = true;
  EXPECT_FALSE(canMakeOnDevice(weight));
  weight = some();
  weight.matrix.slice.bounds = {0, 16};
  EXPECT_FALSE(canMakeOnDevice(weight));
  weight = some();
  weight.partner = weight.matrix;
  EXPECT_TRUE(canMakeOnDevice(weight));
  weight.partner->slice.bounds = {0, 16};
  EXPECT_FALSE(canMakeOnDevice(weight));
  weight = some();
  weight.matrix.scales = ScaleGrid();
  EXPECT_FALSE(canMakeOnDevice(weight));
  struct Pair {
    Format stored, format;
    bool can;
  };
  for (Pair pair : {Pair{Format::F32, Format::E4M3, true},
                    {Format::BF16, Format::E4M3, true},
                    {Format::E4M3, Format::E4M3, true},
                    {Format::Q8_0, Format::E4M3, false},
                    {Format::F32, Format::F16, false},
                    {Format::BF16, Format::Q8_0, false},
                    {Format::Q4_1, Format::Q4_1, false},
                    {Format::Q5_K, Format::Q5_K, false}}) {
    weight = some();
    weight.matrix.stored = pair.stored;
    weight.matrix.format = pair.format;
    EXPECT_EQ(canMakeOnDevice(weight), pair.can)
        << formatInfo(pair.stored).name << " as "
        << formatInfo(pair.format).name;
    EXPECT_EQ(canMakeOnDevice(TableWeight{"t", weight.matrix}), pair.can);
  }
}

//===----------------------------------------------------------------------===//
// Whole programs
//===----------------------------------------------------------------------===//

namespace {

/// The tiny model with random weights. Those that can be are made on the
/// device, or all of them are sent.
class RandomProgram {
public:
  explicit RandomProgram(bool makes)
      : program(tinyGraph(tiny())),
        device((*emulator::openEmulated(options()))->open(0).take()) {
    for (size_t i = 0; i < program.weights.size(); ++i)
      std::visit([&](auto &each) { setNumbers(each.matrix, i, makes); },
                 program.weights[i]);
  }

  Expected<std::unique_ptr<CudaExecutor>> load(LoadOptions loading = {}) {
    return CudaExecutor::create(device, program, limits(), loading);
  }
  MemoryNeed memoryNeed() {
    return CudaExecutor::memoryNeed(device, program, limits()).take();
  }

  CudaProgram program;
  std::vector<std::string> kernelsRun;

private:
  static const cpu::TinyProgram &tiny() {
    static const cpu::TinyProgram program(cpu::Isa::Avx2);
    return program;
  }
  static CudaExecutorOptions limits() {
    CudaExecutorOptions limits;
    limits.rows = 4;
    limits.pages = 4;
    return limits;
  }
  emulator::EmulatedOptions options() {
    emulator::EmulatedOptions options;
    options.program = tinyKernels();
    options.beforeKernel = [this](const std::string &name) {
      kernelsRun.push_back(name);
    };
    return options;
  }

  void setNumbers(StoredMatrix &matrix, size_t number, bool makes) {
    memory.push_back(std::make_unique<RandomMatrix>(
        matrix.stored, matrix.format, matrix.rows, matrix.cols, number));
    const bool isMade = makes && canMakeOnDevice(program.weights[number]);
    matrix = isMade ? memory.back()->made : memory.back()->host;
    if (isMade)
      memory.back()->memory.clear();
  }

  std::vector<std::unique_ptr<RandomMatrix>> memory;
  std::shared_ptr<Device> device;
};

/// Returns the logits of a step of three rows.
std::vector<float> logitsOf(CudaExecutor &executor) {
  CachePages pages =
      CachePages::create({4, 1, cpu::TinyProgram::contextLength}).take();
  SequenceId id = *pages.open();
  EXPECT_TRUE(pages.grow(id, 3).ok());
  StepBatch batch(4, 1);
  for (int32_t row : {0, 1, 2})
    EXPECT_TRUE(batch.add(id, row, 7 * row + 1, row == 2).ok());
  EXPECT_TRUE(executor.execute({&batch, &pages}).ok());
  std::span<const float> values = executor.logits(0);
  return {values.begin(), values.end()};
}

} // namespace

TEST(RandomProgramTest, ComputesTheSameWhereverItsWeightsAreMade) {
  RandomProgram sent(false), made(true);
  std::vector<uint64_t> reported[2];
  auto loading = [&](int which) {
    LoadOptions loading;
    loading.progress = [&reported, which](uint64_t done, uint64_t) {
      reported[which].push_back(done);
      return Status();
    };
    return loading;
  };
  std::unique_ptr<CudaExecutor> one = sent.load(loading(0)).take();
  EXPECT_EQ(sent.kernelsRun.size(), 0u);
  std::unique_ptr<CudaExecutor> other = made.load(loading(1)).take();
  // All weights but the bias.
  EXPECT_EQ(made.kernelsRun.size(), made.program.weights.size() - 1);
  EXPECT_TRUE(std::ranges::is_sorted(reported[1]));
  EXPECT_EQ(reported[0].back(), reported[1].back());
  EXPECT_EQ(logitsOf(*other), logitsOf(*one));
  EXPECT_EQ(other->arenaBytes(), one->arenaBytes());
  const MemoryNeed a = sent.memoryNeed(), b = made.memoryNeed();
  EXPECT_EQ(a.bytes + a.graphBytes + a.codeBytes,
            b.bytes + b.graphBytes + b.codeBytes);
}

TEST(RandomProgramTest, CanBeInterruptedWhileItIsLoaded) {
  RandomProgram made(true);
  LoadOptions loading;
  loading.progress = [](uint64_t, uint64_t) { return failure("interrupted"); };
  EXPECT_EQ(made.load(loading).status().message(), "interrupted");
}

TEST(RandomProgramTest, WhatCannotBeMadeIsRefused) {
  RandomProgram made(true);
  auto error = [&] { return made.load().status().message(); };
  auto &bias = std::get<VectorWeight>(made.program.weights[2]).matrix;
  bias.random = RandomRows();
  EXPECT_EQ(error(), "executor: weight 'w2' cannot be made on the device");
  bias.random.reset();
  auto &linear = std::get<LinearWeight>(made.program.weights[4]);
  linear.partner = linear.matrix;
  linear.partner->random.reset();
  linear.partner->data = bias.data;
  EXPECT_EQ(error(), "executor: weight 'w4' cannot be made on the device");
  // The partner has neither stored nor random numbers.
  linear.partner.reset();
  linear.matrix.random.reset();
  EXPECT_EQ(error(), "executor: weight 'w4' has no rows of f32");
}
