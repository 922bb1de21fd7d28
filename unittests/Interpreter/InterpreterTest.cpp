//===- InterpreterTest.cpp - tests of Interpreter.h -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/Interpreter.h"

#include "ModuleFixture.h"

#include <gmock/gmock.h>

#include <regex>

using namespace sluice;
using namespace sluice::interpreter;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

namespace {

/// A model of three tokens, two features and one layer, whose logits can be
/// computed by hand: the layer adds the mean of the embeddings of the tokens so
/// far, since the keys are zero and so the scores equal.
class InterpreterTest : public ModuleFixture {
protected:
  /// Makes a model whose step takes a `!sluice.batch` if `fused`, else a
  /// `!sluice.chunk`. Only one model may exist at a time.
  Expected<Interpreter> makeModel(bool fused = true) {
    writeFile(std::vector<float>{1, 0, 0, 1, 2, 2,   // table[3][2]
                                 0, 0, 0, 0,         // zeros[2][2]
                                 1, 0, 0, 1, 1, 1}); // output[3][2]
    std::string text = R"(
      sluice.weight @table in @f0 at 0 stored f32 : tensor<3x2xf32>
      sluice.weight @zeros in @f0 at 24 stored f32 : tensor<2x2xf32>
      sluice.weight @output in @f0 at 40 stored f32 : tensor<3x2xf32>
      sluice.model @main(%rows: TYPE) attributes {
          architecture = "test", model_name = "tiny", vocab_size = 3 : i64,
          context_length = 4 : i64} {
        %table = sluice.param @table : tensor<3x2xf32>
        %h0 = sluice.embed ROWS, %table by token
          : tensor<3x2xf32> -> tensor<?x2xf32>
        %h1 = sluice.layer 0 (%x = %h0) : tensor<?x2xf32> {
          %w = sluice.param @zeros : tensor<2x2xf32>
          %k = sluice.linear %x, %w
            : tensor<?x2xf32>, tensor<2x2xf32> -> tensor<?x2xf32>
          %cache = sluice.layer_cache : !sluice.cache<kv_heads = 1, head_dim = 2>
          %a = sluice.attend %x, %k, %x, %cache, ROWS heads 1 scale 1.0
            : tensor<?x2xf32>, tensor<?x2xf32>,
              !sluice.cache<kv_heads = 1, head_dim = 2>
          %y = sluice.add %x, %a : tensor<?x2xf32>
          sluice.yield %y : tensor<?x2xf32>
        }
        %o = sluice.select_outputs %h1, ROWS : tensor<?x2xf32>
        %out = sluice.param @output : tensor<3x2xf32>
        %logits = sluice.linear %o, %out
          : tensor<?x2xf32>, tensor<3x2xf32> -> tensor<?x3xf32>
        sluice.return %logits : tensor<?x3xf32>
      })";
    text = std::regex_replace(text, std::regex("TYPE"),
                              fused ? "!sluice.batch" : "!sluice.chunk");
    text = std::regex_replace(text, std::regex("ROWS"),
                              fused ? "%rows" : "chunk %rows");
    return Interpreter::create(parse(text));
  }

  static StepBatch rowsOf(SequenceId sequence, int64_t first,
                          std::vector<int32_t> tokens) {
    StepBatch batch(tokens.size(), tokens.size());
    for (int32_t token : tokens)
      EXPECT_TRUE(batch.add(sequence, first++, token, true).ok());
    return batch;
  }

  /// Executes a step of sequences 0 to 7, whose positions from those of the
  /// rows on are replaced.
  Expected<RowData> step(Interpreter &interpreter, const StepBatch &batch) {
    for (int64_t row = 0; row < batch.rows(); ++row) {
      pages.truncate(batch.sequences()[row], batch.positions()[row]);
      EXPECT_TRUE(
          pages.grow(batch.sequences()[row], batch.positions()[row] + 1).ok());
    }
    return interpreter.step(batch, pages);
  }

  std::vector<float> run(Interpreter &interpreter, const StepBatch &batch) {
    Expected<RowData> logits = step(interpreter, batch);
    EXPECT_TRUE(logits) << logits.status().message();
    if (!logits)
      return {};
    return {logits->elements().begin(), logits->elements().end()};
  }

