//===- FaultsTest.cpp - a device that fails or is too small ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/TinyModel.h"
#include "runtime/device/cuda/test/GraphModel.h"

#include <atomic>
#include <gmock/gmock.h>
#include <thread>

using namespace sluice;
using namespace sluice::cuda;
using cpu::TinyPart;
using cpu::TinyProgram;
using testing::HasSubstr;

namespace {

const TinyProgram &tiny() {
  static const TinyProgram program(cpu::Isa::Avx2);
  return program;
}

CudaExecutorOptions smallLimits() {
  CudaExecutorOptions limits;
  limits.rows = 8;
  limits.pages = 4;
  return limits;
}

/// Returns the error of making an executor; empty if it can be made.
std::string makeError(emulator::EmulatedOptions options, CudaProgram program,
                      const CudaExecutorOptions &limits = smallLimits()) {
  if (options.program.empty())
    options.program = tinyKernels();
  std::shared_ptr<Device> device =
      (*emulator::openEmulated(options))->open(0).take();
  return CudaExecutor::create(device, std::move(program), limits, {})
      .status()
      .message();
}

} // namespace

TEST(CudaFaultsTest, TooLittleMemoryIsSaidBeforeAnythingIsLoaded) {
  emulator::EmulatedOptions options;
  options.memoryBytes = 100000;
  options.failHostAllocation = 1; // Not reached.
  CudaExecutorOptions limits = smallLimits();
  limits.pages = 1000;
  std::string message = makeError(options, tinyGraph(tiny()), limits);
  EXPECT_THAT(
      message,
      testing::MatchesRegex(
          "emulator: too little memory: [0-9.]+ MB is needed \\(weights "
          "[0-9.]+ MB, cache 32.77 MB, a step [0-9.]+ MB, reserved for graphs "
          "[0-9.]+ MB and code 0.00 MB\\), 0.10 MB of 0.10 MB is free: [0-9.]+ "
          "MB is missing"));
}

/// A kernel that does not end costs all users the device: no call waits for it
/// any more, and memory that it may write to is not released.
TEST(CudaFaultsTest, AStepThatDoesNotEndCostsTheDevice) {
  struct Watch {
    std::atomic<bool> stuck{true}, atEnd{false};
  };
  // The device is still used after the end of the test.
  auto watch = std::make_shared<Watch>();
  {
    emulator::EmulatedOptions options;
    options.program = tinyKernels();
    options.beforeKernel = [watch](const std::string &name) {
      while (watch->stuck)
        std::this_thread::yield();
      if (name == "tiny_argmax")
        watch->atEnd = true;
    };
    options.patience = std::chrono::milliseconds(100);
    std::shared_ptr<Device> device =
        (*emulator::openEmulated(options))->open(0).take();
    auto make = [&] {
      return CudaExecutor::create(device, tinyGraph(tiny()), smallLimits(), {});
    };
    std::unique_ptr<CudaExecutor> executor = make().take();
    std::unique_ptr<CudaExecutor> other = make().take();
    Stream stream = *device->makeStream();
    DeviceAddress memory = *device->allocate(256);
    CachePages pages =
        CachePages::create({4, 1, TinyProgram::contextLength}).take();
    SequenceId id = *pages.open();
    ASSERT_TRUE(pages.grow(id, 1).ok());
    StepBatch batch(8, 1);
    ASSERT_TRUE(batch.add(id, 0, 1, true).ok());
    const std::string reason = "a step has not ended within 0.1 s";
    EXPECT_FALSE(device->isGivenUp());
    for (CudaExecutor *each : {executor.get(), executor.get(), other.get()})
      EXPECT_EQ(each->execute({&batch, &pages}).message(),
                "emulator: " + reason);
    for (const Status &status :
         {device->givenUp(), device->enter(), device->synchronize(stream),
          device->allocate(1).status(), device->makeEvent().status(),
          device->fill(memory, 0, 256, stream), make().status()})
      EXPECT_EQ(status.message(), reason);
    device->release(memory);
    device->destroy(stream);
  }
  // The executors are gone, but the memory that their kernels write to is not.
  watch->stuck = false;
  while (!watch->atEnd)
    std::this_thread::yield();
}

