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

/// Returns the tokenizer that the module refers to, in the form that an
/// executable carries, or an empty string if the model has none. Warns of
/// tokens that are outside the model's logits of `vocabSize` tokens, and of
/// features of its chat templates that the server does not support. Fails where
/// readTokenizer() fails.
Expected<std::string> buildTokenizer(mlir::ModuleOp module, int64_t vocabSize);

} // namespace sluice

#endif // SLUICE_LIB_TARGET_CARRIEDTOKENIZER_H
