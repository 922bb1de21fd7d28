//===- EmulatedKernels.cpp - the kernels that the emulator has ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/EmulatedKernels.h"

#include "runtime/device/cuda/emulator/Emulator.h"
#include "runtime/device/cuda/kernels/Kernels.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace sluice::cuda;

namespace {

constexpr auto here = std::source_location::current();

} // namespace

std::span<const SluiceEmulatedKernel> emulator::runtimeKernels() {
#define SLUICE_KERNEL_LINE(name, Arguments)                                    \
  {#name, emulator::callKernel<Arguments, name>},
#define SLUICE_LINEAR_LINE(kind, name, rows)                                   \
  SLUICE_KERNEL_LINE(sluice_linear_##name##_##rows, JoinedLinearArguments)
#define SLUICE_LINEAR_TILE_LINE(kind, name)                                    \
  SLUICE_KERNEL_LINE(sluice_linear_tile_##name, LinearArguments)
#define SLUICE_DENSE_WEIGHT_LINE(kind, name)                                   \
  SLUICE_KERNEL_LINE(sluice_dense_weight_##name, DenseWeightArguments)
#define SLUICE_DENSE_RESULTS_LINE(kind, name)                                  \
  SLUICE_KERNEL_LINE(sluice_dense_results_##name, DenseResultArguments)
#define SLUICE_EMBED_LINE(kind, name)                                          \
  SLUICE_KERNEL_LINE(sluice_embed_##name, EmbedArguments)
#define SLUICE_RANDOM_LINE(kind, name)                                         \
  SLUICE_KERNEL_LINE(sluice_random_##name, RandomArguments)
#define SLUICE_RANDOM_E4M3_OF_LINE(kind, name)                                 \
  SLUICE_KERNEL_LINE(sluice_random_e4m3_of_##name, RandomArguments)
#define SLUICE_ATTEND_LINE(kind, name, dim)                                    \
  SLUICE_KERNEL_LINE(sluice_attend_##name##_##dim, AttendArguments)            \
  SLUICE_KERNEL_LINE(sluice_attend_tile_##name##_##dim, AttendArguments)
  static const SluiceEmulatedKernel kernels[] = {
      SLUICE_FOR_EACH_LINEAR(SLUICE_LINEAR_LINE) SLUICE_FOR_EACH_LINEAR_TILE(
          SLUICE_LINEAR_TILE_LINE) SLUICE_FOR_EACH_ATTEND(SLUICE_ATTEND_LINE)
          SLUICE_FOR_EACH_DENSE_WEIGHT(SLUICE_DENSE_WEIGHT_LINE)
              SLUICE_FOR_EACH_DENSE_RESULTS(SLUICE_DENSE_RESULTS_LINE)
                  SLUICE_FOR_EACH_EMBED(SLUICE_EMBED_LINE) SLUICE_FOR_EACH_RANDOM(
                      SLUICE_RANDOM_LINE)
                      SLUICE_FOR_EACH_RANDOM_E4M3_OF(SLUICE_RANDOM_E4M3_OF_LINE)
                          SLUICE_KERNEL_LINE(
                              sluice_operand_rows,
                              OperandArguments) SLUICE_KERNEL_LINE(sluice_append_cache,
                                                                   AppendArguments)
                              SLUICE_KERNEL_LINE(sluice_compact,
                                                 CompactArguments)
                                  SLUICE_KERNEL_LINE(sluice_move_values,
                                                     MoveArguments)
                                      SLUICE_KERNEL_LINE(sluice_sample_search,
                                                         SampleArguments)
                                          SLUICE_KERNEL_LINE(
                                              sluice_sample_merge,
                                              SampleArguments)
                                              SLUICE_KERNEL_LINE(
                                                  sluice_copy_pages,
                                                  PageCopyArguments)
                                                  SLUICE_KERNEL_LINE(
                                                      sluice_sum_parts,
                                                      SumPartsArguments)
                                                      SLUICE_KERNEL_LINE(
                                                          sluice_join_columns,
                                                          JoinColumnsArguments)
                                                          SLUICE_KERNEL_LINE(
                                                              sluice_read_alive,
                                                              ReadAliveArguments)
                                                              SLUICE_KERNEL_LINE(
                                                                  sluice_mark,
                                                                  MarkArguments)};
  return kernels;
}

/// The kernels that addTestKernels() has added.
static std::vector<emulator::TestKernel> added;
static std::mutex addedMutex;

void emulator::addTestKernels(std::span<const TestKernel> kernels) {
  std::lock_guard lock(addedMutex);
  for (const TestKernel &kernel : kernels)
    if (std::none_of(added.begin(), added.end(), [&](const TestKernel &each) {
          return std::strcmp(each.name, kernel.name) == 0;
        }))
      added.push_back(kernel);
}

std::vector<emulator::TestKernel> emulator::testKernels() {
  std::lock_guard lock(addedMutex);
  return added;
}

std::span<const SluiceEmulatedKernel> emulator::programKernels() {
  if (!&sluice_program_emulated_table_size)
    return {};
  return {sluice_program_emulated_table, sluice_program_emulated_table_size};
}

//===----------------------------------------------------------------------===//
// The functions that generated kernels call
//===----------------------------------------------------------------------===//

int32_t sluice_emulated_thread() {
  return static_cast<int32_t>(emulator::threadPosition().thread);
}

int32_t sluice_emulated_block() {
  return static_cast<int32_t>(emulator::threadPosition().block.x);
}

void sluice_emulated_barrier() { emulator::blockBarrier(here); }

void sluice_emulated_wait() { emulator::waitForPrior(); }

float sluice_emulated_shuffle_xor(float value, int32_t mask) {
  struct Lane {
    float value, result;
    uint32_t from;
  };
  Lane mine = {
      value, value,
      (emulator::threadPosition().thread ^ static_cast<uint32_t>(mask)) % 32};
  emulator::warpCollective(
      emulator::Collective::Shuffle, &mine,
      [](void *const *lanes) {
        for (int i = 0; i < 32; ++i) {
          auto *lane = static_cast<Lane *>(lanes[i]);
          std::memcpy(&lane->result,
                      &static_cast<Lane *>(lanes[lane->from])->value,
                      sizeof(float));
        }
      },
      here);
  return mine.result;
}

void *sluice_emulated_shared(int64_t offset) {
  return emulator::sharedMemory() + offset;
}
