//===- ChoiceTextTest.cpp - from tokens to text ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ChoiceText.h"
#include "TestApiModel.h"

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;

namespace {

class ChoiceTextTest : public testing::Test {
protected:
  /// Returns a choice of a request for text with these stop strings.
  ChoiceText make(std::vector<std::string> stops = {}) {
    request.stops = std::move(stops);
    return ChoiceText(request, model, 0);
  }
  std::vector<int32_t> bytes(std::string_view text) {
    std::vector<int32_t> out;
    for (char c : text)
      out.push_back(static_cast<uint8_t>(c));
    return out;
  }
  /// Returns each piece of text that the tokens give, "!" if the choice
  /// stopped, and after "/" the last piece.
  std::string pieces(ChoiceText choice, const std::vector<int32_t> &tokens) {
    std::string out;
    for (int32_t token : tokens) {
      out += "(" + choice.push(token, {}).text + ")";
      if (choice.stopped())
        return out + "!";
    }
    return out + "/" + choice.finish().text;
  }
  int32_t special(const char *name) { return *model.tokenizer().tokenId(name); }

  Model model = makeModel();
  GenerationRequest request = [] {
    GenerationRequest one;
    one.requests.emplace_back();
    return one;
  }();
};

TEST_F(ChoiceTextTest, TextComesInWholeCharacters) {
  EXPECT_EQ(pieces(make(), {'a', 260, 'b'}), "(a)( hello)(b)/");
  EXPECT_EQ(pieces(make(), bytes("é")), "()(é)/");
  EXPECT_EQ(pieces(make(), {0xC3}), "()/\xEF\xBF\xBD");
}

TEST_F(ChoiceTextTest, SpecialTokensMakeNoText) {
  EXPECT_EQ(pieces(make(), {'a', special("<|im_start|>"), 'b'}), "(a)()(b)/");
  request.skipSpecial = false;
  EXPECT_EQ(pieces(make(), {'a', special("<|im_start|>"), 'b'}),
            "(a)(<|im_start|>)(b)/");
}

TEST_F(ChoiceTextTest, StopsAcrossTokens) {
  EXPECT_EQ(pieces(make({"bcd"}), bytes("abxbcde")), "(a)()(bx)()()()!");
  EXPECT_EQ(pieces(make({"bcd"}), bytes("abc")), "(a)()()/bc");
  EXPECT_EQ(pieces(make({"lo"}), {260}), "( hel)!");
  EXPECT_EQ(pieces(make({"é"}), bytes("aé")), "(a)()()!");
}

TEST_F(ChoiceTextTest, CountsTokensUpToTheStop) {
  ChoiceText choice = make({"b"});
  choice.push('a', {});
  choice.push('b', {});
  EXPECT_TRUE(choice.stopped());
  EXPECT_TRUE(choice.push('c', {}).empty());
  EXPECT_EQ(choice.tokens(), 2);
  EXPECT_TRUE(choice.finish().empty());
}

/// Returns "BYTES@OFFSET" of each entry.
std::string show(const ChoicePiece &piece) {
  std::string out;
  for (const LogprobEntry &entry : piece.logprobs)
    out += entry.token.bytes + "@" + std::to_string(entry.textOffset) + " ";
  return out;
}

TEST_F(ChoiceTextTest, LogprobsNameTokensAndPlaces) {
  request.logprobs = 2;
  ChoiceText choice = make();
  TokenLogProbability report[] = {
      {260, -0.5f}, {'x', -0.25f}, {260, -0.5f}, {'y', -3.f}};
  ChoicePiece piece = choice.push(260, report);
  ASSERT_EQ(piece.logprobs.size(), 1u);
  const LogprobEntry &entry = piece.logprobs[0];
  EXPECT_EQ(entry.token.bytes, " hello");
  EXPECT_EQ(entry.token.logprob, -0.5);
  EXPECT_EQ(entry.textOffset, 0);
  ASSERT_EQ(entry.top.size(), 2u); // as many as requested
  EXPECT_EQ(entry.top[0].bytes, "x");
  EXPECT_EQ(entry.top[0].logprob, -0.25);
  EXPECT_EQ(entry.top[1].bytes, " hello");
  // Offsets count characters.
  TokenLogProbability part[] = {{0xC3, -1.f}}, rest[] = {{0xA9, -1.f}},
                      last[] = {{'z', -1.f}};
  EXPECT_EQ(show(choice.push(0xC3, part)), "\xC3@6 ");
  EXPECT_EQ(show(choice.push(0xA9, rest)), "\xA9@6 ");
  EXPECT_EQ(show(choice.push('z', last)), "z@7 ");
}

TEST_F(ChoiceTextTest, APromptsTokensComeBeforeTheAnswers) {
  request.logprobs = 0;
  // <|im_start|> was added in front of the text.
  request.echo = {"é hello"};
  RequestSpec &spec = request.requests[0].spec;
  spec.prompt = {special("<|im_start|>"), 0xC3, 0xA9, 260};
  spec.scoresPrompt = true;
  ChoiceText choice = make();
  TokenLogProbability reports[] = {{0xC3, -1.f}, {0xA9, -2.f}, {260, -3.f}};
  ChoicePiece all;
  for (const TokenLogProbability &report : reports)
    all.append(choice.pushPrompt({&report, 1}));
  EXPECT_EQ(all.text, "");
  EXPECT_EQ(show(all), "<|im_start|>@0 \xC3@0 \xA9@0  hello@1 ");
  EXPECT_FALSE(all.logprobs[0].hasLogprob);
  EXPECT_TRUE(all.logprobs[1].hasLogprob);
  EXPECT_EQ(all.logprobs[3].token.logprob, -3);
  TokenLogProbability x[] = {{'x', -1.f}}, y[] = {{'y', -1.f}};
  EXPECT_EQ(show(choice.push('x', x)), "x@7 ");
  EXPECT_EQ(show(choice.push('y', y)), "y@8 ");
  EXPECT_EQ(choice.tokens(), 2);
}

TEST_F(ChoiceTextTest, APromptOfOneTokenHasItAlone) {
  request.logprobs = 0;
  request.echo = {"a"};
  request.requests[0].spec.prompt = {'a'};
  request.requests[0].spec.scoresPrompt = true;
  EXPECT_EQ(show(make().finish()), "a@0 ");
  ChoiceText choice = make();
  TokenLogProbability x[] = {{'x', -1.f}};
  EXPECT_EQ(show(choice.push('x', x)), "a@0 x@1 ");
  EXPECT_EQ(show(choice.finish()), "");
}

TEST_F(ChoiceTextTest, LogprobsWaitForTheirText) {
  request.logprobs = 0;
  ChoiceText choice = make({"bcd"});
  auto push = [&](char c) {
    TokenLogProbability report[] = {{c, -1.f}};
    return choice.push(c, report);
  };
  EXPECT_EQ(show(push('a')), "a@0 ");
  EXPECT_EQ(show(push('b')), "");
  ChoicePiece piece = push('x');
  EXPECT_EQ(piece.text, "bx");
  EXPECT_EQ(show(piece), "b@1 x@2 ");
  EXPECT_EQ(show(push('b')), "");
  EXPECT_EQ(show(push('c')), "");
  // The entries of tokens after the stop string are dropped.
  EXPECT_EQ(show(push('d')), "");
  EXPECT_TRUE(choice.stopped());
  EXPECT_EQ(show(choice.finish()), "");
}

TEST_F(ChoiceTextTest, LogprobsOfHeldTextComeAtTheEnd) {
  request.logprobs = 0;
  ChoiceText choice = make({"bcd"});
  TokenLogProbability report[] = {{'b', -1.f}};
  EXPECT_EQ(show(choice.push('b', report)), "");
  EXPECT_EQ(show(choice.finish()), "b@0 ");
}

TEST_F(ChoiceTextTest, FindsCallsOfTools) {
  request.tools.choice = ToolUse::Choice::Auto;
  request.tools.names = {"f"};
  request.tools.syntax = toolSyntaxOf("tools <tool_call>");
  ChoiceText choice = make();
  ChoicePiece all = choice.push('a', {});
  EXPECT_FALSE(choice.calledTools());
  all.append(choice.push(special("<tool_call>"), {}));
  for (int32_t token : bytes("{\"name\": \"f\", \"arguments\": {\"q\": 1}}"))
    all.append(choice.push(token, {}));
  all.append(choice.push(special("</tool_call>"), {}));
  all.append(choice.finish());
  EXPECT_TRUE(choice.calledTools());
  EXPECT_EQ(all.text, "a");
  ASSERT_EQ(all.toolCalls.size(), 1u);
  EXPECT_EQ(all.toolCalls[0].name, "f");
  EXPECT_EQ(all.toolCalls[0].arguments, "{\"q\": 1}");
}

// [TOOL_CALLS] is a special token, which otherwise makes no text.
TEST_F(ChoiceTextTest, FindsCallsBehindSpecialTokens) {
  request.tools.choice = ToolUse::Choice::Auto;
  request.tools.names = {"f"};
  request.tools.syntax = toolSyntaxOf("tools [TOOL_CALLS]");
  ChoiceText choice = make();
  ChoicePiece all = choice.push(special("<|im_start|>"), {});
  all.append(choice.push(special("[TOOL_CALLS]"), {}));
  for (int32_t token : bytes("[{\"name\": \"f\", \"arguments\": {}}]"))
    all.append(choice.push(token, {}));
  all.append(choice.finish());
  EXPECT_EQ(all.text, "");
  ASSERT_EQ(all.toolCalls.size(), 1u);
  EXPECT_EQ(all.toolCalls[0].arguments, "{}");
}

TEST_F(ChoiceTextTest, StopsBehindTheOnlyCall) {
  request.tools.choice = ToolUse::Choice::Auto;
  request.tools.parallel = false;
  request.tools.names = {"f"};
  request.tools.syntax = toolSyntaxOf("tools <tool_call>");
  ChoiceText choice = make();
  choice.push(special("<tool_call>"), {});
  for (int32_t token : bytes("{\"name\": \"f\"}"))
    choice.push(token, {});
  EXPECT_TRUE(choice.stopped());
}

TEST_F(ChoiceTextTest, IdsOfCallsDifferBetweenChoices) {
  request.tools.choice = ToolUse::Choice::Auto;
  request.tools.names = {"f"};
  request.tools.syntax = toolSyntaxOf("tools <tool_call>");
  request.requests.resize(2);
  auto idOf = [&](size_t index) {
    ChoiceText choice(request, model, index);
    ChoicePiece all = choice.push(special("<tool_call>"), {});
    for (int32_t token : bytes("{\"name\": \"f\"}"))
      all.append(choice.push(token, {}));
    return all.toolCalls.empty() ? "none" : all.toolCalls[0].id;
  };
  EXPECT_EQ(idOf(0), idOf(0));
  EXPECT_NE(idOf(0), idOf(1));
}

TEST_F(ChoiceTextTest, CanBeMoved) {
  std::vector<ChoiceText> choices;
  choices.push_back(make());
  choices.push_back(make());
  EXPECT_EQ(choices[0].push('a', {}).text, "a");
}

} // namespace
