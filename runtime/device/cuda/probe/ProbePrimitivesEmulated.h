//===- ProbePrimitivesEmulated.h - ProbePrimitives.cuh in the emulator ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by ProbePrimitives.cuh, which describes the functions.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVESEMULATED_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVESEMULATED_H

#include <limits>

namespace sluice::cuda::probe {

SLUICE_DEVICE Vector4 loadStreaming(const void *p,
                                    Site where = Site::current()) {
  checkAligned(p, where);
  return *static_cast<const Vector4 *>(p);
}

/// Lets other threads run after the load, which may be about to write the word.
SLUICE_DEVICE uint32_t loadAcquire(const uint32_t *p) {
  const uint32_t value = *p;
  emulator::yield();
  return value;
}
SLUICE_DEVICE void addRelease(uint32_t *p, uint32_t n) {
  *p += n;
  emulator::yield();
}

SLUICE_DEVICE void initialiseBarrier(uint64_t *barrier, uint32_t arrivals,
                                     Site where = Site::current()) {
  emulator::initialiseBarrier(barrier, arrivals, where);
}
SLUICE_DEVICE void fenceAsyncProxy() {}
SLUICE_DEVICE void arrive(uint64_t *barrier, Site where = Site::current()) {
  emulator::arriveAtBarrier(barrier, 0, where);
}
SLUICE_DEVICE void arriveExpecting(uint64_t *barrier, uint32_t bytes,
                                   Site where = Site::current()) {
  emulator::arriveAtBarrier(barrier, bytes, where);
}
SLUICE_DEVICE void copyBulk(void *shared, const void *global, uint32_t bytes,
                            uint64_t *barrier, Site where = Site::current()) {
  emulator::copyBulk(barrier, shared, global, bytes, where);
}
SLUICE_DEVICE bool testPhase(uint64_t *barrier, uint32_t parity,
                             Site where = Site::current()) {
  return emulator::testBarrier(barrier, parity, where);
}
SLUICE_DEVICE bool tryPhase(uint64_t *barrier, uint32_t parity,
                            Site where = Site::current()) {
  return testPhase(barrier, parity, where);
}

/// Like the hardware's, but the address is an offset in the block's shared
/// memory.
SLUICE_DEVICE uint64_t matrixDescriptor(const void *shared,
                                        uint32_t leadingBytes,
                                        uint32_t strideBytes) {
  const auto offset =
      static_cast<const uint8_t *>(shared) - emulator::sharedMemory();
  return uint64_t(offset) >> 4 | uint64_t{leadingBytes >> 4} << 16 |
         uint64_t{strideBytes >> 4} << 32;
}

/// Returns a number of the matrix that a descriptor describes.
template <float convert(uint16_t)>
SLUICE_DEVICE float describedNumber(uint64_t descriptor, int row, int feature) {
  auto bytes = [&](int firstBit) {
    return size_t(descriptor >> firstBit & 0x3fff) << 4;
  };
  const size_t at = bytes(0) + row / 8 * bytes(32) + feature / 8 * bytes(16) +
                    row % 8 * 16 + feature % 8 * 2;
  uint16_t bits;
  __builtin_memcpy(&bits, emulator::sharedMemory() + at, sizeof(bits));
  return convert(bits);
}

/// One lane's part of a requested product.
struct GroupProduct {
  float *d = nullptr;
  const uint32_t *a = nullptr; ///< null if A is in shared memory
  uint64_t aDescriptor = 0, bDescriptor = 0;
  int firstRow = 0; ///< the warp's first row
};

/// Computes the warp's 16 rows of a product.
template <float convert(uint16_t)>
SLUICE_DEVICE void multiplyGroup(void *const *lanes) {
  const auto &first = *static_cast<GroupProduct *>(lanes[0]);
  float a[16][16], b[8][16];
  for (int feature = 0; feature < 16; ++feature) {
    for (int column = 0; column < 8; ++column)
      b[column][feature] =
          describedNumber<convert>(first.bDescriptor, column, feature);
    for (int row = 0; row < 16 && !first.a; ++row)
      a[row][feature] = describedNumber<convert>(first.aDescriptor,
                                                 first.firstRow + row, feature);
  }
  for (int lane = 0; lane < 32 && first.a; ++lane)
    for (int i = 0; i < 8; ++i) {
      // Register i / 2 holds rows g and g + 8, first of the features from 2 t
      // on, then of those eight higher.
      const uint32_t pair = static_cast<GroupProduct *>(lanes[lane])->a[i / 2];
      a[lane / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i / 4 * 8 + i % 2] =
          convert(uint16_t(pair >> 16 * (i % 2)));
    }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      float &d = static_cast<GroupProduct *>(lanes[lane])->d[i];
      d = addProducts(d, a[lane / 4 + i / 2 * 8], b[lane % 4 * 2 + i % 2]);
    }
}

/// Keeps the requested products until finish(). Until then the accumulators are
/// NaN.
class MatrixProducts {
public:
  void begin(float (&)[4], Site where = Site::current()) {
    if (count > 0)
      emulator::fail("products are begun while others are in flight", where);
    begun = true;
  }

  template <bool isBfloat>
  void add(float (&d)[4], const uint32_t (&a)[4], uint64_t b,
           Site where = Site::current()) {
    push<isBfloat>(d, {nullptr, a, 0, b}, where);
  }
  template <bool isBfloat>
  void add(float (&d)[4], uint64_t a, uint64_t b,
           Site where = Site::current()) {
    push<isBfloat>(d, {nullptr, nullptr, a, b}, where);
  }

  void finish(float (&d)[4], Site where = Site::current()) {
    for (int i = 0; i < 4 && count > 0; ++i)
      d[i] = before[i];
    for (int i = 0; i < count; ++i) {
      open[i].product.d = d;
      emulator::warpCollective(emulator::Collective::Product, &open[i].product,
                               open[i].resolve, where);
    }
    count = 0;
    begun = false;
  }

private:
  static constexpr int max = 8;
  struct Open {
    GroupProduct product;
    void (*resolve)(void *const *lanes);
  };

  template <bool isBfloat>
  void push(float (&d)[4], GroupProduct product, Site where) {
    if (!begun)
      emulator::fail("a product that no fence stands before", where);
    if (count == max)
      emulator::fail("more products in flight than are emulated", where);
    for (int i = 0; i < 4; ++i) {
      if (count == 0)
        before[i] = d[i];
      d[i] = std::numeric_limits<float>::quiet_NaN();
    }
    product.firstRow = int(warpIndex() % 4) * 16;
    open[count++] = {product, multiplyGroup < isBfloat
                                  ? sluice::bfloatToFloat
                                  : sluice::halfToFloat > };
  }

  Open open[max];
  float before[4]; ///< the accumulators before the products
  int count = 0;
  bool begun = false;
};

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVESEMULATED_H
