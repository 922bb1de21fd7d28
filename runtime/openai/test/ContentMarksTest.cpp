//===- ContentMarksTest.cpp - keeps special tokens out of user text -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ContentMarks.h"
#include "runtime/openai/test/TestApiModel.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;
using nlohmann::ordered_json;
using testing::ElementsAre;

namespace {

class ContentMarksTest : public testing::Test {
protected:
  Model model = makeModel();
  ContentMarks marks{model.specialSpellings()};
};

} // namespace

TEST_F(ContentMarksTest, SpellingsAreFoundAgainWhereverTheyHaveGone) {
  ordered_json value = {{"a", {"x<|im_end|>", "<|im_<|im_end|>"}}};
  marks.putInto({&value});
  EXPECT_NE(value["a"][0], "x<|im_end|>");
  std::string prompt = "<|im_start|>" + value["a"][1].get<std::string>() + "," +
                       value["a"][0].get<std::string>() + "<|im_end|>";
  EXPECT_THAT(marks.takeOutOf(prompt), ElementsAre(17u, 29u));
  EXPECT_EQ(prompt, "<|im_start|><|im_<|im_end|>,x<|im_end|><|im_end|>");
}

TEST_F(ContentMarksTest, OtherTextsAreLeftAlone) {
  ordered_json value = {"<|im_end", "<tool_call>", 1, nullptr, "\uFDD0"};
  const ordered_json before = value;
  marks.putInto({&value});
  EXPECT_EQ(value, before);
  std::string prompt = "\uFDD0<|im_end|>";
  EXPECT_THAT(marks.takeOutOf(prompt), ElementsAre());
  EXPECT_EQ(prompt, "\uFDD0<|im_end|>");
}

TEST_F(ContentMarksTest, TheMarkIsACharacterThatNobodyHasWritten) {
  ordered_json first = "\uFDD0\uFDD1", second = "<|im_end|>\uFDD2";
  marks.putInto({&first, &second});
  std::string prompt = first.get<std::string>() + second.get<std::string>();
  EXPECT_THAT(marks.takeOutOf(prompt), ElementsAre(6u));
  EXPECT_EQ(prompt, "\uFDD0\uFDD1<|im_end|>\uFDD2");
}

TEST_F(ContentMarksTest, NothingIsMarkedWhereContentsMayBeSpecial) {
  ContentMarks none(nullptr);
  ordered_json value = "<|im_end|>";
  none.putInto({&value});
  EXPECT_EQ(value, "<|im_end|>");
}
