//===- ForkTest.cpp - paths of a tree, as if computed alone ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random trees of tokens grow over many steps in sequences that share pages:
// with forks at earlier nodes and at nodes of the same step, paths that are cut
// back, and rows that die at checkpoints. Each node's logits must be those of
// its path computed alone, as one sequence without a tree.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/test/TinyModel.h"

#include <algorithm>
#include <tuple>

using namespace sluice;
using namespace sluice::cpu;

namespace {

constexpr int64_t stepRows = 64;
constexpr int64_t maxPaths = 10;
constexpr int64_t immortal = 1000;

struct Node {
  int64_t parent; ///< -1 if there is none
  int32_t token;
  /// The checkpoint of its step at which it leaves.
  int64_t deathAt = immortal;
  int64_t row = 0; ///< at the start of its step
};

struct Path {
  SequenceId id;
  std::vector<int64_t> nodes; ///< the path's node for each position
  bool grown = false;         ///< whether it has grown in this step
};

class RandomTree {
public:
  RandomTree(TinyModel &model, TinyModel &whole, int64_t checkpoints,
             unsigned seed)
      : model(model), whole(whole), checkpoints(checkpoints), random(seed) {
    paths.push_back({*model.pages().open(), {}, false});
  }

  ~RandomTree() {
    for (const Path &path : paths)
      model.pages().close(path.id);
    EXPECT_EQ(model.pages().freePages(), model.pages().limits().pages);
  }

  void step() {
    prepare();
    for (int64_t n = 2 + below(6); n > 0; --n)
      growSomePath();
    std::sort(mirrors.begin(), mirrors.end(),
              [](Mirror a, Mirror b) { return a.row < b.row; });
    for (Mirror mirror : mirrors)
      ASSERT_TRUE(batch.addMirror(mirror.row, mirror.sequence).ok());
    if (batch.rows() == 0)
      return;
    Reaper reaper(batch, [&](int64_t checkpoint, int64_t row) {
      return nodes[size_t(nodeAt(row))].deathAt <= checkpoint;
    });
    Status status = model.execute(batch, &reaper);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t output = 0; output < batch.outputs(); ++output)
      ASSERT_EQ(
          model.logits(output),
          logitsAlone(whole, tokensTo(nodeAt(batch.outputRows()[output]))));
    forgetTheDead();
  }

  int64_t mirrorsSeen = 0, copiesSeen = 0, livingSeen = 0;

private:
  int64_t below(int64_t limit) { return int64_t(random() % uint64_t(limit)); }

  /// Returns the node of a row, by its sequence and position.
  int64_t nodeAt(int64_t row) const {
    for (const Path &path : paths)
      if (path.id == batch.sequences()[row])
        return path.nodes[size_t(batch.positions()[row])];
    return -1;
  }

  std::vector<int32_t> tokensTo(int64_t node) const {
    std::vector<int32_t> tokens;
    for (; node >= 0; node = nodes[size_t(node)].parent)
      tokens.push_back(nodes[size_t(node)].token);
    std::reverse(tokens.begin(), tokens.end());
    return tokens;
  }

  /// Cuts some paths back and closes some.
  void prepare() {
    batch.clear();
    mirrors.clear();
    firstNew = nodes.size();
    for (Path &path : paths) {
      path.grown = false;
      if (below(4) == 0)
        path.nodes.resize(size_t(below(int64_t(path.nodes.size()) + 1)));
      model.pages().truncate(path.id, int64_t(path.nodes.size()));
    }
    while (int64_t(paths.size()) > maxPaths / 2) {
      int64_t index = below(int64_t(paths.size()));
      model.pages().close(paths[size_t(index)].id);
      paths.erase(paths.begin() + index);
    }
  }

  /// Adds rows to a path, or to a fork of it.
  void growSomePath() {
    size_t index = size_t(below(int64_t(paths.size())));
    auto length = int64_t(paths[index].nodes.size());
    if (paths[index].grown || below(2) == 0) {
      if (int64_t(paths.size()) == maxPaths)
        return;
      length = below(length + 1);
      fork(index, length);
      index = paths.size() - 1;
    }
    int64_t count = std::min(
        {1 + below(40), TinyProgram::contextLength - length, batch.freeRows()});
    if (count > 0)
      extend(paths[index], count);
  }

