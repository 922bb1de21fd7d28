//===- Pipeline.cpp - the pipeline from kernels to the LLVM dialect -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Conversion/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace sluice {
#define GEN_PASS_REGISTRATION
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

void sluice::buildKernelsToLLVMPipeline(OpPassManager &pm) {
  // Kernels for the emulator become functions of the host.
  pm.addPass(createEmulateKernels());

  // Loops of one iteration and repeated address computations go before anything
  // multiplies them.
  pm.addPass(createApproximateMath());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());

  // Lowers structured control flow first: the later passes see branches only.
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createLowerViews());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());

  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void sluice::registerSluiceConversionPasses() {
  registerSluiceToNativePasses();
  PassPipelineRegistration<>(
      "sluice-kernels-to-llvm",
      "Lowers the phase kernels to the LLVM dialect, row loops, calls and all",
      buildKernelsToLLVMPipeline);
  PassPipelineRegistration<DevicePipelineOptions>(
      "sluice-kernels-to-gpu-binary",
      "Lowers each gpu.module for its chips and makes a gpu.binary of it",
      buildDevicePipeline);
}
