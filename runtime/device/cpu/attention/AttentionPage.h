//===- AttentionPage.h - how attention reads a page of the cache ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the keys, and the values, of one kv head in one page, as vectors of
// floats. KvCache.h describes the layout, AttentionTile.h the type V.
//
// Keys are read in blocks of dimensions: block(d) reaches from dimension d to
// its `end`, and its load(d, r) returns dimension d of the tokens from r*lanes
// on. Values are read as load(t, d, c), which returns the dimensions from d +
// c*lanes on of token t; d is a multiple of the number of dimensions that are
// read of a token at once.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONPAGE_H
#define SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONPAGE_H

#include "runtime/device/cpu/attention/Attention.h"

namespace sluice::cpu {

/// How many vectors hold one number of each of a page's tokens.
template <typename V>
constexpr int attentionPageRegs = attentionPageTokens / V::lanes;

/// Returns where dimension `d` of the tokens from r*lanes on lies in
/// k[group][dim][16]. Each register lies inside one group.
template <typename V> int64_t keyPlace(int64_t dim, int64_t d, int r) {
  constexpr int groupRegs = attentionGroupTokens / V::lanes;
  return (r / groupRegs * dim + d) * attentionGroupTokens +
         r % groupRegs * V::lanes;
}

/// The part of the next page, from `from` to `end`, that is prefetched into the
/// second cache while this page is computed; its lines are spread over all
/// steps of that. The processor's prefetchers stop at each 4 KiB. It depends on
/// V, like everything that is compiled for one instruction set.
template <typename V> struct PageFetch {
  const uint8_t *from = nullptr, *end = nullptr;
  int64_t stepBytes = 0;
  /// Bytes of steps that were made but not fetched yet.
  int64_t dueBytes = 0;

  PageFetch() = default;
  PageFetch(const uint8_t *from, int64_t bytes, int64_t steps)
      : from(from), end(from + bytes), stepBytes((bytes + steps - 1) / steps) {}

  bool isDone() const { return from >= end; }
  void advance() {
    constexpr int64_t line = 64;
    dueBytes += stepBytes;
    for (; dueBytes > 0 && from < end; dueBytes -= line, from += line)
      __builtin_prefetch(from, 0, 2);
  }
};

template <typename V> struct FloatKeys {
  const float *keys;
  int64_t end; ///< all dimensions are one block

  FloatKeys(const void *keys, int64_t dim)
      : keys(static_cast<const float *>(keys)), end(dim) {}

  FloatKeys block(int64_t) const { return *this; }
  typename V::Reg load(int64_t d, int r) const {
    return V::load(keys + keyPlace<V>(end, d, r));
  }
};

template <typename V> struct RoundedKeys {
  const int8_t *keys;
  const float *scales;
  int64_t dim;

  struct Block {
    const int8_t *keys;
    int64_t dim;
    int64_t end;
    typename V::Reg scale[attentionPageRegs<V>];

    typename V::Reg load(int64_t d, int r) const {
      return V::mul(V::load(keys + keyPlace<V>(dim, d, r)), scale[r]);
    }
  };

  RoundedKeys(const uint8_t *page, const AttentionUnit &unit, int64_t dim)
      : keys(reinterpret_cast<const int8_t *>(page)),
        scales(reinterpret_cast<const float *>(page + unit.keyScalesOffset)),
        dim(dim) {}

  Block block(int64_t d) const {
    Block block = {keys, dim, d + scaledDims < dim ? d + scaledDims : dim, {}};
    const float *from = scales + d / scaledDims * attentionPageTokens;
    for (int r = 0; r < attentionPageRegs<V>; ++r)
      block.scale[r] = V::load(from + r * V::lanes);
    return block;
  }

  /// Writes all keys to `to` in the layout of FloatKeys, and returns `to`.
  const float *unpack(float *to) const {
    for (int64_t d = 0; d < dim;)
      for (Block each = block(d); d < each.end; ++d)
        for (int r = 0; r < attentionPageRegs<V>; ++r)
          V::store(to + keyPlace<V>(dim, d, r), each.load(d, r));
    return to;
  }
};

template <typename V> struct FloatValues {
  const float *values;
  int64_t paddedDim;

  FloatValues(const void *values, int64_t paddedDim)
      : values(static_cast<const float *>(values)), paddedDim(paddedDim) {}

  typename V::Reg load(int64_t t, int64_t d, int c) const {
    return V::load(values + t * paddedDim + d + c * V::lanes);
  }
};

template <typename V> struct RoundedValues {
  const int8_t *values;
  const float *scales;
  int64_t paddedDim;
  int64_t tokenScales;

  RoundedValues(const uint8_t *page, const AttentionUnit &unit, int64_t dim)
      : values(reinterpret_cast<const int8_t *>(page + unit.valuesOffset)),
        scales(reinterpret_cast<const float *>(page + unit.valueScalesOffset)),
        paddedDim(unit.paddedDim),
        tokenScales((dim + scaledDims - 1) / scaledDims) {}

  typename V::Reg load(int64_t t, int64_t d, int c) const {
    const float *scale = scales + t * tokenScales + d / scaledDims;
    return V::mul(V::load(values + t * paddedDim + d + c * V::lanes),
                  V::set1(scale[c * V::lanes / scaledDims]));
  }

  /// Writes the values of tokens from .. end-1 to `to` in the layout of
  /// FloatValues, and returns `to`.
  const float *unpack(float *to, int64_t from, int64_t end) const {
    for (int64_t t = from; t < end; ++t)
      for (int64_t d = 0; d < paddedDim; d += V::lanes)
        V::store(to + t * paddedDim + d, load(t, d, 0));
    return to;
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTIONPAGE_H
