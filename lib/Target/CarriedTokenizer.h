//===- CarriedTokenizer.h - the tokenizer in an executable ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_TARGET_CARRIEDTOKENIZER_H
#define SLUICE_LIB_TARGET_CARRIEDTOKENIZER_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>

namespace sluice {

/// The tokenizer that the module refers to, as an executable carries it; empty
/// where the model has none. Warns of tokens for which the model, whose logits
/// are of `vocabSize` tokens, has no row, and of what its chat templates use
/// and the server cannot do. Errors: readTokenizer()'s.
Expected<std::string> buildTokenizer(mlir::ModuleOp module, int64_t vocabSize);

} // namespace sluice

#endif // SLUICE_LIB_TARGET_CARRIEDTOKENIZER_H
