//===- CheckpointsTest.cpp - rows that leave a step -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the serial test model as the programs of one or two stages, with
// checkpoints between its ops and a product in columns. For any rows that die
// before any checkpoint, the logits of the other rows are those of the whole
// model, bit for bit. A step without living rows ends early.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "StepRunner.h"
#include "TestModels.h"

#include "gtest/gtest.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Deaths = std::map<int64_t, std::set<int64_t>>;

/// A layer like that of `llama`, where # is its number and $b its batch. The
/// tables of the rotation and the quantised %a are used across checkpoints.
const char *const layer = R"(
%h#, %b# = sluice.layer # (%x = $in) : $H, !sluice.batch {
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
  %qr = sluice.rope %q, $b interleaved heads 4 head_dim 16 rotary_dim 16
    base 10000.0 : $H
  %c1, %x1, %a1, %qr1 = sluice.checkpoint $b, %x, %a, %qr : $H, $H, $H
  %k = sluice.linear %a1, %wk : $H, tensor<32x64$q8 -> $K
  %v = sluice.linear %a1, %wv : $H, tensor<32x64$q8 -> $K
  %kr = sluice.rope %k, %c1 interleaved heads 2 head_dim 16 rotary_dim 16
    base 10000.0 : $K
  %c2, %x2, %qr2, %kr2, %v2 = sluice.checkpoint %c1, %x1, %qr1, %kr, %v
    : $H, $H, $K, $K
  %t = sluice.attend %qr2, %kr2, %v2, %c, %c2 heads 4 scale 0.25 : $H, $K, $C
  %o = sluice.linear %t, %wo : $H, tensor<64x64$q8 -> $H
  %y = sluice.add %x2, %o : $H
  %c3, %y3 = sluice.checkpoint %c2, %y : $H
  %m = sluice.rms_norm %y3, %n2 epsilon 1.0e-5 : $H, $V
  %g0 = sluice.linear %m, %wg columns 0 to 48
    : $H, tensor<96x64$q8 -> tensor<?x48xf32>
  %c4, %y4, %m4, %g4 = sluice.checkpoint %c3, %y3, %m, %g0
    : $H, $H, tensor<?x48xf32>
  %g1 = sluice.linear %m4, %wg columns 48 to 96
    : $H, tensor<96x64$q8 -> tensor<?x48xf32>
  %g = sluice.concat %g4, %g1 : tensor<?x48xf32>, tensor<?x48xf32> -> $F
  %u = sluice.linear %m4, %wu : $H, tensor<96x64$q8 -> $F
  %f = sluice.gate silu %g, %u : $F
  %d = sluice.linear %f, %wd : $F, tensor<64x96$q8 -> $H
  %z = sluice.add %y4, %d : $H
  sluice.yield %z, %c4 : $H
}
)";

const char *const embedding = R"(
%embd = sluice.param @embd : tensor<100x64$B
%e = sluice.embed %batch, %embd by token : tensor<100x64$B -> $H
)";

/// Checkpoints behind select_outputs move rows of outputs, logits among them.
const char *const output = R"(
%s0 = sluice.select_outputs %h1, %b1 : $H
%o1, %s1 = sluice.checkpoint %b1, %s0 : $H
%norm = sluice.param @norm : $V
%table = sluice.param @embd : tensor<100x64$B
%n = sluice.rms_norm %s1, %norm epsilon 1.0e-5 : $H, $V
%logits = sluice.linear %n, %table : $H, tensor<100x64$B -> tensor<?x100$B
%o2, %last = sluice.checkpoint %o1, %logits : tensor<?x100$B
sluice.send @tokens %o2, %last : tensor<?x100$B
)";

std::string makeLayer(int number, const std::string &in,
                      const std::string &batch) {
  std::string text = layer;
  replaceAll(text, "$in", in);
  replaceAll(text, "$b", batch);
  replaceAll(text, "#", std::to_string(number));
  return text;
}

/// Returns a module of ranks, channels and workers for the stages of @main.
std::string makeModule(const std::string &stages, const std::string &workers) {
  std::string text = makeWeightOps(makeWeights(llama));
  for (const char *rank : {"0", "1"})
    text += "sluice.rank @rank" + std::string(rank) + " index " + rank +
            " on(#sluice.place<node = \"n\", device = " + rank + ">)\n";
  text += "sluice.channel @rows from @rank0 to @rank0 capacity 4 : "
          "!sluice.frame<rows>\n";
  text += "sluice.pipeline @main stages [" + stages + "] attributes {" +
          makeModelAttributes(vocabSize) + "}\n";
  return spellOut(text + workers);
}

std::string makeOneStage() {
  return makeModule("@main.s0",
                    "sluice.channel @tokens from @rank0 to @rank0 capacity 4 : "
                    "!sluice.frame<tokens>\n"
                    "sluice.worker @main.s0 at(@rank0) {\n"
                    "%batch = sluice.receive @rows\n" +
                        std::string(embedding) + makeLayer(0, "%e", "%batch") +
                        makeLayer(1, "%h0", "%b0") + output + "}\n");
}