  std::string errorOf(Interpreter &interpreter, const StepBatch &batch) {
    Expected<RowData> logits = step(interpreter, batch);
    return logits ? "no error" : logits.status().message();
  }

  CachePages pages = makePages();

private:
  static CachePages makePages() {
    CachePages made = CachePages::create({8, 8, CachePages::pageTokens}).take();
    for (SequenceId sequence = 0; sequence < 8; ++sequence)
      EXPECT_EQ(*made.open(), sequence);
    return made;
  }
};

TEST_F(InterpreterTest, ComputesLogits) {
  Expected<Interpreter> model = makeModel();
  ASSERT_TRUE(model) << model.status().message();
  // Token 0 is (1, 0): plus itself (2, 0). Token 2 is (2, 2): plus the mean of
  // (1, 0) and (2, 2), (3.5, 3).
  EXPECT_THAT(
      run(*model, rowsOf(0, 0, {0, 2})),
      Pointwise(FloatNear(1e-6), std::vector<float>{2, 0, 2, 3.5, 3, 6.5}));
}

TEST_F(InterpreterTest, OnlyOutputsHaveLogits) {
  Expected<Interpreter> model = makeModel();
  ASSERT_TRUE(model) << model.status().message();
  StepBatch batch(2, 1);
  ASSERT_TRUE(batch.add(0, 0, 0, false).ok());
  ASSERT_TRUE(batch.add(0, 1, 2, true).ok());
  EXPECT_THAT(run(*model, batch),
              Pointwise(FloatNear(1e-6), std::vector<float>{3.5, 3, 6.5}));
}

TEST_F(InterpreterTest, StepsContinueSequencesThatGoOnSideBySide) {
  Expected<Interpreter> model = makeModel();
  ASSERT_TRUE(model) << model.status().message();
  run(*model, rowsOf(0, 0, {0}));
  run(*model, rowsOf(1, 0, {1}));
  EXPECT_THAT(run(*model, rowsOf(0, 1, {2})),
              Pointwise(FloatNear(1e-6), std::vector<float>{3.5, 3, 6.5}));
}

// The results are exactly equal, since sums do not depend on other rows.
TEST_F(InterpreterTest, AFusedStepGivesWhatEachSequencesStepsGive) {
  // The logits of sequences 0, 1 and 2 on their own, and of the next rows of 1
  // and 0.
  std::vector<float> first, second;
  {
    Expected<Interpreter> alone = makeModel(/*fused=*/false);
    ASSERT_TRUE(alone) << alone.status().message();
    EXPECT_FALSE(alone->isFused());
    auto add = [&](std::vector<float> &to, const StepBatch &batch) {
      std::vector<float> logits = run(*alone, batch);
      to.insert(to.end(), logits.begin(), logits.end());
    };
    add(first, rowsOf(0, 0, {0, 2, 1}));
    add(first, rowsOf(1, 0, {1}));
    add(first, rowsOf(2, 0, {2, 2}));
    add(second, rowsOf(1, 1, {0}));
    add(second, rowsOf(0, 3, {0}));
  }
  Expected<Interpreter> fused = makeModel();
  ASSERT_TRUE(fused) << fused.status().message();
  EXPECT_TRUE(fused->isFused());
  StepBatch batch(6, 6);
  for (auto [sequence, position, token] : {std::tuple(0, 0, 0),
                                           {0, 1, 2},
                                           {0, 2, 1},
                                           {1, 0, 1},
                                           {2, 0, 2},
                                           {2, 1, 2}})
    ASSERT_TRUE(batch.add(sequence, position, token, true).ok());
  EXPECT_EQ(run(*fused, batch), first);
  StepBatch next(2, 2);
  ASSERT_TRUE(next.add(1, 1, 0, true).ok());
  ASSERT_TRUE(next.add(0, 3, 0, true).ok());
  EXPECT_EQ(run(*fused, next), second);
}