/// With marks the error names the kernel that does not end, and with one node
/// at a time also the one that breaks the device.
TEST(CudaFaultsTest, AStepSaysWhereItStands) {
  auto errorOf = [](const char *words, emulator::EmulatedOptions options) {
    options.program = tinyKernels();
    std::shared_ptr<Device> device =
        (*emulator::openEmulated(options))->open(0).take();
    DeviceOptions wanted = readDeviceOptions(words).take();
    wanted.patience = std::chrono::milliseconds(100);
    device->use(wanted);
    std::unique_ptr<CudaExecutor> executor =
        CudaExecutor::create(device, tinyGraph(tiny()), smallLimits(), {})
            .take();
    CachePages pages =
        CachePages::create({4, 1, TinyProgram::contextLength}).take();
    SequenceId id = *pages.open();
    EXPECT_TRUE(pages.grow(id, 1).ok());
    StepBatch batch(8, 1);
    EXPECT_TRUE(batch.add(id, 0, 1, true).ok());
    return executor->execute({&batch, &pages}).message();
  };
  emulator::EmulatedOptions endless;
  endless.endlessKernel = "sluice_append_cache";
  EXPECT_THAT(errorOf("marks", endless),
              testing::MatchesRegex(
                  "emulator: a step has not ended within 0.1 s: it is at "
                  "kernel [0-9]+ of [0-9]+ \\(sluice_append_cache\\)"));
  EXPECT_THAT(errorOf("one-node", endless),
              testing::MatchesRegex(
                  "emulator: kernel [0-9]+ of [0-9]+ "
                  "\\(sluice_append_cache\\) has not ended within 0.1 s"));
  emulator::EmulatedOptions broken;
  broken.failKernel = 3;
  EXPECT_THAT(errorOf("one-node", broken),
              testing::MatchesRegex("emulator: kernel 3 of [0-9]+ "
                                    "\\([a-z0-9_]+\\): .*illegal memory "
                                    "access.*"));
}

/// An upload that does not end is not awaited either, and its memory is not
/// released.
TEST(CudaFaultsTest, AnUploadThatDoesNotEndCostsTheDevice) {
  emulator::EmulatedOptions options;
  options.stickCopy = 1;
  options.patience = std::chrono::milliseconds(100);
  EXPECT_EQ(makeError(options, tinyGraph(tiny())),
            "the upload of weights has not ended within 0.1 s");
}

/// A member whose group is lost fails at once. That its own kernel never ends
/// is noticed when the executor is destroyed, which does not wait forever
/// either.
TEST(CudaFaultsTest, AFailedStepThatDoesNotEndCostsTheDevice) {
  class LostGroup final : public DeviceGroup {
    int32_t member() const override { return 0; }
    int32_t members() const override { return 1; }
    Status exchange(std::span<const Piece>, std::span<const Piece>,
                    Stream) override {
      return {};
    }
    Status check() override { return failure("another member is lost"); }
    std::chrono::nanoseconds patience() const override {
      return std::chrono::hours(1);
    }
    void giveUp(const Status &) override {}
  } group;
  auto stuck = std::make_shared<std::atomic<bool>>(true);
  emulator::EmulatedOptions options;
  options.program = tinyKernels();
  options.patience = std::chrono::milliseconds(100);
  options.beforeKernel = [stuck](const std::string &) {
    while (*stuck)
      std::this_thread::yield();
  };
  std::shared_ptr<Device> device =
      (*emulator::openEmulated(options))->open(0).take();
  LoadOptions loading;
  loading.group = &group;
  std::unique_ptr<CudaExecutor> executor =
      CudaExecutor::create(device, tinyGraph(tiny()), smallLimits(), loading)
          .take();
  CachePages pages =
      CachePages::create({4, 1, TinyProgram::contextLength}).take();
  SequenceId id = *pages.open();
  ASSERT_TRUE(pages.grow(id, 1).ok());
  StepBatch batch(8, 1);
  ASSERT_TRUE(batch.add(id, 0, 1, true).ok());
  EXPECT_EQ(executor->execute({&batch, &pages}).message(),
            "emulator: another member is lost");
  EXPECT_FALSE(device->isGivenUp());
  executor.reset();
  EXPECT_EQ(device->givenUp().message(), "a step that has failed does not end");
  *stuck = false;
}

