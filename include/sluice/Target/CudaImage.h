//===- CudaImage.h - what a GPU loads of an executable ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_CUDAIMAGE_H
#define SLUICE_TARGET_CUDAIMAGE_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace sluice {

/// The folder of the CUDA toolkit whose bin has ptxas and fatbinary: `given` if
/// it is not empty, else $CUDA_PATH if it is set, else where PATH has ptxas.
/// Errors: it has not both.
Expected<std::string> findCudaToolkit(const std::string &given);

/// Compiles the kernels of a module of phase kernels for the chips that it
/// names, with ptxas and fatbinary of the toolkit, and adds the PTX of
/// getForwardCudaChip() for others. Nothing where there are no kernels for
/// chips. The module stays as it is.
Expected<std::string> buildCudaImage(mlir::ModuleOp kernels,
                                     const std::string &toolkit);

/// Whether a module of phase kernels has kernels for chips.
bool hasCudaChips(mlir::ModuleOp kernels);

/// The chips that the kernels of such a module are for, or the emulator; empty
/// where there are no kernels.
std::vector<std::string> getCudaChips(mlir::ModuleOp kernels);

} // namespace sluice

#endif // SLUICE_TARGET_CUDAIMAGE_H
