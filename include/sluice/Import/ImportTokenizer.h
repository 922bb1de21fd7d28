//===- ImportTokenizer.h - reader of a module's tokenizer -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_TOKENIZER_H
#define SLUICE_IMPORT_TOKENIZER_H

#include "runtime/base/Status.h"
#include "runtime/text/TokenizerSpec.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice {

/// Reads the tokenizer that `op` refers to from the model's file. Fails if the
/// file is missing, has changed since the model was imported, or describes a
/// tokenizer that is malformed or not supported. Adds a line to `warnings`,
/// unless it is null, for each setting of the files that is ignored.
Expected<text::TokenizerSpec>
readTokenizer(ir::TokenizerOp op, std::vector<std::string> *warnings = nullptr);

} // namespace sluice

#endif // SLUICE_IMPORT_TOKENIZER_H
