//===- TokenizerSpecTest.cpp - tests of specs that cannot be run ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenizerSpec.h"

#include "TestSpecs.h"

#include <gmock/gmock.h>
#include <limits>

using namespace sluice;
using namespace sluice::text;
using testing::HasSubstr;

namespace {

std::string problem(const TokenizerSpec &spec) {
  Status status = spec.validate();
  EXPECT_EQ(Tokenizer::create(spec).ok(), status.ok());
  return status.message();
}

TEST(TokenizerSpec, AcceptsWhatIsComplete) {
  EXPECT_EQ(problem(test::byteLevel().spec), "");
}

TEST(TokenizerSpec, RefusesBadTokens) {
  EXPECT_EQ(problem({}), "the vocabulary is empty");
  TokenizerSpec spec = test::byteLevel().spec;
  spec.tokens[7].text = "";
  EXPECT_EQ(problem(spec), "token 7 has no text");
  spec.tokens[7].text = "a";
  EXPECT_THAT(problem(spec), HasSubstr("are both 'a'"));
  spec.tokens[7].text = "\xFFz\n";
  EXPECT_EQ(problem(spec), "token 7 '\uFFFDz?' is not UTF-8");
  spec = test::byteLevel().spec;
  spec.tokens[3].score = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(problem(spec), HasSubstr("token 3"));
}

TEST(TokenizerSpec, RefusesBadMerges) {
  TokenizerSpec spec = test::byteLevel().spec;
  spec.merges[1].right = 9999;
  EXPECT_THAT(problem(spec), HasSubstr("merge 1 names token 9999"));
  spec.merges[1].right = -1;
  EXPECT_THAT(problem(spec), HasSubstr("outside the vocabulary"));
  spec.merges[1].right = spec.merges[0].right;
  EXPECT_EQ(problem(spec), "merge 1 of 'l' and 'e' does not make 'll'");
  spec = test::byteLevel().spec;
  spec.kind = ModelKind::Unigram;
  EXPECT_THAT(problem(spec), HasSubstr("merges in a model"));
}

TEST(TokenizerSpec, RefusesIdsOutsideTheVocabulary) {
  auto with = [](auto change) {
    TokenizerSpec spec = test::byteLevel().spec;
    change(spec);
    return problem(spec);
  };
  EXPECT_THAT(with([](TokenizerSpec &s) { s.prefix = {-2}; }),
              HasSubstr("template's token -2"));
  EXPECT_THAT(with([](TokenizerSpec &s) { s.suffix = {70000}; }),
              HasSubstr("template's token 70000"));
  EXPECT_THAT(with([](TokenizerSpec &s) { s.endOfText = {262}; }),
              HasSubstr("end-of-text token 262"));
  EXPECT_THAT(with([](TokenizerSpec &s) { s.beginOfText = 262; }),
              HasSubstr("begin-of-text token 262"));
  EXPECT_THAT(with([](TokenizerSpec &s) { s.unknown = 262; }),
              HasSubstr("unknown token 262"));
  EXPECT_THAT(with([](TokenizerSpec &s) { s.addedTokens[0].id = 262; }),
              HasSubstr("added token 262"));
  EXPECT_THAT(
      with([](TokenizerSpec &s) { s.addedTokens.push_back(s.addedTokens[0]); }),
      HasSubstr("is there twice"));
  EXPECT_THAT(with([](TokenizerSpec &s) { s.chatTemplate = "\xFF"; }),
              HasSubstr("not UTF-8"));
}

} // namespace
