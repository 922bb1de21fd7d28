//===- EmulatedABI.h - generated kernels in the emulator ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests. The compiler can emit its kernels for the host, to run in the
// emulator (archive sluice_runtime_emulated). A kernel is a function that each
// thread of a block calls; it reaches the device by the functions below.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDABI_H

#include <stdint.h>

extern "C" {

/// One entry of an executable's table of generated kernels. As an LLVM struct
/// it is { ptr, ptr }.
typedef struct SluiceEmulatedKernel {
  /// As the step plan names it; ends with a zero byte.
  const char *name;
  void (*run)(const uint64_t *words);
} SluiceEmulatedKernel;

/// The table, which is emitted with --cuda-arch emulator.
extern const SluiceEmulatedKernel sluice_program_emulated_table[]
    __attribute__((weak));
extern const uint64_t sluice_program_emulated_table_size __attribute__((weak));

/// An image that an emulated device loads, for a process that has the kernels
/// of several programs. It has no code, but refers to a table.
typedef struct SluiceEmulatedImage {
  uint64_t magic; ///< SLUICE_EMULATED_MAGIC
  const SluiceEmulatedKernel *kernels;
  uint64_t count;
} SluiceEmulatedImage;
#define SLUICE_EMULATED_MAGIC 0x67616d69656d756cULL

/// sluice_emulated_thread() returns the thread's number in its block,
/// sluice_emulated_block() the number of the block in the grid.
int32_t sluice_emulated_thread(void);
int32_t sluice_emulated_block(void);
/// Waits for the other threads of the block.
void sluice_emulated_barrier(void);
/// Waits for the previous kernel (griddepcontrol.wait).
void sluice_emulated_wait(void);
/// Returns `value` of the lane whose number differs by `mask`, with its 32 bits
/// unchanged. All lanes of a warp call it.
float sluice_emulated_shuffle_xor(float value, int32_t mask);
/// Returns the block's shared memory from byte `offset` on; it has 48 KiB.
void *sluice_emulated_shared(int64_t offset);

} // extern "C"

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDABI_H
