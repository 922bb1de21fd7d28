//===- ModelsTest.cpp - whole models against their formulas ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs two small models of two layers each: a serial one with quantised
// weights, and one whose attention and feed-forward layer are parallel. Beyond
// the tests of row kernels they show that values keep their memory as long as
// they are needed, that threads wait where they must, and that no row depends
// on its batch mates.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "StepRunner.h"
#include "TestModels.h"

#include "gtest/gtest.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Computes the serial model for one sequence.
struct LlamaReference {
  const StepRunner &runner;
  std::vector<Attention> attention =
      std::vector<Attention>(2, {heads, kvHeads, headDim, scale});

  Vector step(int64_t token, int64_t position) {
    Vector x = tableRow(runner.getMatrix("embd"), token);
    for (int layer = 0; layer < 2; ++layer) {
      auto apply = [&](const Vector &to, const std::string &name) {
        return linear(to, runner.getMatrix(name + std::to_string(layer)));
      };
      auto norm = [&](const std::string &name) {
        return rmsNorm(x, runner.getWeight(name + std::to_string(layer)), 1e-5);
      };
      Vector a = norm("n1");
      auto rotate = [&](const Vector &v) {
        return rope(v, ir::RopeStyle::Interleaved, headDim, headDim, position);
      };
      Vector t = attention[layer](rotate(apply(a, "q")), rotate(apply(a, "k")),
                                  apply(a, "v"));
      x = add(x, apply(t, "o"));
      Vector m = norm("n2");
      Vector g = apply(m, "gate"), u = apply(m, "up");
      for (size_t i = 0; i < g.size(); ++i)
        g[i] = activate(ir::ActivationKind::Silu, g[i]) * u[i];
      x = add(x, apply(g, "down"));
    }
    return linear(rmsNorm(x, runner.getWeight("norm"), 1e-5),
                  runner.getMatrix("embd"));
  }
};

/// Computes the parallel model for one sequence.
struct ParallelReference {
  const StepRunner &runner;
  std::vector<Attention> attention =
      std::vector<Attention>(2, {heads, kvHeads, headDim, scale});

  Vector step(int64_t token, int64_t position) {
    Vector x = add(tableRow(runner.getMatrix("embd"), token),
                   tableRow(runner.getMatrix("pos"), position));
    for (int layer = 0; layer < 2; ++layer) {
      auto weight = [&](const std::string &name) -> const Vector & {
        return runner.getWeight(name + std::to_string(layer));
      };
      auto apply = [&](const Vector &to, const std::string &name,
                       const Vector &bias = {}) {
        return linear(to, runner.getMatrix(name + std::to_string(layer)), bias);
      };
      Vector qkv = apply(layerNorm(x, weight("w1"), weight("b1"), 1e-5), "qkv",
                         weight("qkvb"));
      Vector q, k, v;
      for (int64_t g = 0; g < kvHeads; ++g) {
        auto from = qkv.begin() + g * 4 * headDim;
        q.insert(q.end(), from, from + 2 * headDim);
        k.insert(k.end(), from + 2 * headDim, from + 3 * headDim);
        v.insert(v.end(), from + 3 * headDim, from + 4 * headDim);
      }
      auto rotate = [&](const Vector &row) {
        return rope(row, ir::RopeStyle::Half, headDim, 8, position);
      };
      Vector o = apply(attention[layer](rotate(q), rotate(k), v), "o");
      Vector u = apply(layerNorm(x, weight("w2"), {}, 1e-5), "up");
      for (float &value : u)
        value = activate(ir::ActivationKind::Gelu, value);
      x = add(x, add(o, apply(u, "down", weight("downb"))));
    }
    return linear(x, runner.getMatrix("head"));
  }
};

constexpr int64_t length = 12;

/// Returns the logits of sequence 0, decoded alone on one thread.
std::vector<Vector> decodeAlone(StepRunner &runner) {
  runner.reset();
  std::vector<Vector> logits;
  for (int64_t p = 0; p < length; ++p)
    logits.push_back(runner.run({makeRow(0, p)}));
  return logits;
}

void expectSame(const Vector &got, size_t row, const Vector &wanted,
                const std::string &what) {
  ASSERT_LE((row + 1) * vocabSize, got.size());
  EXPECT_TRUE(sameBits(&got[row * vocabSize], wanted.data(), vocabSize))
      << what;
}

/// Checks steps in which rows of other sequences stand before and behind, on
/// several threads.
void checkBatchMates(StepRunner &runner, const std::vector<Vector> &alone) {
  for (int64_t others : {1, 5, 14}) {
    runner.reset(/*threads=*/1 + others % 4);
    for (int64_t p = 0; p < length; ++p) {
      std::vector<TestRow> rows;
      for (int64_t s = 1; s <= others; ++s)
        rows.push_back(makeRow(s, p));
      size_t place = p % (others + 1);
      rows.insert(rows.begin() + place, makeRow(0, p));
      Vector logits = runner.run(rows);
      expectSame(logits, place, alone[p],
                 std::to_string(others) + " other rows");
    }
  }
}

/// Checks the whole prompt in chunks, with the logits of each chunk's last row.
void checkChunks(StepRunner &runner, const std::vector<Vector> &alone) {
  for (int64_t chunk : {2, 5, 12}) {
    runner.reset(/*threads=*/3);
    for (int64_t first = 0; first < length; first += chunk) {
      int64_t end = std::min(first + chunk, length);
      std::vector<TestRow> rows;
      for (int64_t p = first; p < end; ++p) {
        rows.push_back(makeRow(0, p));
        rows.back().isOutput = p + 1 == end;
      }
      Vector logits = runner.run(rows);
      EXPECT_EQ(logits.size(), size_t(vocabSize));
      expectSame(logits, 0, alone[end - 1],
                 "chunks of " + std::to_string(chunk));
    }
  }
}

template <typename Reference>
void checkModel(const ModelText &model, ir::CpuLevel level, double tolerance) {
  StepRunner runner(makeWeights(model), makeBody(model), vocabSize, level);
  std::vector<Vector> alone = decodeAlone(runner);
  Reference reference{runner};
  for (int64_t p = 0; p < length; ++p) {
    Vector wanted = reference.step(tokenAt(0, p), p);
    for (int64_t i = 0; i < vocabSize; ++i)
      ASSERT_NEAR(alone[p][i], wanted[i], tolerance)
          << "position " << p << " logit " << i;
  }
  checkBatchMates(runner, alone);
  checkChunks(runner, alone);
}

class Models : public testing::TestWithParam<ir::CpuLevel> {};

TEST_P(Models, SerialAndQuantized) {
  // A rounding difference of an input can change an 8-bit activation by one.
  checkModel<LlamaReference>(llama, GetParam(), 0.1);
}

TEST_P(Models, ParallelBranches) {
  checkModel<ParallelReference>(parallel, GetParam(), 1e-3);
}

TEST_P(Models, StepsWithoutOutputs) {
  StepRunner runner(makeWeights(llama), makeBody(llama), vocabSize, GetParam());
  runner.reset(/*threads=*/2);
  TestRow row = makeRow(0, 0);
  row.isOutput = false;
  EXPECT_TRUE(runner.run({row}).empty());
}

INSTANTIATE_TEST_SUITE_P(Levels, Models, testing::ValuesIn(allLevels),
                         [](const auto &info) {
                           return ir::stringifyCpuLevel(info.param).str();
                         });

} // namespace
