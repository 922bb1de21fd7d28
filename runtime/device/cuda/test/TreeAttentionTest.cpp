//===- TreeAttentionTest.cpp - branches that share pages ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree of guesses is a set of sequences with a common prefix. The host lets
// them share the pages of that prefix, copies the page in which they part, and
// lets a row be stored in a branch that was forked after it in the same step. A
// row of any branch must see its own branch: it has the bits of a sequence that
// shares nothing, and those results agree with the definition.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/test/AttentionReference.h"
#include "runtime/device/cuda/test/CacheModel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace sluice;
using namespace sluice::cuda;
using emulator::Order;

namespace {

constexpr int32_t sequences = 6, tokens = 160;

/// Branches in a cache whose pages the host's bookkeeping assigns, and each of
/// them also in a cache without sharing.
class Tree {
public:
  Tree(CacheKind kind, const SluiceAttention &params)
      : params(params), shared(kind, kvHeads(), headDim(), sequences, tokens),
        alone(kind, kvHeads(), headDim(), sequences, tokens) {}

  int32_t open() { return int32_t(*book.open()); }

  int32_t fork(int32_t parent, int64_t length) {
    CachePages::Fork made = *book.fork(parent, length);
    if (made.copy)
      copies.push_back(*made.copy);
    auto branch = int32_t(made.sequence);
    // The rows of the step will mirror what is not in the cache yet.
    const auto numbers = size_t(length * kvHeads() * headDim());
    for (auto *each : {&keys, &values}) {
      (*each)[branch] = (*each)[parent];
      if (numbers < (*each)[branch].size())
        (*each)[branch].resize(numbers);
    }
    return branch;
  }

  void truncate(int32_t branch, int64_t length) {
    book.truncate(branch, length);
    for (auto *each : {&keys, &values})
      (*each)[branch].resize(size_t(length * kvHeads() * headDim()));
  }

  /// Makes room for the branch's next tokens, and returns their rows.
  std::vector<StepRow> grow(int32_t branch, int32_t count) {
    auto length = int32_t(book.length(branch));
    std::optional<PageCopy> copy;
    EXPECT_TRUE(book.grow(branch, length + count, &copy).ok());
    if (copy)
      copies.push_back(*copy);
    std::vector<StepRow> rows;
    for (int32_t i = 0; i < count; ++i)
      rows.push_back({branch, length + i});
    return rows;
  }

  /// Does what a step does before attention: copies pages, and then stores the
  /// keys and values of the rows and of their mirrors.
  void append(const std::vector<StepRow> &rows,
              const std::vector<Mirror> &mirrors = {}) {
    const auto numbers = size_t(kvHeads() * headDim());
    const auto k = randomFloats(random, rows.size() * numbers);
    const auto v = randomFloats(random, rows.size() * numbers);
    auto add = [&](int32_t branch, size_t row) {
      auto from = std::ptrdiff_t(row * numbers);
      auto to = from + std::ptrdiff_t(numbers);
      keys[branch].insert(keys[branch].end(), k.begin() + from, k.begin() + to);
      values[branch].insert(values[branch].end(), v.begin() + from,
                            v.begin() + to);
    };
    // A mirror comes after its row, and before the rows of its own branch.
    for (size_t row = 0; row < rows.size(); ++row) {
      add(rows[row].sequence, row);
      for (const Mirror &mirror : mirrors)
        if (mirror.row == int32_t(row))
          add(int32_t(mirror.sequence), row);
    }
    for (int32_t branch = 0; branch < sequences; ++branch)
      if (book.isOpen(branch))
        shared.setPages(branch, book.pages(branch));
    if (!copies.empty())
      shared.copy(copies);
    copies.clear();
    shared.append(rows, k, v, mirrors);
  }