TEST_F(InterpreterTest, AStepOfOneRequestRefusesRowsOfSeveral) {
  Expected<Interpreter> model = makeModel(/*fused=*/false);
  ASSERT_TRUE(model) << model.status().message();
  StepBatch batch(2, 2);
  ASSERT_TRUE(batch.add(0, 0, 0, true).ok());
  ASSERT_TRUE(batch.add(5, 0, 1, true).ok());
  EXPECT_THAT(errorOf(*model, batch),
              HasSubstr("rows of sequences 0 and 5: --sluice-fuse-decode"));
}

TEST_F(InterpreterTest, ASequenceCanGoBack) {
  Expected<Interpreter> model = makeModel();
  ASSERT_TRUE(model) << model.status().message();
  run(*model, rowsOf(0, 0, {0, 1, 1}));
  std::vector<float> expected = {3.5, 3, 6.5};
  EXPECT_THAT(run(*model, rowsOf(0, 1, {2})),
              Pointwise(FloatNear(1e-6), expected));
}

TEST_F(InterpreterTest, MembersOfAGroupDropTheSameRows) {
  writeFile(std::vector<float>{1, 0, 0, 1, 2, 2,   // table[3][2]
                               1, 0, 0, 1,         // unit[2][2]
                               1, 0, 0, 1, 1, 1}); // output[3][2]
  Expected<Interpreter> model = Interpreter::create(parse(R"(
    sluice.weight @table in @f0 at 0 stored f32 : tensor<3x2xf32>
    sluice.weight @unit in @f0 at 24 stored f32 : tensor<2x2xf32>
    sluice.slice @unit.m0 of @unit rows 0 to 1 : tensor<1x2xf32>
    sluice.slice @unit.m1 of @unit rows 1 to 2 : tensor<1x2xf32>
    sluice.weight @output in @f0 at 40 stored f32 : tensor<3x2xf32>
    sluice.slice @output.m0 of @output columns 0 to 1 : tensor<3x1xf32>
    sluice.slice @output.m1 of @output columns 1 to 2 : tensor<3x1xf32>
    sluice.model @main(%rows: !sluice.batch) attributes {
        architecture = "test", model_name = "tiny", vocab_size = 3 : i64,
        context_length = 4 : i64, tensor_parallel = 2 : i64} {
      %table = sluice.param @table : tensor<3x2xf32>
      %h = sluice.embed %rows, %table by token
        : tensor<3x2xf32> -> tensor<?x2xf32>
      %unit = sluice.shard [@unit.m0, @unit.m1] : tensor<1x2xf32>
      %own = sluice.linear %h, %unit
        : tensor<?x2xf32>, tensor<1x2xf32> -> tensor<?x1xf32>
      %b, %left = sluice.checkpoint %rows, %own : tensor<?x1xf32>
      %output = sluice.shard [@output.m0, @output.m1] : tensor<3x1xf32>
      %part = sluice.linear %left, %output
        : tensor<?x1xf32>, tensor<3x1xf32> -> tensor<?x3xf32>
      %logits = sluice.all_reduce %part : tensor<?x3xf32>
      sluice.return %logits : tensor<?x3xf32>
    })"));
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_THAT(run(*model, rowsOf(0, 0, {2, 1})),
              Pointwise(FloatNear(1e-6), {2, 2, 4, 0, 1, 1}));
  // Only the first member asks.
  int asked = 0;
  model->setAlive([&](const StepBatch &batch) {
    ++asked;
    std::vector<uint8_t> alive(size_t(batch.rows()), 1);
    alive.front() = 0;
    return alive;
  });
  EXPECT_THAT(run(*model, rowsOf(1, 0, {2, 1})),
              Pointwise(FloatNear(1e-6), {0, 1, 1}));
  EXPECT_EQ(asked, 1);
}

TEST_F(InterpreterTest, RefusesModulesOfOtherPhases) {
  context.allowUnregisteredDialects();
  Expected<Interpreter> empty = Interpreter::create(parse(""));
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.status().message(), HasSubstr("no sluice.model"));

  Expected<Interpreter> other =
      Interpreter::create(parse(R"("func.func"() : () -> ())"));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.status().message(),
              HasSubstr("test.mlir:1:1: 'func.func'"));
  EXPECT_THAT(other.status().message(),
              HasSubstr("phases 'model', 'pipeline', 'program' and 'plan'"));
}

} // namespace
