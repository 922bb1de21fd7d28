//===- CudaChips.h - GPU architectures to generate kernels for ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and checks lists of GPU architectures, here called chips. A chip has
// the name that LLVM and ptxas give it, such as sm_80. A letter, as in sm_90a
// or sm_100f, stands for features that later chips need not have.
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

/// A list may have this name instead of chips, to test without a GPU.
constexpr std::string_view cudaEmulator = "emulator";

/// Returns the chips that kernels are made for by default.
llvm::ArrayRef<std::string> getDefaultCudaChips();

/// Returns the chip whose PTX the driver compiles for chips without code of
/// their own. It is the one whose PTX the runtime's own kernels have. Its name
/// has no letter, and it has dependent launch: kernels of older PTX cannot
/// overlap on any chip, since each starts only when the kernel before it has
/// ended.
std::string getForwardCudaChip();

/// Parses a list such as `sm_80,sm_90a`, or `emulator`. Fails where
/// checkCudaChips() fails.
Expected<std::vector<std::string>> parseCudaChips(std::string_view list);

/// Checks a list of chips. Fails on a chip that LLVM does not know or that is
/// older than sm_80, on a name that appears twice, and on the emulator beside
/// other names.
Status checkCudaChips(llvm::ArrayRef<std::string> names);

/// Returns the target attribute of a `gpu.module` for one chip of such a list.
/// The PTX has the lowest version that knows the chip, so that as many drivers
/// as possible accept it.
mlir::Attribute getCudaTarget(mlir::MLIRContext *context, llvm::StringRef chip);

/// Returns the chip's name from such a target.
llvm::StringRef getCudaChip(mlir::Attribute target);

/// Returns whether a kernel of such a target can start before the previous
/// kernel has ended (programmatic dependent launch).
bool hasDependentLaunch(mlir::Attribute target);

} // namespace sluice

#endif // SLUICE_CONVERSION_CUDACHIPS_H
