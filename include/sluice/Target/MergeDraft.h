//===- MergeDraft.h - merging of a draft into its target's module ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_MERGEDRAFT_H
#define SLUICE_TARGET_MERGEDRAFT_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// The name of a merged draft's `sluice.model`.
constexpr llvm::StringLiteral draftModelName = "draft";

/// Moves the content of `draft` into `target`; both are modules of phase model.
/// The draft's model becomes `@draft`, and its files, weights and tokenizer get
/// names that begin with "draft.". `draft` is empty afterwards. Fails, and
/// leaves `target` unchanged, if a module does not have exactly one model or if
/// the target already has one of the names.
Status mergeDraft(mlir::ModuleOp target, mlir::ModuleOp draft);

} // namespace sluice

#endif // SLUICE_TARGET_MERGEDRAFT_H
