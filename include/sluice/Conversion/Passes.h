//===- Passes.h - conversions from the dialect sluice to LLVM -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a module from the phase `plan` to LLVM:
//
//   mlir::PassManager pm(context);
//   pm.addPass(sluice::createConvertSluiceToCPU());
//   sluice::buildKernelsToLLVMPipeline(pm);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_CONVERSION_PASSES_H
#define SLUICE_CONVERSION_PASSES_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace sluice {

#define GEN_PASS_DECL
#include "sluice/Conversion/Passes.h.inc"

/// Lowers a module of the phase `kernels` to the LLVM dialect. The module-level
/// ops of the dialect sluice stay, and so do kernels for a GPU; the caller must
/// drop both before it translates the module to LLVM IR. Kernels for the
/// emulator become functions.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &pm);

/// Returns the name of the function that an emulated kernel becomes.
std::string getEmulatedName(llvm::StringRef kernel);

struct DevicePipelineOptions
    : mlir::PassPipelineOptions<DevicePipelineOptions> {
  Option<std::string> format{
      *this, "format", llvm::cl::init("isa"),
      llvm::cl::desc("What to make: isa (PTX), or bin, with ptxas")};
  Option<std::string> toolkit{
      *this, "toolkit", llvm::cl::init(""),
      llvm::cl::desc("The CUDA toolkit's folder, for bin")};
};

/// Lowers each `gpu.module` to a `gpu.binary`. Either all chips of a module
/// have dependent launch (hasDependentLaunch()) or none has.
void buildDevicePipeline(mlir::OpPassManager &pm,
                         const DevicePipelineOptions &options);

/// Registers the passes of this folder, and the pipelines above as
/// `sluice-kernels-to-llvm` and `sluice-kernels-to-gpu-binary`. Not
/// thread-safe.
void registerSluiceConversionPasses();

} // namespace sluice

#endif // SLUICE_CONVERSION_PASSES_H
