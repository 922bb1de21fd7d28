//===- MergeDraft.h - a draft model beside its target ---------------------===//
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

/// What a merged draft's `sluice.model` is called.
constexpr llvm::StringLiteral draftModelName = "draft";

/// Moves what `draft` holds into `target`, both modules of phase model: its
/// model becomes `@draft`, and its files, weights and tokenizer get names that
/// begin with "draft.". `draft` is empty afterwards. Errors: a module with more
/// or less than one model, a name that the target has as well; the target is
/// then as before.
Status mergeDraft(mlir::ModuleOp target, mlir::ModuleOp draft);

} // namespace sluice

#endif // SLUICE_TARGET_MERGEDRAFT_H
