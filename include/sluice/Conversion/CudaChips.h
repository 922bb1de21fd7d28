//===- CudaChips.h - the chips that kernels are generated for -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chips go by the names that LLVM and ptxas have for them: sm_80, or with the
// letter of features that later chips need not have, sm_90a and sm_100f.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_CONVERSION_CUDACHIPS_H
#define SLUICE_CONVERSION_CUDACHIPS_H

#include "runtime/base/Status.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/MLIRContext.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What a list of chips says instead of any, to test without a GPU.
constexpr std::string_view cudaEmulator = "emulator";

/// The chips that kernels are made for where nobody says which.
llvm::ArrayRef<std::string> getDefaultCudaChips();

/// The chip whose PTX serves those that there is no code for: the one whose PTX
/// the runtime's own kernels have. Without a letter, and with dependent launch:
/// kernels of older PTX start one behind the end of the other wherever they
/// run.
std::string getForwardCudaChip();

/// Reads a list as `sm_80,sm_90a`, or `emulator`. Errors: checkCudaChips'.
Expected<std::vector<std::string>> parseCudaChips(std::string_view list);

/// Errors: a name that is no chip from sm_80 on that LLVM knows, or is there
/// twice; the emulator beside others.
Status checkCudaChips(llvm::ArrayRef<std::string> names);

/// What a `gpu.module` has for a chip of such a list. The PTX is of the least
/// version that has the chip, so that as many drivers as possible take it.
mlir::Attribute getCudaTarget(mlir::MLIRContext *context, llvm::StringRef chip);

/// The chip's name in such a target.
llvm::StringRef getCudaChip(mlir::Attribute target);

/// Whether kernels of such a target can start before the one before has ended.
bool hasDependentLaunch(mlir::Attribute target);

} // namespace sluice

#endif // SLUICE_CONVERSION_CUDACHIPS_H
