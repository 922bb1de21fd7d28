//===- NativeObject.h - native code from the phase kernels ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_NATIVEOBJECT_H
#define SLUICE_TARGET_NATIVEOBJECT_H

#include "runtime/base/Status.h"
#include "sluice/Target/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace sluice {

/// What an object file holds beside the code (runtime/app/LinkedProgram.h).
struct ProgramData {
  std::string descriptor; // ExecutableDescriptor as JSON
  std::string tokenizer;  // text::serializeTokenizer's bytes, or empty
  std::string cudaImage;  // buildCudaImage's bytes, or empty
};

/// Lowers the code of `kernels` to LLVM IR, optimises it for `target` and
/// returns an ELF object with the row kernels, their tables and `data`; with
/// kernels for the emulator, with these too. The module itself stays as it is.
Expected<llvm::SmallVector<char, 0>> emitObject(mlir::ModuleOp kernels,
                                                const ProgramData &data,
                                                const CpuTarget &target);

} // namespace sluice

#endif // SLUICE_TARGET_NATIVEOBJECT_H
