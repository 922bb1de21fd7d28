//===- JoinedTasksTest.cpp - the tasks that share a launch ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/JoinedTasks.h"

#include "runtime/device/cuda/kernels/KernelABI.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using namespace sluice::device;

namespace {

/// Buffers of 64 floats, one after the other, but for the last, which lies in
/// the memory of the first.
enum Buffer : int64_t { X, Q, K, V, R, Wide, InX };

class JoinedTasksTest : public testing::Test {
protected:
  JoinedTasksTest() {
    for (int64_t i = X; i <= R; ++i)
      program.step.buffers.push_back({RecordKind::Rows, 64, 64 * i});
    program.step.buffers.push_back({RecordKind::Rows, 9000, 1024});
    program.step.buffers.push_back({RecordKind::Rows, 16, 16});
    for (Format format :
         {Format::F16, Format::F16, Format::F16, Format::BF16}) {
      LinearWeight weight;
      weight.matrix = {nullptr, format, format, 64, 64};
      program.weights.emplace_back(weight);
    }
    program.weights.emplace_back(VectorWeight());
    program.caches = {{2, 32}};
    PlannedAttention attention;
    attention.heads = 2;
    program.step.attentions = {attention};
  }

  static ProductTask product(int64_t weight, int64_t output, int64_t input = X,
                             int64_t residual = noOperand) {
    ProductTask task = {RecordKind::Rows, input, weight, noOperand,
                        output,           0,     64};
    task.residual = residual;
    return task;
  }

  static RowLoopTask norm(RowNormKind kind, int64_t input,
                          OperandRows format = OperandRows::Bf16) {
    RowLoopTask loop;
    loop.norms = {{kind, 0, input, kind == RowNormKind::None ? noOperand : 4,
                   noOperand, noOperand, R, format}};
    return loop;
  }

  /// Returns how many of the tasks share a launch.
  size_t join(std::vector<StepTask> tasks) {
    program.step.tasks = std::move(tasks);
    return joinedTasks(program, 0);
  }
  /// Returns how many of the tasks after the first are its tail.
  size_t tail(std::vector<StepTask> tasks) {
    program.step.tasks = std::move(tasks);
    return tailTasks(program, 0, 1);
  }

  CudaProgram program;
};

} // namespace

TEST_F(JoinedTasksTest, ProductsOfTheSameRows) {
  EXPECT_EQ(join({product(0, Q)}), 1u);
  EXPECT_EQ(join({product(0, Q), product(1, K), product(2, V)}), 3u);
  // A launch has room for four.
  EXPECT_EQ(join({product(0, Q), product(1, K), product(2, V), product(0, R),
                  product(1, Wide)}),
            4u);
  EXPECT_EQ(join({product(0, Q), BarrierTask(), product(1, K)}), 1u);
  EXPECT_EQ(join({product(0, Q), product(3, K)}), 1u) << "of two kinds";
  EXPECT_EQ(join({product(0, Q), product(1, K, R)}), 1u) << "of other rows";
  EXPECT_EQ(join({product(0, Q), product(4, K)}), 1u) << "of no matrix";
}

TEST_F(JoinedTasksTest, ProductsThatNeedOthersAreNotJoined) {
  EXPECT_EQ(join({product(0, Q), product(1, Q)}), 1u);
  EXPECT_EQ(join({product(0, Q), product(1, K, X, Q)}), 1u)
      << "the residual is the other's result";
  EXPECT_EQ(join({product(0, Q, X, R), product(1, R)}), 1u)
      << "the result takes the place of the other's residual";
  EXPECT_EQ(join({product(0, Q), product(1, InX)}), 1u)
      << "the result takes the place of the rows";
  EXPECT_EQ(join({product(0, Q, X, R), product(1, K, X, R)}), 2u);
}

TEST_F(JoinedTasksTest, RotationsAndTheAppendOfKeys) {
  RowLoopTask loop;
  loop.rotations = {{X, Q, 0, 2, 32, 32, true}, {V, K, 0, 2, 32, 32, true}};
  const AppendTask append = {K, R, 0};
  EXPECT_EQ(join({loop, append}), 2u);
  EXPECT_EQ(join({loop, AppendTask{R, K, 0}}), 1u) << "the key stays";
  EXPECT_EQ(join({loop, AppendTask{K, Q, 0}}), 1u)
      << "the values are rotated queries";
  EXPECT_EQ(join({loop, BarrierTask(), append}), 1u);
  EXPECT_EQ(join({RowLoopTask(), append}), 1u);
  RowLoopTask onlyKeys;
  onlyKeys.rotations = {loop.rotations[1]};
  EXPECT_EQ(join({onlyKeys, append}), 2u);
  RowLoopTask more = loop;
  more.rotations.push_back({R, Wide, 0, 2, 32, 32, true});
  EXPECT_EQ(join({more, append}), 1u);
  loop.rotations[0].headDim = 16;
  EXPECT_EQ(join({loop, append}), 1u) << "queries of another width";
}

TEST_F(JoinedTasksTest, TailsOfProducts) {
  EXPECT_EQ(tail({product(0, Q), norm(RowNormKind::Rms, Q)}), 1u);
  EXPECT_EQ(tail({product(0, Q), norm(RowNormKind::Rms, Q),
                  OperandTask{RecordKind::Rows, OperandRows::F16, K, V}}),
            2u);
  EXPECT_EQ(tail({product(0, Q), norm(RowNormKind::Rms, Q),
                  norm(RowNormKind::Layer, Q), norm(RowNormKind::None, Q)}),
            2u)
      << "there is room for two";
  EXPECT_EQ(tail({product(0, Q), RowLoopTask(), norm(RowNormKind::Rms, Q)}),
            0u);
  EXPECT_EQ(tail({product(0, Q), CheckpointTask(), norm(RowNormKind::Rms, Q)}),
            0u);
  EXPECT_EQ(tail({product(0, Q),
                  OperandTask{RecordKind::Outputs, OperandRows::F16, K, V}}),
            0u)
      << "of outputs behind one of rows";
  EXPECT_EQ(tail({AppendTask{K, V, 0}, norm(RowNormKind::Rms, Q)}), 0u);
}

TEST_F(JoinedTasksTest, WideRowsHaveLaunchesOfTheirOwn) {
  EXPECT_EQ(tail({product(0, Q), norm(RowNormKind::None, Wide)}), 1u);
  EXPECT_EQ(
      tail({product(0, Q), norm(RowNormKind::None, Wide, OperandRows::F16)}),
      0u);
  program.step.buffers[Q].floats = 62; // no vectors of four
  EXPECT_EQ(tail({product(0, Q), norm(RowNormKind::Rms, Q)}), 0u);
}

TEST_F(JoinedTasksTest, TailsOfAttention) {
  const AttendTask attend = {Q, K, 0, 0};
  EXPECT_EQ(tail({attend, norm(RowNormKind::None, K)}), 1u);
  EXPECT_EQ(tail({attend, norm(RowNormKind::Rms, K)}), 0u);
  // A row of 64 heads that share a key is a tile by itself.
  program.step.attentions[0].heads = 128;
  EXPECT_EQ(tail({attend, norm(RowNormKind::None, K)}), 0u);
}
