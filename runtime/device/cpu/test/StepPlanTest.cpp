//===- StepPlanTest.cpp - plans that do not fit are refused ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/TinyProgram.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice;
using namespace sluice::cpu;
using namespace sluice::device;

namespace {

class StepPlanTest : public testing::Test {
protected:
  /// What is said of the tiny model's plan once `change` has changed it.
  template <typename Change> std::string message(Change change) {
    CpuProgram program = tiny.program(TinyPart::WholeWithCheckpoints);
    change(program.step);
    return refusal(std::move(program));
  }

  /// The same of the plan's first task of that kind.
  template <typename Task, typename Change>
  std::string taskMessage(Change change) {
    return message([&](StepPlan &plan) { change(first<Task>(plan)); });
  }

  template <typename Task> static Task &first(StepPlan &plan) {
    for (StepTask &task : plan.tasks)
      if (auto *found = std::get_if<Task>(&task))
        return *found;
    std::abort();
  }

  static std::string refusal(CpuProgram program) {
    CpuExecutorOptions limits;
    limits.pages = 4;
    return CpuExecutor::create(std::move(program), limits).status().message();
  }

  TinyProgram tiny{Isa::Avx2};
};

TEST_F(StepPlanTest, BuffersLieInTheArena) {
  EXPECT_EQ(message([](StepPlan &) {}), "");
  EXPECT_EQ(message([](StepPlan &p) { p.buffers[0].place = 8; }),
            "step plan: buffer 0: its place, 8, is no multiple of 16");
  EXPECT_EQ(message([](StepPlan &p) { p.buffers[1].place = -16; }),
            "step plan: buffer 1: 64 floats at -16 do not lie in 368 floats");
  EXPECT_EQ(message([](StepPlan &p) { p.buffers[2].floats = 385; }),
            "step plan: buffer 2: 385 floats at 128 do not lie in 368 floats");
  EXPECT_EQ(message([](StepPlan &p) { p.buffers[3].floats = 0; }),
            "step plan: buffer 3: 0 floats at 160 do not lie in 368 floats");
  EXPECT_EQ(message([](StepPlan &p) {
              p.buffers[9].place =
                  std::numeric_limits<int64_t>::max() / 16 * 16;
            }),
            "step plan: buffer 9: 50 floats at 9223372036854775792 do not lie "
            "in 192 floats");
}

TEST_F(StepPlanTest, AttentionsAreInRange) {
  const char *range = "step plan: an attention has parameters out of range";
  EXPECT_EQ(message([](StepPlan &p) { p.attentions[0].heads = 0; }), range);
  EXPECT_EQ(message([](StepPlan &p) { p.attentions[0].window = -1; }), range);
  EXPECT_EQ(message([](StepPlan &p) {
              p.attentions[0].scale = std::numeric_limits<float>::infinity();
            }),
            range);
  EXPECT_EQ(message([](StepPlan &p) { p.attentions[0].slopes = {0.5f}; }),
            "step plan: an attention of 4 heads has 1 slopes");
}

TEST_F(StepPlanTest, WhatTasksNameIsThere) {
  EXPECT_EQ(taskMessage<RowLoopTask>([](auto &task) { task.kernel = 7; }),
            "step plan: task 0: there is no kernel 7");
  EXPECT_EQ(taskMessage<RowLoopTask>(
                [](auto &task) { task.arguments[0].index = -1; }),
            "step plan: task 0: there is no weight -1");
  EXPECT_EQ(taskMessage<RowLoopTask>(
                [](auto &task) { task.arguments[2].index = 12; }),
            "step plan: task 0: there is no buffer 12");
  EXPECT_EQ(message([](StepPlan &p) {
              std::get<RowLoopTask>(p.tasks[1]).arguments[0].index = 1;
            }),
            "step plan: task 1: there is no rope table 1");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.input = 12; }),
            "step plan: task 4: there is no buffer 12");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.weight = 12; }),
            "step plan: task 4: there is no weight 12");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.bias = 99; }),
            "step plan: task 4: there is no weight 99");
  EXPECT_EQ(taskMessage<AppendTask>([](auto &task) { task.cache = 2; }),
            "step plan: task 11: there is no cache 2");
  EXPECT_EQ(taskMessage<AttendTask>([](auto &task) { task.attention = 1; }),
            "step plan: task 14: there is no attention 1");
  EXPECT_EQ(
      taskMessage<CheckpointTask>([](auto &task) { task.buffers = {12}; }),
      "step plan: task 3: there is no buffer 12");
}