  void fork(size_t parent, int64_t length) {
    Expected<CachePages::Fork> made =
        model.pages().fork(paths[parent].id, length);
    ASSERT_TRUE(made) << made.status().message();
    Path path = {made->sequence, paths[parent].nodes, false};
    path.nodes.resize(size_t(length));
    addCopy(made->copy);
    // The copied page lacks these tokens, since they are computed in this step.
    int64_t pageBegin =
        length / CachePages::pageTokens * CachePages::pageTokens;
    for (int64_t position = pageBegin; position < length; ++position) {
      auto node = size_t(path.nodes[size_t(position)]);
      if (node < firstNew)
        continue;
      mirrors.push_back({int32_t(nodes[node].row), path.id});
      ++mirrorsSeen;
    }
    paths.push_back(std::move(path));
  }

  void addCopy(std::optional<PageCopy> copy) {
    if (!copy)
      return;
    model.addCopy(*copy);
    ++copiesSeen;
  }

  void extend(Path &path, int64_t count) {
    auto length = int64_t(path.nodes.size());
    std::optional<PageCopy> copy;
    Status grown = model.pages().grow(path.id, length + count, &copy);
    ASSERT_TRUE(grown.ok()) << grown.message();
    addCopy(copy);
    path.grown = true;
    for (int64_t i = 0; i < count; ++i) {
      Node node;
      node.parent = path.nodes.empty() ? -1 : path.nodes.back();
      node.token = int32_t(below(TinyProgram::vocabSize));
      node.row = batch.rows();
      if (below(40) == 0)
        node.deathAt = below(checkpoints);
      if (node.parent >= int64_t(firstNew))
        node.deathAt =
            std::min(node.deathAt, nodes[size_t(node.parent)].deathAt);
      ASSERT_TRUE(batch.add(path.id, length + i, node.token, below(2)).ok());
      path.nodes.push_back(int64_t(nodes.size()));
      nodes.push_back(node);
    }
  }

  /// Cuts each path before its first dead node.
  void forgetTheDead() {
    for (size_t node = firstNew; node < nodes.size(); ++node)
      livingSeen += nodes[node].deathAt == immortal;
    for (Path &path : paths) {
      auto dead =
          std::find_if(path.nodes.begin(), path.nodes.end(), [&](int64_t node) {
            return nodes[size_t(node)].deathAt != immortal;
          });
      path.nodes.erase(dead, path.nodes.end());
    }
  }

  TinyModel &model;
  TinyModel &whole;
  int64_t checkpoints;
  std::mt19937 random;
  std::vector<Node> nodes;
  std::vector<Path> paths;
  /// The first node of this step.
  size_t firstNew = 0;
  StepBatch batch{stepRows, stepRows, stepRows * maxPaths};
  std::vector<Mirror> mirrors;
};

class ForkTest
    : public testing::TestWithParam<std::tuple<Isa, int64_t, CacheFormat>> {};

TEST_P(ForkTest, EachPathIsAsIfItWereAlone) {
  auto [isa, threads, format] = GetParam();
  if (Status s = requireIsa(isaName(isa)); !s.ok())
    GTEST_SKIP() << s.message();
  TinyProgram tiny(isa);
  TinyModel whole(tiny, {TinyPart::Whole},
                  {.rows = 100, .cacheFormat = format});
  TinyModel model(tiny, {TinyPart::FirstStage, TinyPart::SecondStage},
                  {.rows = stepRows,
                   .outputs = stepRows,
                   .sequences = maxPaths,
                   .threads = threads,
                   .cacheFormat = format});
  int64_t mirrors = 0, copies = 0, living = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomTree tree(model, whole, TinyProgram::checkpoints + 1,
                    seed + unsigned(threads) * 1000 + unsigned(isa) * 100);
    for (int step = 0; step < 10; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " step " << step);
      tree.step();
      if (HasFatalFailure())
        return;
    }
    mirrors += tree.mirrorsSeen;
    copies += tree.copiesSeen;
    living += tree.livingSeen;
  }
  // The random trees have exercised mirrors and copies.
  EXPECT_GT(mirrors, 100);
  EXPECT_GT(copies, 100);
  EXPECT_GT(living, 1000);
}

INSTANTIATE_TEST_SUITE_P(
    IsasThreadsAndCaches, ForkTest,
    testing::Combine(testing::Values(Isa::Avx2, Isa::Avx512, Isa::Avx512Vnni),
                     testing::Values(1, 2, 3),
                     testing::Values(CacheFormat::F32, CacheFormat::Q8_0)));

} // namespace
