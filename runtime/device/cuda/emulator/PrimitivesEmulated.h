//===- PrimitivesEmulated.h - Primitives.cuh in the emulator --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by kernels/Primitives.cuh, which describes the functions.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_PRIMITIVESEMULATED_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_PRIMITIVESEMULATED_H

#include "runtime/device/cuda/emulator/Emulator.h"
#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/Float8.h"

#include <algorithm>
#include <bit>
#include <cmath>

#define SLUICE_DEVICE [[maybe_unused]] static inline
#define SLUICE_MEMBER inline
#define SLUICE_KERNEL(threads) void
#define SLUICE_KERNEL_RESIDENT(threads, blocks) void

namespace sluice::cuda {

using Site = std::source_location;

SLUICE_DEVICE uint32_t threadIndex() {
  return emulator::threadPosition().thread;
}
SLUICE_DEVICE uint32_t blockX() { return emulator::threadPosition().block.x; }
SLUICE_DEVICE uint32_t blockY() { return emulator::threadPosition().block.y; }
SLUICE_DEVICE uint32_t blockZ() { return emulator::threadPosition().block.z; }
SLUICE_DEVICE uint32_t gridX() { return emulator::threadPosition().grid.x; }
SLUICE_DEVICE uint32_t gridY() { return emulator::threadPosition().grid.y; }
SLUICE_DEVICE uint32_t gridZ() { return emulator::threadPosition().grid.z; }
SLUICE_DEVICE uint8_t *sharedMemory() { return emulator::sharedMemory(); }

SLUICE_DEVICE void syncThreads(Site where = Site::current()) {
  emulator::blockBarrier(where);
}
SLUICE_DEVICE void syncWarp(Site where = Site::current()) {
  emulator::warpCollective(
      emulator::Collective::Sync, nullptr, [](void *const *) {}, where);
}

SLUICE_DEVICE void checkAligned(const void *p, Site where) {
  if (reinterpret_cast<uintptr_t>(p) % 16 != 0)
    emulator::fail("an address that is not a multiple of 16", where);
}

/// Returns `bits` of lane `from`, which each lane chooses.
SLUICE_DEVICE uint32_t exchange(uint32_t bits, uint32_t from, Site where) {
  struct Lane {
    uint32_t bits, from, result;
  } mine = {bits, from % 32, 0};
  emulator::warpCollective(
      emulator::Collective::Shuffle, &mine,
      [](void *const *lanes) {
        for (int i = 0; i < 32; ++i) {
          auto *lane = static_cast<Lane *>(lanes[i]);
          lane->result = static_cast<Lane *>(lanes[lane->from])->bits;
        }
      },
      where);
  return mine.result;
}

template <typename T>
SLUICE_DEVICE T shuffleFrom(T value, uint32_t lane,
                            Site where = Site::current()) {
  static_assert(sizeof(T) == 4);
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  bits = exchange(bits, lane, where);
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
template <typename T>
SLUICE_DEVICE T shuffleXor(T value, uint32_t mask,
                           Site where = Site::current()) {
  return shuffleFrom(value, threadIndex() % 32 ^ mask, where);
}

SLUICE_DEVICE uint32_t voteOf(bool predicate, Site where = Site::current()) {
  uint32_t mine = predicate;
  emulator::warpCollective(
      emulator::Collective::Vote, &mine,
      [](void *const *lanes) {
        uint32_t votes = 0;
        for (int i = 0; i < 32; ++i)
          votes |= *static_cast<uint32_t *>(lanes[i]) << i;
        for (int i = 0; i < 32; ++i)
          *static_cast<uint32_t *>(lanes[i]) = votes;
      },
      where);
  return mine;
}

SLUICE_DEVICE void incrementShared(uint32_t *counter) { ++*counter; }

struct MatrixLoad {
  const void *row;
  uint32_t *result;
};

/// Returns element (row, column) of matrix `j`, whose rows are among the 32
/// that the lanes name.
SLUICE_DEVICE uint32_t matrixElement(void *const *lanes, int j, int row,
                                     int column) {
  const void *from = static_cast<MatrixLoad *>(lanes[8 * j + row])->row;
  uint16_t bits;
  __builtin_memcpy(&bits, static_cast<const uint8_t *>(from) + 2 * column, 2);
  return bits;
}

template <bool transposed>
SLUICE_DEVICE void loadMatrices(uint32_t (&r)[4], const void *row, Site where) {
  checkAligned(row, where);
  MatrixLoad mine = {row, r};
  emulator::warpCollective(
      emulator::Collective::MatrixLoad, &mine,
      [](void *const *lanes) {
        for (int lane = 0; lane < 32; ++lane)
          for (int j = 0; j < 4; ++j) {
            uint32_t pair = 0;
            for (int i = 0; i < 2; ++i) {
              int g = lane / 4, c = 2 * (lane % 4) + i;
              pair |= (transposed ? matrixElement(lanes, j, c, g)
                                  : matrixElement(lanes, j, g, c))
                      << 16 * i;
            }
            static_cast<MatrixLoad *>(lanes[lane])->result[j] = pair;
          }
      },
      where);
}
SLUICE_DEVICE void loadMatrix4(uint32_t (&r)[4], const void *row,
                               Site where = Site::current()) {
  loadMatrices<false>(r, row, where);
}
SLUICE_DEVICE void loadMatrix4Transposed(uint32_t (&r)[4], const void *row,
                                         Site where = Site::current()) {
  loadMatrices<true>(r, row, where);
}

/// Returns d + a . b for one element of a product of 16 features, added in the
/// order that Primitives.cuh names.
SLUICE_DEVICE float addProducts(float d, const float (&a)[16],
                                const float (&b)[16]) {
  // No kernel may rely on d + 0 * b being exactly d, so d changes here.
  bool empty = std::all_of(a, a + 16, [](float factor) { return factor == 0; });
  if (empty && d != 0)
    d = std::nextafter(d, 0.0f);
  for (int k = 0; k < 16; ++k)
    d += a[k] * b[k];
  return d;
}

struct Product {
  float *d;
  const uint32_t *a;
  uint32_t b[2];
};

template <float convert(uint16_t)>
SLUICE_DEVICE void multiplyLanes(void *const *lanes) {
  float a[16][16], b[8][16]; // [row][feature], [column][feature]
  for (int lane = 0; lane < 32; ++lane) {
    auto *mine = static_cast<Product *>(lanes[lane]);
    int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 8; ++i) {
      uint32_t word = i < 4 ? mine->a[i] : mine->a[i - 4] >> 16;
      int part = i % 4, column = 2 * t + 8 * (part / 2) + i / 4;
      a[g + 8 * (part % 2)][column] = convert(uint16_t(word));
    }
    for (int i = 0; i < 4; ++i)
      b[g][2 * t + 8 * (i / 2) + i % 2] =
          convert(uint16_t(mine->b[i / 2] >> 16 * (i % 2)));
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      float &d = static_cast<Product *>(lanes[lane])->d[i];
      d = addProducts(d, a[row], b[column]);
    }
}

SLUICE_DEVICE void multiplyF16(float (&d)[4], const uint32_t (&a)[4],
                               uint32_t b0, uint32_t b1,
                               Site where = Site::current()) {
  Product mine = {d, a, {b0, b1}};
  emulator::warpCollective(emulator::Collective::Product, &mine,
                           multiplyLanes<sluice::halfToFloat>, where);
}
SLUICE_DEVICE void multiplyBF16(float (&d)[4], const uint32_t (&a)[4],
                                uint32_t b0, uint32_t b1,
                                Site where = Site::current()) {
  Product mine = {d, a, {b0, b1}};
  emulator::warpCollective(emulator::Collective::Product, &mine,
                           multiplyLanes<sluice::bfloatToFloat>, where);
}

SLUICE_DEVICE void copyAsync16(void *shared, const void *global,
                               Site where = Site::current()) {
  checkAligned(shared, where);
  checkAligned(global, where);
  emulator::copyAsync(shared, global, 16);
}
SLUICE_DEVICE void copyAsyncCommit() { emulator::copyAsyncCommit(); }
template <int groupsLeft> SLUICE_DEVICE void copyAsyncWait() {
  emulator::copyAsyncWait(groupsLeft);
}

SLUICE_DEVICE void launchDependents() {}
SLUICE_DEVICE void waitForPrior() { emulator::waitForPrior(); }
/// Lets other threads run in between, to expose work that should have been done
/// before the ticket was taken.
SLUICE_DEVICE uint32_t takeTicket(uint32_t *counter) {
  uint32_t before = (*counter)++;
  emulator::yield();
  return before;
}
SLUICE_DEVICE Vector4 loadL2(const void *p, Site where = Site::current()) {
  checkAligned(p, where);
  return *static_cast<const Vector4 *>(p);
}
SLUICE_DEVICE void storeGlobal16(void *p, const Vector4 &value,
                                 Site where = Site::current()) {
  checkAligned(p, where);
  *static_cast<Vector4 *>(p) = value;
}
/// Atomic, since the host may write it at the same time.
SLUICE_DEVICE uint8_t loadHostByte(const uint8_t *p) {
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
/// Atomic, since the host may read it at the same time.
SLUICE_DEVICE void storeHostWord(int32_t *p, int32_t value) {
  __atomic_store_n(p, value, __ATOMIC_RELAXED);
}

SLUICE_DEVICE int32_t bitCount(uint32_t bits) { return std::popcount(bits); }
SLUICE_DEVICE float multiplyAdd(float a, float b, float c) {
  return std::fma(a, b, c);
}
SLUICE_DEVICE float squareRoot(float x) { return std::sqrt(x); }
using sluice::bfloatToFloat;
using sluice::floatToBfloat;
using sluice::floatToE4M3;
using sluice::floatToHalf;
using sluice::halfToFloat;

SLUICE_DEVICE uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = a | uint64_t{b} << 32;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result |= uint32_t(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
SLUICE_DEVICE uint32_t subtractHalves(uint32_t a, uint32_t b) {
  uint32_t result = 0;
  for (int i = 0; i < 32; i += 16)
    result |= uint32_t(floatToHalf(halfToFloat(uint16_t(a >> i)) -
                                   halfToFloat(uint16_t(b >> i))))
              << i;
  return result;
}
/// Computes in double, in which products are exact.
SLUICE_DEVICE uint32_t multiplyAddHalves(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (int i = 0; i < 32; i += 16) {
    double sum =
        double(halfToFloat(uint16_t(a >> i))) * halfToFloat(uint16_t(b >> i)) +
        halfToFloat(uint16_t(c >> i));
    result |= uint32_t(floatToHalf(float(sum))) << i;
  }
  return result;
}
SLUICE_DEVICE uint32_t maskInto(uint32_t bits, uint32_t mask, uint32_t into) {
  return (bits & mask) | into;
}
template <uint32_t bits> SLUICE_DEVICE uint32_t constantRegister() {
  return bits;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_PRIMITIVESEMULATED_H
