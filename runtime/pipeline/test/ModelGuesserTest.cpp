//===- ModelGuesserTest.cpp - guesses of a draft with another vocabulary --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A draft whose vocabulary is larger or smaller than the target's guesses only
// tokens that both have, whatever the request's parameters say about others.
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RankSetup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::pipeline;
using testing::ElementsAre;

namespace {

using Tokens = std::vector<int32_t>;

/// A draft with the same logits after every text.
class FixedLogits final : public StepCompute {
public:
  explicit FixedLogits(std::vector<float> values) : values(std::move(values)) {}
  bool receives() const override { return false; }
  Status execute(const device::StepInput &) override { return {}; }
  std::span<const float> logits(int64_t) const override { return values; }

private:
  std::vector<float> values;
};

/// Token 70 is 'x' and token 1 is 'y'. Grammars allow no other token.
Expected<std::shared_ptr<const grammar::TokenTrie>> eightyTokens() {
  std::vector<std::string_view> texts(80);
  texts[70] = "x";
  texts[1] = "y";
  return std::shared_ptr<const grammar::TokenTrie>(
      std::make_shared<const grammar::TokenTrie>(
          grammar::TokenTrie::create(texts, {}).take()));
}

class ModelGuesserTest : public testing::Test {
protected:
  /// Returns what a draft with these logits guesses after `text`, whose last
  /// token is of the output, for a target with `targetTokens` tokens.
  Tokens guessBehind(const Tokens &text, std::vector<float> logits,
                     int64_t targetTokens, OpenRequest open = {}) {
    PipelineShape shape;
    shape.vocabSize = targetTokens;
    shape.draftVocabSize = std::ssize(logits);
    StageLimits limits;
    limits.contextLength = 64;
    limits.vocabSize = shape.sharedVocabSize();
    CachePages pages = CachePages::create({64, 64, 64}).take();
    EpochBoard board(1);
    Stage stage = Stage::create(limits, pages, board).take();
    GuessFrame guesses;
    GuessOutput output(std::make_unique<ModelGuesser>(
                           shape.sharedVocabSize(), 4, 1, eightyTokens,
                           /*patience=*/std::chrono::minutes(1)),
                       limits.rows, [&](GuessFrame frame) {
                         guesses = std::move(frame);
                         return Status();
                       });
    EXPECT_TRUE(output.start({}).ok());
    EXPECT_TRUE(stage.enqueue(opening(text, std::move(open))));
    EXPECT_TRUE(*stage.formStep());
    output.begin(stage);
    EXPECT_TRUE(output.collect(stage, FixedLogits(std::move(logits))).ok());
    std::span<const int32_t> read = stage.batch().tokens();
    computed.assign(read.begin(), read.end());
    std::span<const int32_t> last = stage.outputOf(std::ssize(text) - 1);
    EXPECT_THAT(std::vector(last.begin(), last.end()),
                ElementsAre(text.back()));
    StepFrame end;
    stage.finishStep(end);
    end.timings.emplace_back();
    EXPECT_TRUE(output.send(end).ok());

    Tokens tokens;
    for (const Candidate &candidate : guesses.guesses.at(0).candidates)
      tokens.push_back(candidate.token);
    return tokens;
  }

  /// Returns a frame with the whole text, after which a guess is wanted.
  static StepFrame opening(const Tokens &text, OpenRequest open) {
    StepFrame frame;
    open.promptTokens = int32_t(text.size()) - 1;
    open.knownTokens = int32_t(text.size());
    frame.opens.push_back(std::move(open));
    for (int32_t at = 0; at < std::ssize(text); ++at)
      frame.rows.push_back({.node = at,
                            .parent = at - 1,
                            .position = at,
                            .token = text[size_t(at)],
                            .certain = true});
    frame.rows.back().wantsOutput = true;
    return frame;
  }

  Tokens computed; ///< the tokens that the draft got
};

/// The draft's padding is not guessed, however large its logits are.
TEST_F(ModelGuesserTest, ALongerDraftGuessesTheTargetsTokens) {
  EXPECT_THAT(guessBehind({1, 2}, {0, 3, 1, 9, 9}, 3), ElementsAre(1, 2, 0));
  EXPECT_THAT(computed, ElementsAre(1, 2));
  OpenRequest drawn;
  drawn.sampling.temperature = 1;
  for (drawn.sampling.seed = 0; drawn.sampling.seed < 20; ++drawn.sampling.seed)
    EXPECT_THAT(guessBehind({1, 2}, {0, 3, 1, 99, 99}, 3, drawn),
                testing::UnorderedElementsAre(0, 1, 2));
}

/// Tokens for which the draft has no row are computed as its last token, and
/// the request's parameters about them are ignored.
TEST_F(ModelGuesserTest, AShorterDraftGuessesItsOwnTokens) {
  OpenRequest open;
  open.sampling.logitBias = {{0, 5}, {70, 50}};
  open.sampling.repetitionPenalty = 2;
  open.sampling.frequencyPenalty = 1;
  EXPECT_THAT(guessBehind({70, 1, 75}, {0, 3, 2}, 80, open),
              ElementsAre(0, 2, 1));
  EXPECT_THAT(computed, ElementsAre(2, 1, 2));
}

/// The masks of a grammar are those of the target's tokens.
TEST_F(ModelGuesserTest, AShorterDraftFollowsAGrammar) {
  OpenRequest open;
  open.grammar = {GrammarSource::Kind::Gbnf, "root ::= \"y\" (\"x\" | \"y\")"};
  EXPECT_THAT(guessBehind({70, 1}, {0, 3, 2}, 80, open), ElementsAre(1));
  // The text contains a token that only the target has.
  open.grammar = {GrammarSource::Kind::Gbnf, "root ::= \"x\" \"y\""};
  EXPECT_THAT(guessBehind({1, 70}, {0, 3, 2}, 80, open), ElementsAre(1));
  open.grammar = {GrammarSource::Kind::Gbnf, "root ::= \"y\" \"x\""};
  EXPECT_THAT(guessBehind({70, 1}, {0, 3, 2}, 80, open), ElementsAre());
}

TEST_F(ModelGuesserTest, DraftsOfTheTargetsLengthGuessAll) {
  EXPECT_THAT(guessBehind({1, 2}, {0, 3, 1}, 3), ElementsAre(1, 2, 0));
  PipelineShape shape;
  shape.vocabSize = 7;
  EXPECT_EQ(shape.sharedVocabSize(), 7);
}

} // namespace
