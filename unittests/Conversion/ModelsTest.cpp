//===- ModelsTest.cpp - whole models against their formulas ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two small models of two layers each: one serial with quantised weights, one
// whose attention and feed-forward are parallel. What they show beyond the row
// kernels: values keep their memory as long as they are needed, threads wait
// where they must, and no row depends on its company.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "StepRunner.h"

#include "gtest/gtest.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int64_t vocabSize = 100;
constexpr int64_t heads = 4, kvHeads = 2, headDim = 16;
constexpr double scale = 0.25;

void replaceAll(std::string &text, const std::string &what,
                const std::string &by) {
  for (size_t at; (at = text.find(what)) != std::string::npos;)
    text.replace(at, what.size(), by);
}

/// A model's texts. In those of a layer @ and # stand for its number, $in and
/// $out for its input and output.
struct ModelText {
  std::string weights, layerWeights, layer;
  std::string before, after;
};

std::string makeWeights(const ModelText &model) {
  std::string text = model.weights;
  for (int layer : {0, 1}) {
    std::string weights = model.layerWeights;
    replaceAll(weights, "@", std::to_string(layer));
    text += weights;
  }
  return text;
}

/// Spells out the short names of types.
std::string makeBody(const ModelText &model) {
  std::string text = model.before;
  for (int layer : {0, 1}) {
    std::string body = model.layer;
    replaceAll(body, "$in", "%h" + std::to_string(layer));
    replaceAll(body, "$out", "%h" + std::to_string(layer + 1));
    replaceAll(body, "#", std::to_string(layer));
    text += body;
  }
  text += model.after;
  replaceAll(text, "$H", "tensor<?x64xf32>");
  replaceAll(text, "$K", "tensor<?x32xf32>");
  replaceAll(text, "$F", "tensor<?x96xf32>");
  replaceAll(text, "$Q", "tensor<?x128xf32>");
  replaceAll(text, "$C", "!sluice.cache<kv_heads = 2, head_dim = 16>");
  replaceAll(text, "$V", "tensor<64xf32>");
  replaceAll(text, "$B", "xf32>");
  replaceAll(text, "$q8", "x!sluice.block<q8_0>>");
  return text;
}

const ModelText llama = {"embd: 100x64xf32\nnorm: 64xf32\n",
                         R"(n1@: 64xf32
q@: 64x64x!sluice.block<q8_0>
k@: 32x64x!sluice.block<q8_0>
v@: 32x64x!sluice.block<q8_0>
o@: 64x64x!sluice.block<q8_0>
n2@: 64xf32
gate@: 96x64x!sluice.block<q8_0>
up@: 96x64x!sluice.block<q8_0>
down@: 64x96x!sluice.block<q8_0>
)",
                         R"(
$out = sluice.layer # (%x = $in) : $H {
  %n1 = sluice.param @n1# : $V
  %wq = sluice.param @q# : tensor<64x64$q8
  %wk = sluice.param @k# : tensor<32x64$q8
  %wv = sluice.param @v# : tensor<32x64$q8
  %wo = sluice.param @o# : tensor<64x64$q8
  %n2 = sluice.param @n2# : $V
  %wg = sluice.param @gate# : tensor<96x64$q8
  %wu = sluice.param @up# : tensor<96x64$q8
  %wd = sluice.param @down# : tensor<64x96$q8
  %c = sluice.layer_cache : $C
  %a = sluice.rms_norm %x, %n1 epsilon 1.0e-5 : $H, $V
  %q = sluice.linear %a, %wq : $H, tensor<64x64$q8 -> $H
  %k = sluice.linear %a, %wk : $H, tensor<32x64$q8 -> $K
  %v = sluice.linear %a, %wv : $H, tensor<32x64$q8 -> $K
  %qr = sluice.rope %q, %batch interleaved heads 4 head_dim 16 rotary_dim 16
    base 10000.0 : $H
  %kr = sluice.rope %k, %batch interleaved heads 2 head_dim 16 rotary_dim 16
    base 10000.0 : $K
  %t = sluice.attend %qr, %kr, %v, %c, %batch heads 4 scale 0.25 : $H, $K, $C
  %o = sluice.linear %t, %wo : $H, tensor<64x64$q8 -> $H
  %x2 = sluice.add %x, %o : $H
  %m = sluice.rms_norm %x2, %n2 epsilon 1.0e-5 : $H, $V
  %g = sluice.linear %m, %wg : $H, tensor<96x64$q8 -> $F
  %u = sluice.linear %m, %wu : $H, tensor<96x64$q8 -> $F
  %f = sluice.gate silu %g, %u : $F
  %d = sluice.linear %f, %wd : $F, tensor<64x96$q8 -> $H
  %x3 = sluice.add %x2, %d : $H
  sluice.yield %x3 : $H
}
)",
                         R"(
%embd = sluice.param @embd : tensor<100x64$B
%h0 = sluice.embed %batch, %embd by token : tensor<100x64$B -> $H
)",
                         R"(
%s = sluice.select_outputs %h2, %batch : $H
%norm = sluice.param @norm : $V
%e = sluice.rms_norm %s, %norm epsilon 1.0e-5 : $H, $V
%logits = sluice.linear %e, %embd : $H, tensor<100x64$B -> tensor<?x100$B
sluice.return %logits : tensor<?x100$B
)"};

// All logits are computed here, and the model has no select_outputs.
const ModelText parallel = {
    "embd: 100x64xf32\npos: 64x64xf32\nhead: 64x100xf32\n",
    R"(w1@: 64xf32
b1@: 64xf32
w2@: 64xf32
qkv@: 128x64xf32
qkvb@: 128xf32
o@: 64x64xf32
up@: 64x96xf32
down@: 96x64xf32
downb@: 64xf32
)",
    R"(
