//===- LinkedProgram.h - what emitted code gives the runtime --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler emits one object file with these symbols and links it with the
// runtime's archive, which holds main(). Any change here is a new
// SLUICE_ABI_VERSION.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_LINKEDPROGRAM_H
#define SLUICE_RUNTIME_APP_LINKEDPROGRAM_H

#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/device/cuda/CudaProgramABI.h"

#include <cstdint>

extern "C" {

/// The executable's descriptor as JSON, not terminated.
extern const char sluice_program_descriptor[];
extern const uint64_t sluice_program_descriptor_size;

/// The tokenizer, as text::serializeTokenizer writes it; size 0 when the model
/// has none.
extern const char sluice_program_tokenizer[];
extern const uint64_t sluice_program_tokenizer_size;

/// The row kernels of the executable's programs for the CPU, each once
/// (runtime/device/cpu/CpuProgramABI.h).
extern const SluiceRowKernelEntry sluice_row_kernel_table[];
extern const uint64_t sluice_row_kernel_table_size; // entries

/// The executable's programs for a GPU, one entry each, in the descriptor's
/// order (runtime/device/cuda/CudaProgramABI.h), and the kernels that they
/// launch: a fat binary, aligned to 16 bytes. The sizes are 0 where there are
/// none.
extern const SluiceGraphEntry sluice_program_graph_table[];
extern const uint64_t sluice_program_graph_table_size; // entries
extern const uint8_t sluice_program_cuda_image[];
extern const uint64_t sluice_program_cuda_image_size; // bytes

/// The other way round, what the object refers to: the runtime's.
extern const char SLUICE_ABI_SYMBOL;

} // extern "C"

#endif // SLUICE_RUNTIME_APP_LINKEDPROGRAM_H
