//===- CudaImage.h - the kernels that an executable carries ---------------===//
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

/// Returns the folder of the CUDA toolkit: `given` if it is not empty, else
/// $CUDA_PATH if it is set, else the one whose ptxas is in PATH. Fails if the
/// folder's bin lacks ptxas or fatbinary.
Expected<std::string> findCudaToolkit(const std::string &given);

/// Compiles the kernels of a module of phase kernels for the chips that the
/// module names, with ptxas and fatbinary of the toolkit, and adds the PTX of
/// getForwardCudaChip() for other chips. Returns an empty string if there are
/// no kernels for chips. Does not change the module.
Expected<std::string> buildCudaImage(mlir::ModuleOp kernels,
                                     const std::string &toolkit);

/// Returns whether a module of phase kernels has kernels for chips.
bool hasCudaChips(mlir::ModuleOp kernels);

/// Returns the chips, or the emulator, that the kernels of such a module are
/// for. Empty if there are no kernels.
std::vector<std::string> getCudaChips(mlir::ModuleOp kernels);

} // namespace sluice

#endif // SLUICE_TARGET_CUDAIMAGE_H