/// With two devices in a process, each executor enters its own, whichever the
/// thread has entered before.
TEST(CudaFaultsTest, ExecutorsOfTwoDevicesOnOneThread) {
  std::vector<std::unique_ptr<GraphModel>> models;
  for (int i = 0; i < 2; ++i)
    models.push_back(std::make_unique<GraphModel>(
        tiny(), std::vector{TinyPart::Whole}, GraphLimits()));
  std::vector<int32_t> tokens = {1, 2, 3};
  EXPECT_EQ(graphLogitsAlone(*models[0], tokens, 8),
            graphLogitsAlone(*models[1], tokens, 8));
  // Destroys the first while the thread is at the second.
  models.erase(models.begin());
}

/// Graphs get their memory when an executor is made, so a later lack of memory
/// does not break a step.
TEST(CudaFaultsTest, ADeviceThatIsFullStillLaunchesEveryGraph) {
  emulator::EmulatedOptions options;
  options.program = tinyKernels();
  std::shared_ptr<Device> device =
      (*emulator::openEmulated(options))->open(0).take();
  CudaExecutorOptions limits = smallLimits();
  std::unique_ptr<CudaExecutor> executor =
      CudaExecutor::create(device, tinyGraph(tiny()), limits, {}).take();
  DeviceAddress rest = *device->allocate(device->memory()->freeBytes);
  CachePages pages =
      CachePages::create({4, 1, TinyProgram::contextLength}).take();
  SequenceId id = *pages.open();
  ASSERT_TRUE(pages.grow(id, 8).ok());
  for (int64_t rows : {1, 2, 4, 8}) {
    StepBatch batch(8, 1);
    for (int64_t row = 0; row < rows; ++row)
      ASSERT_TRUE(batch.add(id, row, 1, row + 1 == rows).ok());
    device::StepInput input = {&batch, &pages};
    PageCopy copy = {0, 1};
    input.copies = {&copy, 1};
    Status status = executor->execute(input);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  device->release(rest);
}

/// Memory for the arena alone is too little, which is noticed before anything
/// is loaded.
TEST(CudaFaultsTest, GraphsAreReservedFor) {
  emulator::EmulatedOptions options;
  options.program = tinyKernels();
  uint64_t arena = 0;
  {
    std::shared_ptr<Device> device =
        (*emulator::openEmulated(options))->open(0).take();
    arena = CudaExecutor::create(device, tinyGraph(tiny()), smallLimits(), {})
                .take()
                ->arenaBytes();
  }
  options.memoryBytes = arena + 1000;
  EXPECT_THAT(makeError(options, tinyGraph(tiny())),
              HasSubstr("reserved for graphs"));
  options.memoryBytes = arena + 1000000;
  EXPECT_EQ(makeError(options, tinyGraph(tiny())), "");
}

/// The memory that cuBLASLt takes is reserved, too, before the library is
/// opened.
TEST(CudaFaultsTest, ProductsAreReservedFor) {
  emulator::EmulatedOptions options;
  CudaExecutorOptions limits = smallLimits();
  limits.rows = 256;
  limits.fastMathBatch = true;
  options.program = tinyKernels();
  std::shared_ptr<Device> device =
      (*emulator::openEmulated(options))->open(0).take();
  MemoryNeed need =
      CudaExecutor::memoryNeed(device, tinyGraph(tiny()), limits).take();
  EXPECT_GT(need.codeBytes, emulator::productBytes);
  options.memoryBytes = need.bytes + need.graphBytes + emulator::productBytes;
  EXPECT_THAT(makeError(options, tinyGraph(tiny()), limits),
              HasSubstr("and code 67.11 MB), "));
  options.memoryBytes = need.bytes + need.graphBytes + need.codeBytes;
  EXPECT_EQ(makeError(options, tinyGraph(tiny()), limits), "");
  limits.fastMathBatch = false;
  EXPECT_EQ(
      CudaExecutor::memoryNeed(device, tinyGraph(tiny()), limits)->codeBytes,
      0u);
}

TEST(CudaFaultsTest, EachAllocationMayFail) {
  emulator::EmulatedOptions options;
  options.failAllocation = 1;
  EXPECT_EQ(makeError(options, tinyGraph(tiny())), "cuMemAlloc: out of memory");
  options.failAllocation = 0;
  int64_t failures = 0;
  for (options.failHostAllocation = 1;; ++options.failHostAllocation) {
    std::string message = makeError(options, tinyGraph(tiny()));
    if (message.empty())
      break;
    EXPECT_EQ(message, "cuMemHostAlloc: out of memory");
    ++failures;
  }
  EXPECT_EQ(failures, 8);
}

TEST(CudaFaultsTest, AKernelThatFailsBreaksTheDeviceForGood) {
  for (int64_t kernel : {1, 7, 30}) {
    emulator::EmulatedOptions options;
    options.failKernel = kernel;
    GraphModel model(tiny(), {TinyPart::Whole}, {}, options);
    SequenceId id = *model.pages().open();
    StepBatch batch(8, 1);
    ASSERT_TRUE(batch.add(id, 0, 1, true).ok());
    model.place(batch);
    std::string message;
    for (int step = 0; step < 2 && message.empty(); ++step)
      message = model.execute(batch).message();
    EXPECT_THAT(message,
                HasSubstr("emulator: cuGraphLaunch: an illegal memory access"));
    EXPECT_EQ(model.execute(batch).message(), message);
  }
}

/// Returns the error of a program whose plan has been changed.
static std::string
planError(TinyPart part,
          const std::function<void(device::StepPlan &)> &change) {
  CudaProgram program = tinyGraph(tiny(), part);
  change(program.step);
  return makeError({}, program);
}

/// Returns the error of the whole model's program whose plan has been changed.
static std::string
wholeError(const std::function<void(device::StepPlan &)> &change) {
  return planError(TinyPart::Whole, change);
}

/// Returns the first task of a kind.
template <typename Task> static Task &first(device::StepPlan &plan) {
  for (device::StepTask &task : plan.tasks)
    if (Task *found = std::get_if<Task>(&task))
      return *found;
  throw std::logic_error("there is no such task");
}

TEST(CudaFaultsTest, ProductsThatDoNotFit) {
  using namespace device;
  EXPECT_EQ(
      wholeError([](StepPlan &plan) { first<ProductTask>(plan).bias = 99; }),
      "step plan: task 5: there is no weight 99");
  EXPECT_EQ(
      wholeError([](StepPlan &plan) { first<ProductTask>(plan).bias = 0; }),
      "the program: task 5: weight 0 is not a vector");
  EXPECT_EQ(
      wholeError([](StepPlan &plan) { first<ProductTask>(plan).weight = 2; }),
      "the program: task 5: weight 2 is not one of products");
  EXPECT_EQ(wholeError([](StepPlan &plan) {
              first<ProductTask>(plan).gate = ProductGate::Silu;
            }),
            "the program: task 5: weight 'w4': columns 0 to 64 of 64 cannot be "
            "computed by themselves");
  EXPECT_EQ(
      wholeError([](StepPlan &plan) { first<ProductTask>(plan).input = 0; }),
      "the program: task 5: an operand of 64 features has records of 128 "
      "floats, and buffer 0 of 64");
  EXPECT_EQ(wholeError([](StepPlan &plan) {
              std::get<ProductTask>(plan.tasks[6]).bias = 2;
            }),
            "the program: task 6: a bias of 64 numbers for 32 columns");
}

TEST(CudaFaultsTest, RowLoopsThatDoNotFit) {
  using namespace device;
  EXPECT_EQ(wholeError([](StepPlan &plan) { plan.kernelNames[0] = "nobody"; }),
            "the program: there is no kernel nobody");
  EXPECT_EQ(
      wholeError([](StepPlan &plan) { first<RowLoopTask>(plan).blocks = 0; }),
      "step plan: task 2: 0 blocks of 64 threads cannot be launched");
  EXPECT_EQ(wholeError([](StepPlan &plan) {
              first<RowLoopTask>(plan).threads = 0;
              first<RowLoopTask>(plan).blocks = 0;
            }),
            "the program: task 2: a row loop for a CPU");
  EXPECT_EQ(wholeError([](StepPlan &plan) { plan.tasks[2] = BarrierTask(); }),
            "the program: task 2: a GPU has no barriers");
  EXPECT_EQ(wholeError([](StepPlan &plan) {
              first<RowLoopTask>(plan).arguments[0] = {
                  KernelArgument::Kind::GreedyTokens};
            }),
            "step plan: task 2: a loop that is not over outputs is given their "
            "rows or tokens");
  EXPECT_EQ(
      wholeError(
          [](StepPlan &plan) { plan.kernelNames[0] = "sluice_compact"; }),
      "step plan: the row kernel sluice_compact has the name of one of the "
      "runtime's");
}

TEST(CudaFaultsTest, RowsThatComeAndGoAtTheWrongPlace) {
  using namespace device;
  EXPECT_EQ(
      wholeError([](StepPlan &plan) { first<EmbedTask>(plan).table = 2; }),
      "the program: task 0: weight 2 is not a table of 64 columns");
  EXPECT_EQ(wholeError([](StepPlan &plan) { plan.tasks.resize(3); }),
            "the program: its outputs have got no numbers");
  EXPECT_EQ(wholeError([](StepPlan &plan) {
              plan.tasks.insert(plan.tasks.begin(), CheckpointTask());
            }),
            "the program: task 1: rows are looked up behind a checkpoint");
  EXPECT_EQ(wholeError([](StepPlan &plan) {
              plan.tasks.push_back(CheckpointTask{{9}});
            }),
            "the program: task 29: buffer 9 has no rows that could move");
  EXPECT_EQ(wholeError([](StepPlan &plan) { plan.tasks[2] = ReceiveTask(); }),
            "step plan: task 2: receives rows of a program that begins with "
            "tokens");
  EXPECT_EQ(wholeError([](StepPlan &plan) { plan.tasks[2] = SendTask(); }),
            "step plan: task 2: sends rows of a program that ends with logits");
  EXPECT_EQ(planError(TinyPart::SecondStage,
                      [](StepPlan &plan) {
                        plan.tasks.push_back(plan.tasks.front());
                      }),
            "the program: task 23: rows come in behind other work");
  EXPECT_EQ(
      wholeError(
          [](StepPlan &plan) { first<EmbedTask>(plan).byPosition = true; }),
      "the program: task 0: weight 'w0': a table of 50 rows has none for each "
      "position");
  EXPECT_EQ(
      planError(TinyPart::SecondStage,
                [](StepPlan &plan) { plan.tasks.erase(plan.tasks.begin()); }),
      "the program: it takes no rows in");
  EXPECT_EQ(planError(TinyPart::FirstStage,
                      [](StepPlan &plan) {
                        plan.tasks.push_back(plan.tasks.back());
                      }),
            "the program: task 20: rows are sent twice");
  EXPECT_EQ(planError(TinyPart::SecondStage,
                      [](StepPlan &plan) { plan.tasks[0] = EmbedTask(); }),
            "step plan: task 0: looks up tokens of a program that has none");
}

TEST(CudaFaultsTest, ProgramsThatDoNotFit) {
  CudaProgram program;
  program = tinyGraph(tiny());
  program.caches[0].headDim = 257;
  EXPECT_THAT(makeError({}, program), HasSubstr("up to 256"));
  program = tinyGraph(tiny());
  std::get<LinearWeight>(program.weights[4]).matrix.format = Format::Q5_0;
  EXPECT_EQ(makeError({}, program),
            "weight 'w4': there are no CUDA kernels for q5_0");
  program = tinyGraph(tiny());
  std::get<TableWeight>(program.weights[0]).tied = 4;
  EXPECT_EQ(makeError({}, program), "executor: weight 'w0' is not weight 4");
}

TEST(CudaFaultsTest, LimitsOutOfRange) {
  for (auto change : std::vector<void (*)(CudaExecutorOptions &)>{
           [](CudaExecutorOptions &l) { l.rows = 0; },
           [](CudaExecutorOptions &l) { l.rows = 32769; },
           [](CudaExecutorOptions &l) { l.outputs = 0; },
           [](CudaExecutorOptions &l) { l.sequences = 0; },
           [](CudaExecutorOptions &l) { l.pages = 0; },
           [](CudaExecutorOptions &l) { l.contextLength = 101; }}) {
    CudaExecutorOptions limits = smallLimits();
    change(limits);
    EXPECT_THAT(makeError({}, tinyGraph(tiny()), limits),
                HasSubstr("is not between"));
  }
}