$out = sluice.layer # (%x = $in) : $H {
  %w1 = sluice.param @w1# : $V
  %b1 = sluice.param @b1# : $V
  %w2 = sluice.param @w2# : $V
  %wqkv = sluice.param @qkv# : tensor<128x64$B
  %bqkv = sluice.param @qkvb# : tensor<128$B
  %wo = sluice.param @o# : tensor<64x64$B
  %wu = sluice.param @up# : tensor<64x96$B
  %wd = sluice.param @down# : tensor<96x64$B
  %bd = sluice.param @downb# : $V
  %c = sluice.layer_cache : $C
  %a = sluice.layer_norm %x, %w1 bias %b1 epsilon 1.0e-5 : $H, $V, $V
  %qkv = sluice.linear %a, %wqkv bias %bqkv
    : $H, tensor<128x64$B, tensor<128$B -> $Q
  %q, %k, %v = sluice.split_qkv %qkv grouped heads 4 kv_heads 2 head_dim 16
    : $Q -> $H, $K, $K
  %qr = sluice.rope %q, %batch half heads 4 head_dim 16 rotary_dim 8
    base 10000.0 : $H
  %kr = sluice.rope %k, %batch half heads 2 head_dim 16 rotary_dim 8
    base 10000.0 : $K
  %t = sluice.attend %qr, %kr, %v, %c, %batch heads 4 scale 0.25 : $H, $K, $C
  %o = sluice.linear %t, %wo : $H, tensor<64x64$B -> $H
  %m = sluice.layer_norm %x, %w2 epsilon 1.0e-5 : $H, $V
  %u = sluice.linear %m, %wu transposed : $H, tensor<64x96$B -> $F
  %f = sluice.activation gelu %u : $F
  %d = sluice.linear %f, %wd bias %bd transposed
    : $F, tensor<96x64$B, $V -> $H
  %s = sluice.add %o, %d : $H
  %y = sluice.add %x, %s : $H
  sluice.yield %y : $H
}
)",
    R"(
%embd = sluice.param @embd : tensor<100x64$B
%pos = sluice.param @pos : tensor<64x64$B
%e = sluice.embed %batch, %embd by token : tensor<100x64$B -> $H
%p = sluice.embed %batch, %pos by position : tensor<64x64$B -> $H
%h0 = sluice.add %e, %p : $H
)",
    R"(
%head = sluice.param @head : tensor<64x100$B
%logits = sluice.linear %h2, %head transposed
  : $H, tensor<64x100$B -> tensor<?x100$B
sluice.return %logits : tensor<?x100$B
)"};

/// The serial model on one sequence.
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

/// The parallel model on one sequence.
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

/// Token `position` of sequence `sequence`.
int64_t tokenAt(int64_t sequence, int64_t position) {
  return (sequence * 31 + position * 17 + 5) % vocabSize;
}

Row makeRow(int64_t sequence, int64_t position) {
  return {sequence, position, tokenAt(sequence, position), true};
}

constexpr int64_t length = 12;

/// The logits of sequence 0 decoded alone on one thread.
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

/// Steps with strangers before and after, on several threads.
void checkCompany(StepRunner &runner, const std::vector<Vector> &alone) {
  for (int64_t strangers : {1, 5, 14}) {
    runner.reset();
    for (int64_t p = 0; p < length; ++p) {
      std::vector<Row> rows;
      for (int64_t s = 1; s <= strangers; ++s)
        rows.push_back(makeRow(s, p));
      size_t place = p % (strangers + 1);
      rows.insert(rows.begin() + place, makeRow(0, p));
      Vector logits = runner.run(rows, /*threads=*/1 + p % 4);
      expectSame(logits, place, alone[p],
                 std::to_string(strangers) + " strangers");
    }
  }
}

/// The whole prompt in chunks, with the logits of each chunk's last row.
void checkChunks(StepRunner &runner, const std::vector<Vector> &alone) {
  for (int64_t chunk : {2, 5, 12}) {
    runner.reset();
    for (int64_t first = 0; first < length; first += chunk) {
      int64_t end = std::min(first + chunk, length);
      std::vector<Row> rows;
      for (int64_t p = first; p < end; ++p) {
        rows.push_back(makeRow(0, p));
        rows.back().isOutput = p + 1 == end;
      }
      Vector logits = runner.run(rows, /*threads=*/3);
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
  checkCompany(runner, alone);
  checkChunks(runner, alone);
}

class Models : public testing::TestWithParam<ir::CpuLevel> {};

TEST_P(Models, SerialAndQuantized) {
  // A rounding difference of an input can move an 8-bit activation by a step.
  checkModel<LlamaReference>(llama, GetParam(), 0.1);
}

TEST_P(Models, ParallelBranches) {
  checkModel<ParallelReference>(parallel, GetParam(), 1e-3);
}

TEST_P(Models, StepsWithoutOutputs) {
  StepRunner runner(makeWeights(llama), makeBody(llama), vocabSize, GetParam());
  Row row = makeRow(0, 0);
  row.isOutput = false;
  EXPECT_TRUE(runner.run({row}, /*threads=*/2).empty());
}

INSTANTIATE_TEST_SUITE_P(Levels, Models, testing::ValuesIn(allLevels),
                         [](const auto &info) {
                           return ir::stringifyCpuLevel(info.param).str();
                         });

} // namespace
