//===- InitAll.h - registration of dialects and passes --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_INITALL_H
#define SLUICE_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sluice {

/// Registers the dialect sluice and every upstream dialect and extension that
/// its phases or their translation to LLVM IR use.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the project's passes and pipelines, and upstream's. Not
/// thread-safe; call once per process.
void registerAllPasses();

} // namespace sluice

#endif // SLUICE_INITALL_H
