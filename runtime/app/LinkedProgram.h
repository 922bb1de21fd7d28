//===- LinkedProgram.h - the symbols of emitted code ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the symbols of the object file that the compiler emits and links
// with the runtime's archive, which contains main(). Any change here needs a
// new SLUICE_ABI_VERSION.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_LINKEDPROGRAM_H
#define SLUICE_RUNTIME_APP_LINKEDPROGRAM_H

#include "runtime/device/cpu/CpuProgramABI.h"

#include <cstdint>

extern "C" {

/// The executable's descriptor as JSON, without a terminating zero.
extern const char sluice_program_descriptor[];
extern const uint64_t sluice_program_descriptor_size;

/// The tokenizer, as written by text::serializeTokenizer; its size is 0 if the
/// model has none.
extern const char sluice_program_tokenizer[];
extern const uint64_t sluice_program_tokenizer_size;

/// The row kernels of the executable's programs for CPUs, each once
/// (runtime/device/cpu/CpuProgramABI.h).
extern const SluiceRowKernelEntry sluice_row_kernel_table[];
extern const uint64_t sluice_row_kernel_table_size; // entries

/// The generated kernels of the executable's programs for GPUs, as a fat binary
/// aligned to 16 bytes. The size is 0 if there are none.
extern const uint8_t sluice_program_cuda_image[];
extern const uint64_t sluice_program_cuda_image_size; // bytes

/// The runtime's symbol to which the object refers.
extern const char SLUICE_ABI_SYMBOL;

} // extern "C"

#endif // SLUICE_RUNTIME_APP_LINKEDPROGRAM_H