  /// Expects that each row has the results of its branch, however it is
  /// computed.
  void expectAttention(const std::vector<StepRow> &rows, double room) {
    storeAlone();
    const auto rowFloats = size_t(params.heads * params.headDim);
    auto q = randomFloats(random, rows.size() * rowFloats);
    std::vector<float> want = alone.attend(params, rows, q);
    for (AttendWay way : {AttendWay{true, 2, 0, Order::Shuffled},
                          {false, 1, 0, Order::Descending, 3}})
      EXPECT_TRUE(sameBits<float>(shared.attend(params, rows, q, way), want))
          << (way.tiles ? "by tiles" : "by spans");
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto [branch, position] = rows[i];
      const int32_t length = position + 1;
      std::vector<double> defined = cpu::referenceAttention(
          params, q.data() + i * rowFloats, alone.stored(false, branch, length),
          alone.stored(true, branch, length), position);
      for (size_t j = 0; j < rowFloats; ++j)
        ASSERT_NEAR(want[i * rowFloats + j], defined[j], room)
            << "branch " << branch << " at " << position;
    }
  }

private:
  int32_t kvHeads() const { return int32_t(params.kvHeads); }
  int32_t headDim() const { return int32_t(params.headDim); }

  void storeAlone() {
    std::vector<StepRow> rows;
    std::vector<float> k, v;
    for (const auto &[branch, numbers] : keys) {
      const auto count =
          int32_t(numbers.size() / size_t(kvHeads() * headDim()));
      ASSERT_EQ(count, book.length(branch));
      for (int32_t position = 0; position < count; ++position)
        rows.push_back({branch, position});
      k.insert(k.end(), numbers.begin(), numbers.end());
      v.insert(v.end(), values[branch].begin(), values[branch].end());
    }
    alone.append(rows, k, v);
  }

  SluiceAttention params;
  CacheModel shared, alone;
  CachePages book = *CachePages::create(
      {sequences * CachePages::pagesFor(tokens), sequences, tokens});
  std::vector<PageCopy> copies; ///< to be made before the next rows
  std::map<int32_t, std::vector<float>> keys, values; ///< of each branch
  std::mt19937 random{11};
};

class TreeAttentionTest : public testing::TestWithParam<int> {
protected:
  CacheKind kind() const { return CacheKind(GetParam()); }
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, TreeAttentionTest,
                         testing::Range(0, cacheKindCount),
                         [](const testing::TestParamInfo<int> &info) {
                           return kindName(CacheKind(info.param));
                         });

TEST_P(TreeAttentionTest, RowsOfBranchesSeeTheirOwnBranch) {
  const SluiceAttention shapes[] = {{16, 1, 64, 0, 0.125f, 0, nullptr},
                                    {8, 2, 80, 40, 0.09f, 10, nullptr}};
  for (const SluiceAttention &params : shapes) {
    Tree tree(kind(), params);
    const int32_t trunk = tree.open();
    tree.append(tree.grow(trunk, 134));
    // One branch parts inside a page, one at a page's end, one inside a shared
    // page in which it is cut back before it grows, and one parts from a
    // branch.
    const int32_t inside = tree.fork(trunk, 130);
    const int32_t atEnd = tree.fork(trunk, 128);
    const int32_t cut = tree.fork(trunk, 128);
    tree.truncate(cut, 107);
    const int32_t second = tree.fork(inside, 70);
    std::vector<StepRow> rows = tree.grow(inside, 4);
    auto add = [&](const std::vector<StepRow> &more) {
      rows.insert(rows.end(), more.begin(), more.end());
    };
    add(tree.grow(trunk, 1));
    // Forks in this step, after one of its rows.
    const int32_t mirrored = tree.fork(trunk, 135);
    add(tree.grow(mirrored, 2));
    add(tree.grow(atEnd, 2));
    add(tree.grow(cut, 1));
    add(tree.grow(second, 1));
    tree.append(rows, {{4, mirrored}});
    const double room = 3 * (kind() == CacheKind::F16 ? 0x1p-10 : 0x1p-7);
    tree.expectAttention(rows, room);
    // Checks it also a step later.
    rows = tree.grow(mirrored, 4);
    add(tree.grow(trunk, 1));
    tree.append(rows);
    tree.expectAttention(rows, room);
  }
}
