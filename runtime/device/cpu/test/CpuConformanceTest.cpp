//===- CpuConformanceTest.cpp - the executors' suite on a CPU -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/TinyProgram.h"
#include "runtime/device/test/ExecutorConformance.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cpu;
using namespace sluice::device;
using namespace sluice::device::test;

namespace {

const TinyProgram &tiny() {
  static const TinyProgram program(Isa::Avx2);
  return program;
}

std::unique_ptr<StepExecutor>
makeExecutor(TinyPart part, const StepLimits &wanted, int64_t threads) {
  CpuExecutorOptions limits;
  limits.rows = wanted.rows;
  limits.outputs = wanted.outputs;
  limits.pages = wanted.pages;
  limits.contextLength = wanted.contextLength;
  limits.threads = threads;
  return CpuExecutor::create(tiny().program(part), limits).take();
}

ExecutorSetup setUp(int64_t threads) {
  return {TinyProgram::vocabSize, TinyProgram::contextLength,
          [=](const StepLimits &limits, bool inStages) {
            ExecutorChain chain;
            if (!inStages) {
              chain.push_back(makeExecutor(TinyPart::WholeWithCheckpoints,
                                           limits, threads));
              return chain;
            }
            for (TinyPart part : {TinyPart::FirstStage, TinyPart::SecondStage})
              chain.push_back(makeExecutor(part, limits, threads));
            return chain;
          }};
}

class CpuConformance : public testing::TestWithParam<ExecutorCase> {};

TEST_P(CpuConformance, HoldsOnOneThreadAndOnThree) {
  if (!requireIsa("avx2").ok())
    GTEST_SKIP() << "this CPU lacks avx2";
  for (int64_t threads : {1, 3}) {
    Status status = GetParam().run(setUp(threads));
    EXPECT_TRUE(status.ok()) << threads << " threads: " << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CpuConformance,
                         testing::ValuesIn(executorCases()),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Planted faults
//===----------------------------------------------------------------------===//

/// An executor that has a fault.
class FaultyExecutor : public StepExecutor {
public:
  using Fault = std::function<void(const StepInput &, std::vector<float> &)>;

  FaultyExecutor(std::unique_ptr<StepExecutor> right, Fault fault)
      : right(std::move(right)), fault(std::move(fault)) {}

  bool hasEmbedding() const override { return right->hasEmbedding(); }
  bool hasOutput() const override { return right->hasOutput(); }
  int64_t vocabSize() const override { return right->vocabSize(); }
  int64_t hiddenSize() const override { return right->hiddenSize(); }
  int64_t outputLimit() const override { return right->outputLimit(); }

  Status execute(const StepInput &input) override {
    // What the fault sees is the step as it began.
    StepBatch begun = *input.batch;
    SLUICE_RETURN_IF_ERROR(right->execute(input));
    results.clear();
    StepInput seen = input;
    seen.batch = &begun;
    for (int64_t output = 0; hasOutput() && output < input.batch->outputs();
         ++output) {
      std::span<const float> logits = right->logits(output);
      results.emplace_back(logits.begin(), logits.end());
      fault(seen, results.back());
    }
    return {};
  }

  std::span<const float> logits(int64_t output) const override {
    return results[static_cast<size_t>(output)];
  }

private:
  std::unique_ptr<StepExecutor> right;
  Fault fault;
  std::vector<std::vector<float>> results;
};

/// The names of the cases that find a fault.
std::vector<std::string> findersOf(const FaultyExecutor::Fault &fault) {
  ExecutorSetup setup = setUp(1);
  auto make = setup.make;
  setup.make = [=](const StepLimits &limits, bool inStages) {
    ExecutorChain chain = make(limits, inStages);
    for (std::unique_ptr<StepExecutor> &each : chain)
      each = std::make_unique<FaultyExecutor>(std::move(each), fault);
    return chain;
  };
  std::vector<std::string> finders;
  for (const ExecutorCase &each : executorCases())
    if (!each.run(setup).ok())
      finders.emplace_back(each.name);
  return finders;
}

TEST(ExecutorConformance, FindsPlantedFaults) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(findersOf([](const StepInput &, std::vector<float> &) {}), Names());
  // A last bit that depends on how many rows share the step.
  Names crowded =
      findersOf([](const StepInput &input, std::vector<float> &logits) {
        if (input.batch->rows() > 6)
          logits[3] = std::nextafter(logits[3], 1e9f);
      });
  EXPECT_TRUE(std::ranges::count(crowded, "chunks_change_nothing"));
  EXPECT_TRUE(std::ranges::count(crowded, "batch_mates_change_nothing"));
  // Rows that die are seen by the others.
  Names haunted =
      findersOf([](const StepInput &input, std::vector<float> &logits) {
        if (input.checkpoints)
          logits[0] = -logits[0];
      });
  EXPECT_EQ(haunted, Names{"the_living_do_not_see_the_dead"});
  // Mirrors and copies that are forgotten would show in these.
  Names copied =
      findersOf([](const StepInput &input, std::vector<float> &logits) {
        if (!input.copies.empty())
          logits[0] += 1;
      });
  EXPECT_EQ(copied, Names{"forks_share_and_copy_pages"});
}

} // namespace
