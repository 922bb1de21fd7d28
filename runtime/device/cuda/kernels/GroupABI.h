//===- GroupABI.h - kernels that compute collectives of a group -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of KernelABI.h hold here, too. Members of a group exchange bytes
// between these kernels (DeviceGroup.h), for all rows that the graph has room
// for. What lies beyond the count is exchanged and added up as well, and has no
// meaning.
//
// An exchange never ends if another member does not take part. To let the host
// see how far a step has come, the kernels here that process the bytes of an
// exchange write its number to host memory. Some exchanges have no such kernel
// after them: the sums of an all-reduce, the flags of living rows, and incoming
// rows. Since exchanges end in order, the next number that is written covers
// these as well.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GROUPABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GROUPABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t groupThreads = 128;

/// The parts of a value that all members have contributed.
struct GroupParts {
  const float *mine; ///< the part of this member
  /// [member][stride]; the part of this member is not read.
  const float *others;
  int64_t stride;
  int32_t members;
  int32_t member; ///< the number of this member
};

/// The number of the exchange before the kernel, for the host.
struct ExchangeNote {
  int32_t *passed; ///< host memory
  int64_t number;
};

/// sluice_sum_parts: any grid, blocks of groupThreads. Computes
///
///   to[i] = (part_0[i] + part_1[i]) + part_2[i] ...
///
/// in the order of the members, with the bits of the sums of
/// comm/Collectives.h.
struct SumPartsArguments {
  GroupParts parts;
  float *to;
  int64_t floats;
  ExchangeNote exchange;
};

/// sluice_join_columns: grid (rows of capacity, any number), blocks of
/// groupThreads. From parts[row][partCols] it computes
///   to[row][c] = part_m[row][c - b_m], b_m = min(m * partCols, cols -
///   partCols)
/// for the first member m whose columns are not all before c.
struct JoinColumnsArguments {
  GroupParts parts;
  float *to;
  const int32_t *rowCount;
  int32_t partCols;
  int32_t cols;
  ExchangeNote exchange;
};

/// sluice_read_alive: one block of compactThreads. Copies the host's current
/// flags of living rows for all members: decided[row] = alive[row].
struct ReadAliveArguments {
  const uint8_t *alive; ///< host memory, as in CompactArguments
  uint8_t *decided;
  int64_t rows;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GROUPABI_H