TEST_F(StepPlanTest, WidthsFitTogether) {
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.output = 2; }),
            "step plan: task 4: buffer 2 has records of 32 floats, not 64");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.input = 8; }),
            "step plan: task 4: buffer 8 has records of the wrong kind");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.endColumn = 0; }),
            "step plan: task 4: columns 0 to 0 are none");
  EXPECT_EQ(taskMessage<AppendTask>([](auto &task) { task.key = 0; }),
            "step plan: task 11: buffer 0 has records of 64 floats, not 32");
  EXPECT_EQ(taskMessage<AttendTask>([](auto &task) { task.query = 2; }),
            "step plan: task 14: buffer 2 has records of 32 floats, not 64");
  EXPECT_EQ(message([](StepPlan &p) { p.attentions[0].heads = 3; }),
            "step plan: task 14: 3 heads attend to a cache of 2");
}

TEST_F(StepPlanTest, NormsAndRotationsFit) {
  auto normMessage = [&](const RowNorm &norm) {
    return taskMessage<RowLoopTask>(
        [&](auto &task) { task.norms.push_back(norm); });
  };
  const RowNorm right = {RowNormKind::Rms, 1e-5f, 0, 1, noOperand, 1};
  EXPECT_EQ(normMessage(right), "");
  RowNorm norm = right;
  norm.input = 12;
  EXPECT_EQ(normMessage(norm), "step plan: task 0: there is no buffer 12");
  norm = right;
  norm.weight = noOperand;
  EXPECT_EQ(normMessage(norm), "step plan: task 0: a norm without a weight, or "
                               "a weight without a norm");
  norm = right;
  norm.bias = 1;
  EXPECT_EQ(normMessage(norm),
            "step plan: task 0: a bias without a layer norm");
  norm.norm = RowNormKind::Layer;
  EXPECT_EQ(normMessage(norm), "");
  norm.bias = 99;
  EXPECT_EQ(normMessage(norm), "step plan: task 0: there is no weight 99");
  norm = right;
  norm.output = noOperand;
  EXPECT_EQ(normMessage(norm),
            "step plan: task 0: a norm whose results are stored nowhere");
  norm = right;
  norm.epsilon = -1;
  EXPECT_EQ(normMessage(norm),
            "step plan: task 0: the epsilon of a norm is out of range");
  norm = right;
  norm.output = 2;
  EXPECT_EQ(normMessage(norm), "step plan: task 0: buffer 2 has records of 32 "
                               "floats, not 64");
  norm = right;
  norm.operand = 8;
  EXPECT_EQ(normMessage(norm),
            "step plan: task 0: buffer 8 has records of the wrong kind");

  auto rotationMessage = [&](const RowRotation &rotation) {
    return taskMessage<RowLoopTask>(
        [&](auto &task) { task.rotations.push_back(rotation); });
  };
  const RowRotation turn = {0, 1, 0, 4, 16, 16, true};
  EXPECT_EQ(rotationMessage(turn), "");
  EXPECT_EQ(taskMessage<RowLoopTask>([&](auto &task) {
              task.rotations.push_back(turn);
              task.norms.push_back(right);
            }),
            "step plan: task 0: a row loop does norms and rotations");
  RowRotation rotation = turn;
  rotation.rotaryDim = 18;
  EXPECT_EQ(rotationMessage(rotation), "step plan: task 0: a rotation of 18 of "
                                       "16 features in 4 heads");
  rotation = turn;
  rotation.ropeTable = 1;
  EXPECT_EQ(rotationMessage(rotation),
            "step plan: task 0: there is no rope table 1");
  rotation = turn;
  rotation.rotaryDim = 8;
  EXPECT_EQ(rotationMessage(rotation),
            "step plan: task 0: rope table 0 is not for 8 features");
  rotation = turn;
  rotation.output = 2;
  EXPECT_EQ(rotationMessage(rotation), "step plan: task 0: buffer 2 has "
                                       "records of 32 floats, not 64");
}

