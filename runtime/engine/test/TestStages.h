//===- TestStages.h - the test program's two stages -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs "main.s0" and "main.s1", whose row kernels TestProgram.cpp has.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_TEST_TESTSTAGES_H
#define SLUICE_RUNTIME_ENGINE_TEST_TESTSTAGES_H

#include "runtime/program/test/TestModel.h"

namespace sluice::test {

/// Floats of a row of the second stage, which it receives.
constexpr int64_t secondRowFloats = hidden;

constexpr const char *sendKernel = "test_send";
constexpr const char *receiveKernel = "test_receive";

/// The step of "main.s0", with checkpoints: all but the logits.
inline device::StepPlan firstStep() {
  device::StepPlan plan;
  plan.kernelNames = {embedKernel, addKernel, sendKernel};
  plan.buffers = testBuffers();
  plan.buffers.resize(Selected);
  plan.attentions = {{1, 0, 0.125f, 0, {}}};
  plan.tasks = {testEmbed(), device::CheckpointTask{{H}}};
  addAttention(plan, 1);
  plan.tasks.emplace_back(device::CheckpointTask{{Mixed}});
  plan.tasks.emplace_back(
      device::RowLoopTask{device::RecordKind::Rows, 2, {buffer(Mixed)}});
  return plan;
}

/// The step of "main.s1": the logits of the rows that it receives.
inline device::StepPlan secondStep(Format format) {
  device::StepPlan plan;
  plan.kernelNames = {receiveKernel, selectKernel};
  plan.buffers = testBuffers();
  // There is no memory for these.
  plan.buffers[PlaceRows] = plan.buffers[Mixed] = plan.buffers[H];
  plan.tasks = {device::RowLoopTask{device::RecordKind::Rows, 0, {buffer(H)}},
                device::CheckpointTask{{H}}};
  addLogits(plan, 1, H, /*table=*/0, format);
  return plan;
}

/// The executable of testDescriptor() as two stages on one rank.
inline ExecutableDescriptor inStages(ExecutableDescriptor executable) {
  ProgramDescriptor first = executable.programs[0];
  first.name = "main.s0";
  first.hasOutput = false;
  first.outputFloats = first.logitsOffset = 0;
  first.checkpoints = 2;
  first.step = firstStep();
  ProgramDescriptor second = executable.programs[0];
  second.name = "main.s1";
  second.firstLayer = first.layers;
  second.layers = 0;
  second.hasEmbedding = false;
  second.rowFloats = secondRowFloats;
  second.checkpoints = 1;
  second.caches.clear();
  second.weights = {first.weights.back()};
  first.weights.pop_back();
  second.step = secondStep(second.weights[0].format);
  executable.programs = {first, second};
  executable.plan = makeLocalPlan({first.name, second.name});
  return executable;
}

} // namespace sluice::test

#endif // SLUICE_RUNTIME_ENGINE_TEST_TESTSTAGES_H
