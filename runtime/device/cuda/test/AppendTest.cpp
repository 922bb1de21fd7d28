//===- AppendTest.cpp - rotates and stores keys and values ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/CacheModel.h"
#include "runtime/device/cuda/test/LateInputs.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

class AppendKernelTest : public testing::TestWithParam<int> {
protected:
  CacheKind kind() const { return CacheKind(GetParam()); }

  std::mt19937 random{unsigned(GetParam()) + 1};
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, AppendKernelTest,
                         testing::Range(0, cacheKindCount),
                         [](const testing::TestParamInfo<int> &info) {
                           return kindName(CacheKind(info.param));
                         });

/// Keys that are rotated as they are stored are those that were rotated before,
/// also in mirrors.
TEST_P(AppendKernelTest, RotatesWhatItStores) {
  constexpr int32_t kvHeads = 2, heads = 6, positions = 40;
  const std::vector<StepRow> rows = {{0, 3}, {1, 33}, {0, 4}};
  const std::vector<Mirror> mirrors = {{1, 2}};
  struct {
    int32_t headDim, pairs;
    bool isHalf;
  } shapes[] = {
      {64, 32, true}, {80, 40, false}, {96, 16, true}, {256, 32, false}};
  for (const auto &shape : shapes) {
    const int32_t dim = shape.headDim, pairs = shape.pairs;
    RotatedRows rotated;
    rotated.pairs = pairs;
    rotated.isHalf = shape.isHalf;
    rotated.heads = heads;
    rotated.table = randomFloats(random, size_t(positions * 2 * pairs));
    rotated.q = randomFloats(random, rows.size() * size_t(heads * dim));
    auto k = randomFloats(random, rows.size() * size_t(kvHeads * dim));
    auto v = randomFloats(random, k.size());
    auto turn = [&](const std::vector<float> &x, int32_t headCount) {
      std::vector<float> y = x;
      for (size_t head = 0; head < rows.size() * size_t(headCount); ++head) {
        const int32_t position = rows[head / size_t(headCount)].position;
        const float *angles =
            rotated.table.data() + size_t(position) * 2 * size_t(pairs);
        for (int32_t p = 0; p < pairs; ++p) {
          const size_t at = head * size_t(dim);
          const size_t a = at + size_t(shape.isHalf ? p : 2 * p);
          const size_t b = at + size_t(shape.isHalf ? p + pairs : 2 * p + 1);
          y[a] = x[a] * angles[p] - x[b] * angles[pairs + p];
          y[b] = x[b] * angles[p] + x[a] * angles[pairs + p];
        }
      }
      return y;
    };
    CacheModel before(kind(), kvHeads, dim, 3, positions);
    before.append(rows, turn(k, kvHeads), v, mirrors);
    CacheModel together(kind(), kvHeads, dim, 3, positions);
    together.append(rows, k, v, mirrors, &rotated);
    EXPECT_TRUE(sameBits<float>(rotated.rotatedQ, turn(rotated.q, heads)));
    EXPECT_TRUE(sameBits<float>(rotated.rotatedK, turn(k, kvHeads)));
    for (int32_t sequence = 0; sequence < 3; ++sequence)
      for (bool values : {false, true})
        EXPECT_TRUE(sameBits<float>(together.stored(values, sequence, 34),
                                    before.stored(values, sequence, 34)))
            << dim << ", sequence " << sequence;
  }
}
