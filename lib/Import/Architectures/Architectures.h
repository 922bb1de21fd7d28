//===- Architectures.h - the supported architectures ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_ARCHITECTURES_ARCHITECTURES_H
#define SLUICE_LIB_IMPORT_ARCHITECTURES_ARCHITECTURES_H

#include "sluice/Import/Model/Architecture.h"

namespace sluice::importer {

const Architecture &falcon();
const Architecture &gpt2();
const Architecture &gptj();
const Architecture &gptNeoX();
const Architecture &llama();
const Architecture &qwen2();

} // namespace sluice::importer

#endif // SLUICE_LIB_IMPORT_ARCHITECTURES_ARCHITECTURES_H
