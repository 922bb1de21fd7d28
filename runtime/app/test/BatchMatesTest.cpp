//===- BatchMatesTest.cpp - other requests in every step ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/BatchMates.h"

#include "runtime/app/TokenStream.h"

#include <gtest/gtest.h>
#include <set>

using namespace sluice;
using namespace sluice::app;

namespace {

constexpr int64_t vocabSize = 1000, contextLength = 200;
/// The token of all rows of the request of interest; batch mates have others.
constexpr int32_t own = 999;

/// What the steps with rows of the request of interest had.
struct Seen {
  int64_t steps = 0, alone = 0, before = 0, behind = 0;
  std::set<int64_t> others; ///< numbers of batch mates' rows
};

/// A model that gives `own` after `own`, and another token after others.
class Repeats final : public pipeline::StepCompute {
public:
  explicit Repeats(Seen &seen) : seen(seen) {}
  bool receives() const override { return false; }
  Status execute(const device::StepInput &input) override {
    std::span<const int32_t> tokens = input.batch->tokens();
    outputs.clear();
    for (int32_t row : input.batch->outputRows()) {
      outputs.emplace_back(vocabSize, 0.0f);
      outputs.back()[size_t(tokens[size_t(row)] == own ? own : 5)] = 1;
    }
    const int64_t mine = std::ranges::count(tokens, own);
    if (mine == 0)
      return {};
    ++seen.steps;
    seen.alone += mine == std::ssize(tokens);
    seen.before += tokens.front() != own;
    seen.behind += tokens.back() != own;
    seen.others.insert(std::ssize(tokens) - mine);
    return {};
  }
  std::span<const float> logits(int64_t output) const override {
    return outputs.at(size_t(output));
  }

private:
  Seen &seen;
  std::vector<std::vector<float>> outputs;
};

Seen run(int64_t mates) {
  Seen seen;
  pipeline::InlineSetup setup;
  setup.limits =
      pipeline::inlineLimits(1 + mates, contextLength, vocabSize, 64);
  setup.compute = std::make_unique<Repeats>(seen);
  auto pipeline = pipeline::InlinePipeline::create(std::move(setup)).take();
  BatchMates others(*pipeline, mates, vocabSize - 1, contextLength);
  RequestSpec spec;
  spec.maxTokens = 30;
  TokenStream stream(pipeline->head(), spec, [&] {
    others.renew();
    pipeline->turn();
  });
  stream.start(std::vector<int32_t>(100, own));
  int64_t tokens = 0;
  while (true) {
    Expected<std::optional<TokenEvent>> token = stream.next();
    EXPECT_TRUE(token) << token.status().message();
    if (!token || !*token)
      break;
    EXPECT_EQ((*token)->token, own);
    ++tokens;
  }
  EXPECT_EQ(tokens, 30);
  EXPECT_GE(seen.steps, 31);
  return seen;
}

TEST(BatchMatesTest, ShareEveryStep) {
  for (int64_t mates : {1, 2, 3, 8, 17})
    EXPECT_EQ(run(mates).alone, 0) << mates;
}

TEST(BatchMatesTest, LieOnBothSidesInChangingNumbers) {
  Seen seen = run(8);
  EXPECT_EQ(seen.before, seen.steps);
  EXPECT_GT(seen.behind, seen.steps / 2);
  EXPECT_GT(seen.others.size(), 2u);
}

TEST(BatchMatesTest, NoneLeavesTheRequestAlone) {
  Seen seen = run(0);
  EXPECT_EQ(seen.alone, seen.steps);
}

} // namespace
