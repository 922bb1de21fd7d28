//===- DescriptorBuilder.h - a descriptor from the phase kernels ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_DESCRIPTORBUILDER_H
#define SLUICE_TARGET_DESCRIPTORBUILDER_H

#include "runtime/base/Status.h"
#include "runtime/program/ExecutableDescriptor.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Returns the descriptor of the programs of `kernels`, a verified module of
/// phase kernels. Paths of files are made absolute. A program without a
/// `sluice.deployment` is the only stage. Errors: a row kernel that the runtime
/// cannot call; a rank on a device that the module's cluster does not have.
Expected<ExecutableDescriptor> buildDescriptor(mlir::ModuleOp kernels);

} // namespace sluice

#endif // SLUICE_TARGET_DESCRIPTORBUILDER_H
