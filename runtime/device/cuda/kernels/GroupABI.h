//===- GroupABI.h - what a group's members do with what they bring --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As KernelABI.h, whose rules hold. Members of a group exchange bytes between
// these kernels (DeviceGroup.h), of all rows that the graph has room for: what
// lies beyond the count is exchanged and added up like the rest, and means
// nothing.
//
// An exchange that another member does not come to never ends. So that the host
// knows how far a step has come, the kernels here that make something of what
// an exchange has brought write its number into the host's memory. What only
// hands something on has no such kernel behind it: sums to all members, who
// lives, rows that have come in. Exchanges end in order, so the next number
// stands for those as well.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GROUPABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GROUPABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t groupThreads = 128;

/// What all members have brought of something.
struct GroupParts {
  const float *mine;   ///< this member's
  const float *others; ///< [member][stride]; this member's are not read
  int64_t stride;
  int32_t members;
  int32_t member; ///< this one
};

/// The exchange before, for the host.
struct ExchangeNote {
  int32_t *passed; ///< host memory
  int64_t number;
};

/// sluice_sum_parts: any grid, blocks of groupThreads.
///   to[i] = (part_0[i] + part_1[i]) + part_2[i] ...
/// in the members' order: the bits of comm/Collectives.h's sums.
struct SumPartsArguments {
  GroupParts parts;
  float *to;
  int64_t floats;
  ExchangeNote exchange;
};

/// sluice_join_columns: grid (rows of capacity, any number), blocks of
/// groupThreads. Of parts[row][partCols]
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

/// sluice_read_alive: one block of compactThreads. Who lives, as the host says
/// now, for all members: decided[row] = alive[row].
struct ReadAliveArguments {
  const uint8_t *alive; ///< host memory, as CompactArguments has it
  uint8_t *decided;
  int64_t rows;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GROUPABI_H
