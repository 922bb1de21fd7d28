//===- DescriptorBuilder.h - a program's descriptor from its IR -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_DESCRIPTORBUILDER_H
#define SLUICE_TARGET_DESCRIPTORBUILDER_H

#include "runtime/base/Status.h"
#include "runtime/program/ProgramDescriptor.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// The descriptor of the one `sluice.program` of a module of phase kernels.
/// Paths of files are made absolute. Errors: no program, more than
/// one, or a step function that the runtime cannot call.
Expected<ProgramDescriptor> buildDescriptor(mlir::ModuleOp kernels);

} // namespace sluice

#endif // SLUICE_TARGET_DESCRIPTORBUILDER_H