TEST_F(StepPlanTest, WeightsAreOfTheKindThatTasksNeed) {
  EXPECT_EQ(
      taskMessage<RowLoopTask>([](auto &task) { task.arguments[0].index = 4; }),
      "step plan: task 0: a row kernel is given weight 4, a matrix");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.weight = 0; }),
            "step plan: task 4: weight 0 is no packed matrix");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.bias = 4; }),
            "step plan: task 4: weight 4 is no vector");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.input = 5; }),
            "step plan: task 4: weight 4 takes records of 64 floats, not 24");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) {
              task.firstColumn = 8;
              task.endColumn = 40;
              task.output = 2;
            }),
            "step plan: task 4: columns 8 to 40 of weight 4, which has 64");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.weight = 5; }),
            "step plan: task 4: columns 0 to 64 of weight 5, which has 32");
  EXPECT_EQ(message([](StepPlan &p) {
              std::get<ProductTask>(p.tasks[5]).bias = 2; // 32 columns
            }),
            "step plan: task 5: a bias of 64 numbers for 32 columns");
}

TEST_F(StepPlanTest, WhatOnlyAGpuHasIsRefused) {
  EXPECT_EQ(message([](StepPlan &p) { p.tasks[1] = EmbedTask{0, false, 0}; }),
            "step plan: task 1: only a GPU has such a task");
  EXPECT_EQ(message([](StepPlan &p) {
              p.tasks[1] =
                  OperandTask{RecordKind::Rows, OperandRows::F16, 0, 1};
            }),
            "step plan: task 1: only a GPU has such a task");
  EXPECT_EQ(taskMessage<RowLoopTask>([](auto &task) {
              task.arguments[0] = {KernelArgument::Kind::Positions};
            }),
            "step plan: task 0: a row kernel is given what only a GPU has");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.residual = 0; }),
            "step plan: task 4: a product has a gate or a residual, as only on "
            "a GPU");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.partnerBias = 2; }),
            "step plan: task 4: the partner has a bias, and the gate has none");
  EXPECT_EQ(taskMessage<ProductTask>([](auto &task) { task.residual = 2; }),
            "step plan: task 4: buffer 2 has records of 32 floats, not 64");
  EXPECT_EQ(
      taskMessage<RowLoopTask>([](auto &task) { task.arguments[2].part = 64; }),
      "step plan: task 0: a part begins at float 64 of 64");
}

TEST_F(StepPlanTest, LoopsOverRowsHaveBuffersOfRows) {
  EXPECT_EQ(
      taskMessage<RowLoopTask>([](auto &task) { task.arguments[2].index = 8; }),
      "step plan: task 0: buffer 8 has records of the wrong kind");
}

TEST_F(StepPlanTest, ExchangesAreOfGroupsAndFit) {
  auto exchange = [&](int64_t members, ExchangeTask task) {
    CpuProgram program = tiny.program();
    program.members = members;
    program.step.tasks.emplace_back(task);
    return checkStepPlan(program, static_cast<int64_t>(program.weights.size()))
        .message();
  };
  using Operation = ExchangeTask::Operation;
  // Buffers of rows: 2 has 32 floats, 0, 1 and 4 have 64 each.
  constexpr auto rows = RecordKind::Rows;
  EXPECT_EQ(exchange(2, {Operation::Sum, rows, 2, 3, 0}), "");
  EXPECT_EQ(exchange(2, {Operation::Gather, rows, 2, 0, 1}), "");
  std::string task =
      "step plan: task " + std::to_string(tiny.program().step.tasks.size());
  EXPECT_EQ(exchange(1, {Operation::Sum, rows, 2, 3, 0}),
            task + ": an exchange of a program without a group");
  EXPECT_EQ(exchange(2, {Operation::Sum, rows, 2, 0, 1}),
            task + ": an exchange makes records of 64 floats from records of "
                   "32");
  EXPECT_EQ(exchange(2, {Operation::Gather, rows, 6, 0, 1}),
            task + ": an exchange makes records of 64 floats from records of "
                   "16");
  EXPECT_EQ(exchange(3, {Operation::Sum, rows, 2, 3, 0}),
            task + ": scratch of 64 floats for records of 32 of 3 members");
  EXPECT_EQ(exchange(2, {Operation::Sum, rows, 2, 3, 8}),
            task + ": buffer 8 has records of the wrong kind");
}

} // namespace
