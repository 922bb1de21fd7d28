//===- AttentionTile.h - the attention kernel over any vector type --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by one file for each instruction set, which instantiates Tile with a
// vector type of its own unnamed namespace: no instantiation is shared between
// files that are compiled with different instructions.
//
// V has: lanes; pairsAtOnce; Reg; zero, set1, load (floats, or bytes as
// floats), store, add, sub, mul, div, fma(a, b, c) = a*b + c, max, iota (lane
// numbers), round, twoTo(n), keepNotLess(x, low, y) = y where !(x < low), else
// 0; selectLess(a, b, x, y) = x where a < b, else y; abs; reduceMax, reduceAdd
// (by halving).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONTILE_H
#define SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONTILE_H

#include "runtime/device/cpu/attention/AttentionPage.h"

namespace sluice::cpu {

template <typename V> class Tile {
  using Reg = typename V::Reg;
  static constexpr int64_t pageTokens = attentionPageTokens;
  static constexpr int pageRegs = attentionPageRegs<V>;
  /// The number of pairs whose sums fit in the registers beside their operands.
  static constexpr int pairsAtOnce = V::pairsAtOnce;
  static constexpr float lowest = -__FLT_MAX__;

public:
  static void attend(const AttentionUnit &unit, float *scratch) {
    Tile(unit, scratch).run();
  }

  /// exp(x) = 2^n * exp(r), |r| <= ln(2)/2, with Cephes' polynomial.
  static Reg exp(Reg x) {
    Reg n = V::round(V::mul(x, V::set1(1.44269504088896341f)));
    Reg r = V::fma(n, V::set1(-0.693359375f), x);
    r = V::fma(n, V::set1(2.12194440e-4f), r);
    Reg p = V::set1(1.9875691500e-4f);
    p = V::fma(p, r, V::set1(1.3981999507e-3f));
    p = V::fma(p, r, V::set1(8.3334519073e-3f));
    p = V::fma(p, r, V::set1(4.1665795894e-2f));
    p = V::fma(p, r, V::set1(1.6666665459e-1f));
    p = V::fma(p, r, V::set1(5.0000001201e-1f));
    p = V::fma(p, V::mul(r, r), r);
    p = V::add(p, V::set1(1.0f));
    // Below the smallest normal number the result is 0.
    return V::keepNotLess(x, V::set1(-87.3365447f), V::mul(p, V::twoTo(n)));
  }

  /// Returns (1 - e) / (1 + e) with e = exp(-2|x|). Near 0, where that cancels,
  /// it uses the series.
  static Reg tanh(Reg x) {
    Reg one = V::set1(1.0f);
    Reg size = V::abs(x);
    Reg e = exp(V::mul(size, V::set1(-2.0f)));
    Reg large = V::div(V::sub(one, e), V::add(one, e));
    large = V::selectLess(x, V::zero(), V::sub(V::zero(), large), large);
    Reg square = V::mul(x, x);
    Reg p = V::set1(62.0f / 2835);
    p = V::fma(p, square, V::set1(-17.0f / 315));
    p = V::fma(p, square, V::set1(2.0f / 15));
    p = V::fma(p, square, V::set1(-1.0f / 3));
    Reg small = V::fma(V::mul(p, square), x, x);
    return V::selectLess(size, V::set1(0.25f), small, large);
  }

private:
  const AttentionUnit &unit;
  const SluiceAttention &params;
  int64_t dim;
  float *queries;  ///< [pair][paddedDim], scaled
  float *accs;     ///< [pair][paddedDim]
  float *probs;    ///< [pair][pageTokens]: scores, then probabilities
  float *sums;     ///< [pair][attentionLanes]
  float *maxima;   ///< [pair]
  float *unpacked; ///< keys or values of 8 bits as floats
  const uint8_t *next = nullptr; ///< the next page's block, to be fetched
  PageFetch<V> fetch;

  Tile(const AttentionUnit &unit, float *scratch)
      : unit(unit), params(*unit.params), dim(unit.params->headDim),
        queries(scratch), accs(queries + maxUnitPairs * unit.paddedDim),
        probs(accs + maxUnitPairs * unit.paddedDim),
        sums(probs + maxUnitPairs * pageTokens),
        maxima(sums + maxUnitPairs * attentionLanes),
        unpacked(maxima + maxUnitPairs) {}

  const float *queryOf(int64_t pair) const { return unit.q + placeOf(pair); }
  /// Returns the offset of a pair's head in q and out.
  int64_t placeOf(int64_t pair) const {
    int64_t row = pair / unit.headCount;
    int64_t head = unit.headBegin + pair % unit.headCount;
    return (row * params.heads + head) * dim;
  }

  const uint8_t *blockOf(int64_t page) const {
    return unit.blocks + unit.pages[page] * unit.pageStride;
  }

  void run() {
    begin();
    // endOf and firstOf: one past the positions that a row sees, and the first
    // of them.
    auto endOf = [&](int64_t row) { return int64_t{unit.positions[row]} + 1; };
    auto firstOf = [&](int64_t row) {
      int64_t first = params.window > 0 ? endOf(row) - params.window : 0;
      return first > 0 ? first : 0;
    };
    int64_t lastPage = unit.positions[unit.rows - 1] / pageTokens;
    for (int64_t page = firstOf(0) / pageTokens; page <= lastPage; ++page) {
      int64_t start = page * pageTokens;
      next = page < lastPage ? blockOf(page + 1) : nullptr;
      int64_t whole = 0; // rows before `row` that see the whole page
      for (int64_t row = 0; row <= unit.rows; ++row) {
        int64_t from = 0, to = 0;
        if (row < unit.rows) {
          from = firstOf(row) > start ? firstOf(row) - start : 0;
          to =
              endOf(row) < start + pageTokens ? endOf(row) - start : pageTokens;
          if (from == 0 && to == pageTokens) {
            ++whole;
            continue;
          }
        }
        if (whole > 0)
          addPage(page, row - whole, row, 0, pageTokens);
        whole = 0;
        if (from < to)
          addPage(page, row, row + 1, from, to);
      }
    }
    finish();
  }

  void begin() {
    int64_t pairs = unit.rows * unit.headCount;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const float *q = queryOf(pair);
      float *query = queries + pair * unit.paddedDim;
      for (int64_t d = 0; d < dim; ++d)
        query[d] = q[d] * params.scale;
      float *acc = accs + pair * unit.paddedDim;
      for (int64_t d = 0; d < unit.paddedDim; d += V::lanes)
        V::store(acc + d, V::zero());
      V::store(sums + pair * attentionLanes, V::zero());
      maxima[pair] = -__builtin_inff();
    }
  }

  void finish() {
    int64_t pairs = unit.rows * unit.headCount;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      float sum = V::reduceAdd(V::load(sums + pair * attentionLanes));
      const float *acc = accs + pair * unit.paddedDim;
      float *out = unit.out + placeOf(pair);
      for (int64_t d = 0; d < dim; ++d)
        out[d] = acc[d] / sum;
    }
  }

  /// Adds tokens from .. to-1 of a page to rows rowBegin .. rowEnd-1.
  void addPage(int64_t page, int64_t rowBegin, int64_t rowEnd, int64_t from,
               int64_t to) {
    const uint8_t *block = blockOf(page);
    int64_t pairBegin = rowBegin * unit.headCount;
    int64_t pairEnd = rowEnd * unit.headCount;
    // Bytes become floats in registers. If each would be converted more than
    // once, they are converted once, in memory that stays in the nearest cache.
    // The floats are the same either way.
    bool rounded = unit.format != CacheFormat::F32;
    bool unpacks = rounded && pairEnd - pairBegin > pairsAtOnce;
    const void *floats = block;
    // Half of the next page is prefetched during the keys and half during the
    // values, over all passes.
    int64_t half = unit.pageStride / params.kvHeads / 2;
    int64_t passes = passesOver(pairEnd - pairBegin);
    if (next)
      fetch = PageFetch<V>(next, half, dim * passes);
    if (unpacks)
      floats = RoundedKeys<V>(block, unit, dim).unpack(unpacked);
    if (!rounded || unpacks)
      scoreAll(FloatKeys<V>(floats, dim), pairBegin, pairEnd);
    else
      scoreAll(RoundedKeys<V>(block, unit, dim), pairBegin, pairEnd);

    for (int64_t pair = pairBegin; pair < pairEnd; ++pair)
      softmax(pair, page * pageTokens, from, to);

    if (next)
      fetch = PageFetch<V>(next + half, half,
                           (to - from) * passes * columnGroups());
    next = nullptr;
    floats = block + unit.valuesOffset;
    if (unpacks)
      floats = RoundedValues<V>(block, unit, dim).unpack(unpacked, from, to);
    if (!rounded || unpacks)
      accumulateAll(FloatValues<V>(floats, unit.paddedDim), pairBegin, pairEnd,
                    from, to);
    else
      accumulateAll(RoundedValues<V>(block, unit, dim), pairBegin, pairEnd,
                    from, to);
  }

  /// Returns how often scoreAll and accumulateAll go over a page for that many
  /// pairs.
  static int64_t passesOver(int64_t pairs) {
    return (pairs + pairsAtOnce - 1) / pairsAtOnce;
  }

  template <int P> struct Pairs {
    static constexpr int count = P;
  };

  /// Calls pass(Pairs<P>(), pair) for P pairs from `pair` on, as often as
  /// passesOver says. A pass takes at least the latency of its multiply-adds,
  /// so a pass over one pair takes as long as one over two. Therefore the last
  /// two passes share their pairs evenly if one pair would be left alone.
  template <typename Pass>
  static void makePasses(int64_t pair, int64_t pairEnd, Pass pass) {
    while (pair < pairEnd) {
      int64_t remaining = pairEnd - pair;
      int64_t count = remaining < pairsAtOnce ? remaining : pairsAtOnce;
      if (remaining == pairsAtOnce + 1)
        count = (remaining + 1) / 2;
      makePass<pairsAtOnce>(pair, count, pass);
      pair += count;
    }
  }

  template <int P, typename Pass>
  static void makePass(int64_t pair, int64_t count, Pass pass) {
    if (count == P)
      pass(Pairs<P>(), pair);
    else if constexpr (P > 1)
      makePass<P - 1>(pair, count, pass);
  }

  template <typename Keys>
  void scoreAll(const Keys &keys, int64_t pairBegin, int64_t pairEnd) {
    makePasses(pairBegin, pairEnd, [&](auto pairs, int64_t pair) {
      score<pairs.count>(keys, pair);
    });
  }

  template <typename Values>
  void accumulateAll(const Values &values, int64_t pairBegin, int64_t pairEnd,
                     int64_t from, int64_t to) {
    makePasses(pairBegin, pairEnd, [&](auto pairs, int64_t pair) {
      accumulate<pairs.count>(values, pair, from, to);
    });
  }

  /// probs[pair][t] = q . k[t] of a whole page, for P pairs.
  template <int P, typename Keys> void score(const Keys &keys, int64_t pair) {
    if (fetch.isDone())
      scorePairs<P, false>(keys, pair);
    else
      scorePairs<P, true>(keys, pair);
  }

  template <int P, bool fetches, typename Keys>
  void scorePairs(const Keys &keys, int64_t pair) {
    const float *query = queries + pair * unit.paddedDim;
    Reg sum[P][pageRegs];
    for (int p = 0; p < P; ++p)
      for (int r = 0; r < pageRegs; ++r)
        sum[p][r] = V::zero();
    PageFetch<V> ahead = fetch;
    for (int64_t d = 0; d < dim;)
      for (auto block = keys.block(d); d < block.end; ++d) {
        if constexpr (fetches)
          ahead.advance();
        Reg q[P];
        for (int p = 0; p < P; ++p)
          q[p] = V::set1(query[p * unit.paddedDim + d]);
        for (int r = 0; r < pageRegs; ++r) {
          Reg key = block.load(d, r);
          for (int p = 0; p < P; ++p)
            sum[p][r] = V::fma(q[p], key, sum[p][r]);
        }
      }
    fetch = ahead;
    for (int p = 0; p < P; ++p)
      for (int r = 0; r < pageRegs; ++r)
        V::store(probs + (pair + p) * pageTokens + r * V::lanes, sum[p][r]);
  }

  /// Turns a pair's scores into probabilities relative to its maximum so far.
  void softmax(int64_t pair, int64_t start, int64_t from, int64_t to) {
    float *prob = probs + pair * pageTokens;
    Reg score[pageRegs];
    Reg largest = V::set1(-__builtin_inff());
    for (int r = 0; r < pageRegs; ++r) {
      score[r] =
          shape(V::load(prob + r * V::lanes), pair, start + r * V::lanes);
      score[r] = mask(score[r], r * V::lanes, from, to);
      largest = V::max(largest, score[r]);
    }
    float before = maxima[pair];
    float pageMaximum = V::reduceMax(largest);
    float maximum = pageMaximum > before ? pageMaximum : before;
    Reg sum = V::load(sums + pair * attentionLanes);
    if (maximum != before) {
      Reg factor = exp(V::set1(before - maximum));
      sum = V::mul(sum, factor);
      float *acc = accs + pair * unit.paddedDim;
      for (int64_t d = 0; d < unit.paddedDim; d += V::lanes)
        V::store(acc + d, V::mul(V::load(acc + d), factor));
      maxima[pair] = maximum;
    }
    // A score of -infinity, which comes from an overflow, has the probability
    // 0. If no score so far is larger, subtracting the maximum would give NaN
    // instead.
    Reg reference = V::set1(maximum < lowest ? lowest : maximum);
    for (int r = 0; r < pageRegs; ++r) {
      Reg p = exp(V::sub(score[r], reference));
      sum = V::add(sum, p);
      V::store(prob + r * V::lanes, p);
    }
    V::store(sums + pair * attentionLanes, sum);
  }

  /// Soft cap and alibi for tokens position .. position+lanes-1.
  Reg shape(Reg score, int64_t pair, int64_t position) {
    if (params.softcap != 0) {
      Reg cap = V::set1(params.softcap);
      score = V::mul(cap, tanh(V::div(score, cap)));
    }
    if (params.alibiSlopes) {
      int64_t own = unit.positions[pair / unit.headCount];
      int64_t head = unit.headBegin + pair % unit.headCount;
      Reg distance =
          V::add(V::iota(), V::set1(static_cast<float>(position - own)));
      score = V::fma(V::set1(params.alibiSlopes[head]), distance, score);
    }
    return score;
  }

  /// Sets the lanes to -infinity whose token, `first` + lane, is not in [from,
  /// to).
  static Reg mask(Reg score, int64_t first, int64_t from, int64_t to) {
    if (from <= first && first + V::lanes <= to)
      return score;
    Reg minusInfinity = V::set1(-__builtin_inff());
    Reg token = V::add(V::iota(), V::set1(static_cast<float>(first)));
    score = V::selectLess(token, V::set1(static_cast<float>(from)),
                          minusInfinity, score);
    return V::selectLess(token, V::set1(static_cast<float>(to)), score,
                         minusInfinity);
  }

  /// acc[pair][d] += probs[pair][t] * v[t][d] for P pairs.
  template <int P, typename Values>
  void accumulate(const Values &values, int64_t pair, int64_t from,
                  int64_t to) {
    int64_t d = 0;
    for (; d + 4 * V::lanes <= unit.paddedDim; d += 4 * V::lanes)
      accumulateColumns<P, 4>(values, pair, d, from, to);
    for (; d + 2 * V::lanes <= unit.paddedDim; d += 2 * V::lanes)
      accumulateColumns<P, 2>(values, pair, d, from, to);
    for (; d < unit.paddedDim; d += V::lanes)
      accumulateColumns<P, 1>(values, pair, d, from, to);
  }

  /// Returns how often `accumulate` goes over the tokens.
  int64_t columnGroups() const {
    int64_t registers = unit.paddedDim / V::lanes;
    return registers / 4 + registers % 4 / 2 + registers % 2;
  }

  template <int P, int C, typename Values>
  void accumulateColumns(const Values &values, int64_t pair, int64_t d,
                         int64_t from, int64_t to) {
    if (fetch.isDone())
      accumulateSpan<P, C, false>(values, pair, d, from, to);
    else
      accumulateSpan<P, C, true>(values, pair, d, from, to);
  }

  template <int P, int C, bool fetches, typename Values>
  void accumulateSpan(const Values &values, int64_t pair, int64_t d,
                      int64_t from, int64_t to) {
    const float *prob = probs + pair * pageTokens;
    float *acc = accs + pair * unit.paddedDim + d;
    Reg sum[P][C];
    for (int p = 0; p < P; ++p)
      for (int c = 0; c < C; ++c)
        sum[p][c] = V::load(acc + p * unit.paddedDim + c * V::lanes);
    PageFetch<V> ahead = fetch;
    for (int64_t t = from; t < to; ++t) {
      if constexpr (fetches)
        ahead.advance();
      Reg weight[P];
      for (int p = 0; p < P; ++p)
        weight[p] = V::set1(prob[p * pageTokens + t]);
      for (int c = 0; c < C; ++c) {
        Reg value = values.load(t, d, c);
        for (int p = 0; p < P; ++p)
          sum[p][c] = V::fma(weight[p], value, sum[p][c]);
      }
    }
    fetch = ahead;
    for (int p = 0; p < P; ++p)
      for (int c = 0; c < C; ++c)
        V::store(acc + p * unit.paddedDim + c * V::lanes, sum[p][c]);
  }
};

/// Computes y[i] = f(x[i]); `count` is a multiple of the lanes.
template <typename V, typename V::Reg (*f)(typename V::Reg)>
void mapVectors(const float *x, float *y, int64_t count) {
  for (int64_t i = 0; i < count; i += V::lanes)
    V::store(y + i, f(V::load(x + i)));
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONTILE_H
