//===- AttentionReference.cpp - attention by its definition ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/test/AttentionReference.h"

#include <algorithm>
#include <cmath>

namespace sluice::cpu {

std::vector<double> referenceAttention(const SluiceAttention &params,
                                       const float *q,
                                       const std::vector<float> &k,
                                       const std::vector<float> &v,
                                       int64_t position) {
  int64_t dim = params.headDim;
  int64_t group = params.heads / params.kvHeads;
  int64_t first = params.window > 0
                      ? std::max<int64_t>(0, position - params.window + 1)
                      : 0;
  std::vector<double> out(params.heads * dim);
  for (int64_t head = 0; head < params.heads; ++head) {
    // k[t][kvHead][d]
    auto place = [&](int64_t t, int64_t d) {
      return (t * params.kvHeads + head / group) * dim + d;
    };
    std::vector<double> score;
    for (int64_t t = first; t <= position; ++t) {
      double sum = 0;
      for (int64_t d = 0; d < dim; ++d)
        sum += static_cast<double>(q[head * dim + d]) * k[place(t, d)];
      sum *= params.scale;
      if (params.softcap != 0)
        sum = params.softcap * std::tanh(sum / params.softcap);
      if (params.alibiSlopes)
        sum += params.alibiSlopes[head] * static_cast<double>(t - position);
      score.push_back(sum);
    }
    double max = *std::max_element(score.begin(), score.end());
    double total = 0;
    for (double &each : score)
      total += each = std::exp(each - max);
    for (int64_t t = first; t <= position; ++t)
      for (int64_t d = 0; d < dim; ++d)
        out[head * dim + d] += score[t - first] / total * v[place(t, d)];
  }
  return out;
}

std::vector<float> asStored(const std::vector<float> &x, int64_t headDim,
                            CacheFormat format) {
  if (format == CacheFormat::F32)
    return x;
  std::vector<float> stored = x;
  auto size = static_cast<int64_t>(x.size());
  for (int64_t head = 0; head < size; head += headDim)
    for (int64_t d = 0; d < headDim; d += 32) {
      float *block = stored.data() + head + d;
      int64_t count = std::min<int64_t>(32, headDim - d);
      float largest = 0;
      for (int64_t i = 0; i < count; ++i)
        largest = std::max(largest, std::abs(block[i]));
      for (int64_t i = 0; i < count; ++i)
        block[i] =
            std::nearbyint(block[i] * (127.0f / largest)) * (largest / 127.0f);
    }
  return stored;
}

} // namespace sluice::cpu