std::string makeTwoStages() {
  return makeModule("@main.s0, @main.s1",
                    "sluice.channel @hidden from @rank0 to @rank1 capacity 4 : "
                    "!sluice.frame<rows, $H>\n"
                    "sluice.channel @tokens from @rank1 to @rank0 capacity 4 : "
                    "!sluice.frame<tokens>\n"
                    "sluice.worker @main.s0 at(@rank0) {\n"
                    "%batch = sluice.receive @rows\n" +
                        std::string(embedding) + makeLayer(0, "%e", "%batch") +
                        "sluice.send @hidden %b0, %h0 : $H\n}\n"
                        "sluice.worker @main.s1 at(@rank1) {\n"
                        "%batch, %in = sluice.receive @hidden : $H\n" +
                        makeLayer(1, "%in", "%batch") + output + "}\n");
}

constexpr int64_t sequences = 6, length = 4;

/// Returns a row of each sequence at a position.
std::vector<TestRow> makeStep(int64_t position) {
  std::vector<TestRow> rows;
  for (int64_t sequence = 0; sequence < sequences; ++sequence)
    rows.push_back(makeRow(sequence, position));
  return rows;
}

/// Returns the last logits of each sequence, from the model without
/// checkpoints.
std::vector<Vector> runWhole(ir::CpuLevel level) {
  StepRunner runner(makeWeights(llama), makeBody(llama), vocabSize, level);
  std::vector<Vector> logits(sequences);
  for (int64_t sequence = 0; sequence < sequences; ++sequence)
    for (int64_t position = 0; position < length; ++position)
      logits[sequence] = runner.run({makeRow(sequence, position)});
  return logits;
}

/// Runs all sequences up to their last rows, and lets rows die in the last
/// step.
void checkDeaths(StepRunner &runner, const std::vector<Vector> &wanted,
                 const Deaths &deaths, int64_t threads) {
  runner.reset(threads);
  for (int64_t position = 0; position + 1 < length; ++position)
    runner.run(makeStep(position));
  Vector logits = runner.run(makeStep(length - 1), deaths);

  std::set<int64_t> alive, got;
  for (int64_t sequence = 0; sequence < sequences; ++sequence)
    if (llvm::none_of(deaths, [&](const auto &each) {
          return each.second.contains(sequence);
        }))
      alive.insert(sequence);
  if (alive.empty()) {
    EXPECT_TRUE(runner.getOutputSequences().empty());
    return;
  }
  ASSERT_EQ(logits.size(), alive.size() * vocabSize);
  for (auto [place, sequence] : llvm::enumerate(runner.getOutputSequences())) {
    got.insert(sequence);
    EXPECT_TRUE(sameBits(&logits[place * vocabSize], wanted[sequence].data(),
                         vocabSize))
        << "sequence " << sequence;
  }
  EXPECT_EQ(got, alive);
}

void checkStages(const std::string &module, ir::CpuLevel level) {
  StepRunner runner(module, vocabSize, level);
  std::vector<Vector> wanted = runWhole(level);
  ASSERT_EQ(runner.countCheckpoints(), 10);
  for (int64_t threads : {1, 3}) {
    checkDeaths(runner, wanted, {}, threads);
    for (int64_t checkpoint = 0; checkpoint < 10; ++checkpoint) {
      SCOPED_TRACE("checkpoint " + std::to_string(checkpoint));
      for (const std::set<int64_t> &dead :
           {std::set<int64_t>{0}, {1, 2, 5}, {4, 5}, {0, 1, 2, 3, 4, 5}})
        checkDeaths(runner, wanted, {{checkpoint, dead}}, threads);
    }
    checkDeaths(runner, wanted, {{0, {3}}, {2, {0}}, {5, {5}}, {9, {1}}},
                threads);
  }
}

class Checkpoints : public testing::TestWithParam<ir::CpuLevel> {};

TEST_P(Checkpoints, OneStage) { checkStages(makeOneStage(), GetParam()); }

TEST_P(Checkpoints, TwoStages) { checkStages(makeTwoStages(), GetParam()); }

TEST_P(Checkpoints, RowsOfOneSequence) {
  // Rows that are no outputs leave as well, and the outputs are renumbered.
  StepRunner runner(makeTwoStages(), vocabSize, GetParam());
  std::vector<Vector> wanted = runWhole(GetParam());
  for (int64_t checkpoint = 0; checkpoint < 10; ++checkpoint) {
    std::vector<TestRow> rows;
    for (int64_t sequence = 0; sequence < sequences; ++sequence)
      for (int64_t position = 0; position < length; ++position) {
        rows.push_back(makeRow(sequence, position));
        rows.back().isOutput = position + 1 == length;
      }
    runner.reset(/*threads=*/3);
    Vector logits = runner.run(rows, {{checkpoint, {0, 3, 4}}});
    std::vector<int64_t> got = runner.getOutputSequences();
    ASSERT_EQ(got.size(), 3u);
    for (auto [place, sequence] : llvm::enumerate(got))
      EXPECT_TRUE(sameBits(&logits[place * vocabSize], wanted[sequence].data(),
                           vocabSize))
          << "sequence " << sequence << ", checkpoint " << checkpoint;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Checkpoints, testing::ValuesIn(allLevels),
                         [](const auto &info) {
                           return ir::stringifyCpuLevel(info.param).str();
                         });

} // namespace
