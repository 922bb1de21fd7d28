//===- CudaConformanceTest.cpp - the executors' suite on a GPU ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/GraphModel.h"
#include "runtime/device/test/ExecutorConformance.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;
using namespace sluice::device::test;
using cpu::TinyPart;
using cpu::TinyProgram;

namespace {

const TinyProgram &tiny() {
  static const TinyProgram program(cpu::Isa::Avx2);
  return program;
}

ExecutorChain makeChain(const StepLimits &wanted, bool inStages) {
  emulator::EmulatedOptions options;
  options.program = tinyKernels();
  std::shared_ptr<Device> device =
      (*emulator::openEmulated(options))->open(0).take();
  CudaExecutorOptions limits;
  limits.rows = wanted.rows;
  limits.outputs = wanted.outputs;
  limits.sequences = wanted.sequences;
  limits.pages = wanted.pages;
  limits.contextLength = wanted.contextLength;
  ExecutorChain chain;
  auto add = [&](TinyPart part) {
    chain.push_back(
        CudaExecutor::create(device, tinyGraph(tiny(), part), limits, {})
            .take());
  };
  if (inStages) {
    add(TinyPart::FirstStage);
    add(TinyPart::SecondStage);
  } else {
    add(TinyPart::WholeWithCheckpoints);
  }
  return chain;
}

class CudaConformance : public testing::TestWithParam<ExecutorCase> {};

TEST_P(CudaConformance, HoldsInTheEmulator) {
  Status status = GetParam().run(
      {TinyProgram::vocabSize, TinyProgram::contextLength, makeChain});
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaConformance,
                         testing::ValuesIn(executorCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace
