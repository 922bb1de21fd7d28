//===- EmulatedABI.h - generated kernels in the emulator ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: the compiler can emit its kernels for the host, to run in the
// emulator (archive sluice_runtime_emulated). A kernel is a function that each
// thread of a block calls; what it needs of the device are the functions here.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDABI_H

#include <stdint.h>

extern "C" {

/// One line of an executable's table of generated kernels. As an LLVM struct:
/// { ptr, ptr }.
typedef struct SluiceEmulatedKernel {
  const char *name; ///< as sluice_graph_launch has it; ends with a zero byte
  void (*run)(const uint64_t *words);
} SluiceEmulatedKernel;

/// Emitted with --cuda-arch emulator.
extern const SluiceEmulatedKernel sluice_program_emulated_table[]
    __attribute__((weak));
extern const uint64_t sluice_program_emulated_table_size __attribute__((weak));

/// An image as an emulated device loads it, where a process has the kernels of
/// several programs: not code, but the name of a table.
typedef struct SluiceEmulatedImage {
  uint64_t magic; ///< SLUICE_EMULATED_MAGIC
  const SluiceEmulatedKernel *kernels;
  uint64_t count;
} SluiceEmulatedImage;
#define SLUICE_EMULATED_MAGIC 0x67616d69656d756cULL

/// The thread's number in its block, and the block's in the grid.
int32_t sluice_emulated_thread(void);
int32_t sluice_emulated_block(void);
/// Waits for the other threads of the block.
void sluice_emulated_barrier(void);
/// Waits for the kernel before (griddepcontrol.wait).
void sluice_emulated_wait(void);
/// `value` of the lane whose number differs by `mask`; of a whole warp. The 32
/// bits are kept as they are.
float sluice_emulated_shuffle_xor(float value, int32_t mask);
/// The block's shared memory from byte `offset` on; there are 48 KiB.
void *sluice_emulated_shared(int64_t offset);

} // extern "C"

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDABI_H
