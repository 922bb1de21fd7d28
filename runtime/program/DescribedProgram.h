//===- DescribedProgram.h - a GPU's program from its descriptor -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_DESCRIBEDPROGRAM_H
#define SLUICE_RUNTIME_PROGRAM_DESCRIBEDPROGRAM_H

#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/program/MappedModelFiles.h"

namespace sluice::cuda {

/// Returns the program that a valid `descriptor` of target Cuda describes,
/// without its kernels: the caller fills in `image`. The weights refer to
/// `files`, which must outlive the program. If `files` is null, the weights
/// have shapes but no content, which is enough to plan memory and to describe
/// graphs.
CudaProgram describedProgram(const ProgramDescriptor &descriptor,
                             const MappedModelFiles *files);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_PROGRAM_DESCRIBEDPROGRAM_H
