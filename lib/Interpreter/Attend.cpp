//===- Attend.cpp - causal attention over a cache -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/Ops.h"

#include "DotProduct.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::interpreter;

std::vector<double> sluice::interpreter::alibiSlopes(int64_t heads) {
  auto powerOfTwo = static_cast<int64_t>(llvm::bit_floor<uint64_t>(heads));
  std::vector<double> slopes;
  for (int64_t i = 1; i <= powerOfTwo; ++i)
    slopes.push_back(std::exp2(-8.0 * i / powerOfTwo));
  // The remaining slopes are every other slope of twice as many heads.
  for (int64_t i = 1; static_cast<int64_t>(slopes.size()) < heads; i += 2)
    slopes.push_back(std::exp2(-8.0 * i / (2 * powerOfTwo)));
  return slopes;
}

namespace {

/// One query head of one row.
struct Query {
  std::span<const float> vector; // [headDim]
  int64_t position;
  int64_t kvHead;
  double slope; // ALiBi's slope, or 0
};

} // namespace

/// Returns the score of each position from `first` to the query's own.
static std::vector<double> computeScores(const Query &query, int64_t first,
                                         const KVCache::Entries &cached,
                                         const AttendParams &params) {
  std::vector<double> scores;
  for (int64_t p = first; p <= query.position; ++p) {
    std::span<const float> key = cached.key(p, query.kvHead);
    double score = params.scale * dotProduct(query.vector, key);
    if (params.softcap)
      score = *params.softcap * std::tanh(score / *params.softcap);
    scores.push_back(score + query.slope * p);
  }
  return scores;
}

static void softmax(std::vector<double> &scores) {
  double largest = *std::ranges::max_element(scores);
  double total = 0;
  for (double &score : scores) {
    score = std::exp(score - largest);
    total += score;
  }
  for (double &score : scores)
    score /= total;
}

static void attendHead(const Query &query, const KVCache::Entries &cached,
                       const AttendParams &params, std::span<float> result) {
  int64_t first = 0;
  if (params.window)
    first = std::max<int64_t>(0, query.position - *params.window + 1);
  std::vector<double> weights = computeScores(query, first, cached, params);
  softmax(weights);

  std::vector<double> sums(result.size(), 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    std::span<const float> value = cached.value(first + i, query.kvHead);
    for (size_t d = 0; d < sums.size(); ++d)
      sums[d] += weights[i] * value[d];
  }
  for (size_t d = 0; d < sums.size(); ++d)
    result[d] = static_cast<float>(sums[d]);
}

void sluice::interpreter::evalAppend(const RowData &key, const RowData &value,
                                     KVCache &cache, const StepBatch &batch,
                                     const CachePages &table) {
  for (int64_t r = 0; r < key.rows(); ++r)
    cache.store(batch.sequences()[r], batch.positions()[r], key.row(r),
                value.row(r), table);
  for (const Mirror &mirror : batch.mirrors())
    cache.store(mirror.sequence, batch.positions()[mirror.row],
                key.row(mirror.row), value.row(mirror.row), table);
}

RowData sluice::interpreter::evalAttend(const RowData &query,
                                        const KVCache &cache,
                                        const StepBatch &batch,
                                        const AttendParams &params,
                                        const CachePages &table) {
  int64_t headDim = cache.headDim();
  int64_t headsPerKey = params.heads / cache.kvHeads();
  std::vector<double> slopes =
      alibiSlopes(params.allHeads ? params.allHeads : params.heads);
  for (double &slope : slopes)
    slope *= params.alibi.value_or(0);
  RowData result(query.rows(), query.width());
  for (int64_t r = 0; r < query.rows(); ++r) {
    const KVCache::Entries cached =
        cache.entries(batch.sequences()[r], batch.positions()[r] + 1, table);
    for (int64_t h = 0; h < params.heads; ++h) {
      Query one{query.row(r).subspan(h * headDim, headDim),
                batch.positions()[r], h / headsPerKey,
                slopes[params.firstHead + h]};
      attendHead(one, cached, params,
                 result.row(r).subspan(h * headDim, headDim));
    }
  }
  return result;
}
