//===- Kernels.h - the names of all kernels -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the kernels that are instantiated. For the emulator, in which a kernel
// is a function that each thread calls, it also declares them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELS_H

#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/device/cuda/kernels/CompactABI.h"
#include "runtime/device/cuda/kernels/DenseABI.h"
#include "runtime/device/cuda/kernels/EmbedABI.h"
#include "runtime/device/cuda/kernels/GroupABI.h"
#include "runtime/device/cuda/kernels/MarkABI.h"
#include "runtime/device/cuda/kernels/RandomABI.h"
#include "runtime/device/cuda/kernels/SampleABI.h"

/// make(kind, name, rows) for each kernel sluice_linear_<name>_<rows>.
#define SLUICE_FOR_EACH_LINEAR_ROWS(make, kind, name)                          \
  make(kind, name, 8) make(kind, name, 16) make(kind, name, 32)                \
      make(kind, name, 64)
#define SLUICE_FOR_EACH_LINEAR(make)                                           \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, F32, f32)                                  \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, F16, f16)                                  \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, BF16, bf16)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, E4M3, e4m3)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, Q8_0, q8_0)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, Q4_0, q4_0)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, Q4_K, q4_k)                                \
  SLUICE_FOR_EACH_LINEAR_ROWS(make, Q6_K, q6_k)

/// make(kind, name) for each kernel sluice_linear_tile_<name>.
#define SLUICE_FOR_EACH_LINEAR_TILE(make)                                      \
  make(F16, f16) make(BF16, bf16) make(E4M3, e4m3) make(Q8_0, q8_0)            \
      make(Q4_0, q4_0) make(Q4_K, q4_k) make(Q6_K, q6_k)

/// make(kind, name) for each kernel sluice_dense_weight_<name>, and for each
/// sluice_dense_results_<name>.
#define SLUICE_FOR_EACH_DENSE_WEIGHT(make) SLUICE_FOR_EACH_LINEAR_TILE(make)
#define SLUICE_FOR_EACH_DENSE_RESULTS(make) make(F16, f16) make(BF16, bf16)

/// make(kind, name) for each kernel sluice_embed_<name>.
#define SLUICE_FOR_EACH_EMBED(make)                                            \
  make(F32, f32) SLUICE_FOR_EACH_LINEAR_TILE(make)

/// make(kind, name) for each kernel sluice_random_<name>, and for each
/// sluice_random_e4m3_of_<name>.
#define SLUICE_FOR_EACH_RANDOM(make)                                           \
  make(F32, f32) SLUICE_FOR_EACH_LINEAR_TILE(make)
#define SLUICE_FOR_EACH_RANDOM_E4M3_OF(make)                                   \
  make(F32, f32) make(F16, f16) make(BF16, bf16)

/// make(kind, name, dim) for the kernels sluice_attend_<name>_<dim> and
/// sluice_attend_tile_<name>_<dim>.
#define SLUICE_FOR_EACH_ATTEND_DIM(make, kind, name)                           \
  make(kind, name, 64) make(kind, name, 128) make(kind, name, 256)
#define SLUICE_FOR_EACH_ATTEND(make)                                           \
  SLUICE_FOR_EACH_ATTEND_DIM(make, F16, f16)                                   \
  SLUICE_FOR_EACH_ATTEND_DIM(make, BF16, bf16)                                 \
  SLUICE_FOR_EACH_ATTEND_DIM(make, E4M3, e4m3)

/// The names of all other kernels.
#define SLUICE_OTHER_KERNELS                                                   \
  "sluice_operand_rows", "sluice_append_cache", "sluice_compact",              \
      "sluice_move_values", "sluice_copy_pages", "sluice_sum_parts",           \
      "sluice_join_columns", "sluice_read_alive", "sluice_sample_search",      \
      "sluice_sample_merge", "sluice_mark"

#ifndef __CUDACC__
extern "C" {
void sluice_operand_rows(sluice::cuda::OperandArguments arguments);
#define SLUICE_DECLARE_LINEAR(kind, name, rows)                                \
  void sluice_linear_##name##_##rows(                                          \
      sluice::cuda::JoinedLinearArguments arguments);
SLUICE_FOR_EACH_LINEAR(SLUICE_DECLARE_LINEAR)
#undef SLUICE_DECLARE_LINEAR
#define SLUICE_DECLARE_LINEAR_TILE(kind, name)                                 \
  void sluice_linear_tile_##name(sluice::cuda::LinearArguments arguments);
SLUICE_FOR_EACH_LINEAR_TILE(SLUICE_DECLARE_LINEAR_TILE)
#undef SLUICE_DECLARE_LINEAR_TILE
#define SLUICE_DECLARE_DENSE_WEIGHT(kind, name)                                \
  void sluice_dense_weight_##name(sluice::cuda::DenseWeightArguments arguments);
SLUICE_FOR_EACH_DENSE_WEIGHT(SLUICE_DECLARE_DENSE_WEIGHT)
#undef SLUICE_DECLARE_DENSE_WEIGHT
#define SLUICE_DECLARE_DENSE_RESULTS(kind, name)                               \
  void sluice_dense_results_##name(                                            \
      sluice::cuda::DenseResultArguments arguments);
SLUICE_FOR_EACH_DENSE_RESULTS(SLUICE_DECLARE_DENSE_RESULTS)
#undef SLUICE_DECLARE_DENSE_RESULTS
#define SLUICE_DECLARE_EMBED(kind, name)                                       \
  void sluice_embed_##name(sluice::cuda::EmbedArguments arguments);
SLUICE_FOR_EACH_EMBED(SLUICE_DECLARE_EMBED)
#undef SLUICE_DECLARE_EMBED
void sluice_mark(sluice::cuda::MarkArguments arguments);
#define SLUICE_DECLARE_RANDOM(kind, name)                                      \
  void sluice_random_##name(sluice::cuda::RandomArguments arguments);
SLUICE_FOR_EACH_RANDOM(SLUICE_DECLARE_RANDOM)
#undef SLUICE_DECLARE_RANDOM
#define SLUICE_DECLARE_RANDOM(kind, name)                                      \
  void sluice_random_e4m3_of_##name(sluice::cuda::RandomArguments arguments);
SLUICE_FOR_EACH_RANDOM_E4M3_OF(SLUICE_DECLARE_RANDOM)
#undef SLUICE_DECLARE_RANDOM
void sluice_compact(sluice::cuda::CompactArguments arguments);
void sluice_move_values(sluice::cuda::MoveArguments arguments);
void sluice_copy_pages(sluice::cuda::PageCopyArguments arguments);
void sluice_sum_parts(sluice::cuda::SumPartsArguments arguments);
void sluice_join_columns(sluice::cuda::JoinColumnsArguments arguments);
void sluice_read_alive(sluice::cuda::ReadAliveArguments arguments);
void sluice_sample_search(sluice::cuda::SampleArguments arguments);
void sluice_sample_merge(sluice::cuda::SampleArguments arguments);
void sluice_append_cache(sluice::cuda::AppendArguments arguments);
#define SLUICE_DECLARE_ATTEND(kind, name, dim)                                 \
  void sluice_attend_##name##_##dim(sluice::cuda::AttendArguments arguments);  \
  void sluice_attend_tile_##name##_##dim(                                      \
      sluice::cuda::AttendArguments arguments);
SLUICE_FOR_EACH_ATTEND(SLUICE_DECLARE_ATTEND)
#undef SLUICE_DECLARE_ATTEND
}
#endif

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_KERNELS_H
