//===- GenerationJson.h - a generation as JSON ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_GENERATIONJSON_H
#define SLUICE_RUNTIME_APP_GENERATIONJSON_H

#include "runtime/app/Generator.h"
#include "runtime/text/JsonWriter.h"

namespace sluice::app {

void writeIds(text::JsonWriter &json, std::span<const int32_t> tokens);

/// Writes the members of the object that describes a generation. `text` is null
/// if the model has no tokenizer.
void writeGeneration(text::JsonWriter &json, const Generation &result,
                     const GenerateOptions &options, const std::string *text);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_GENERATIONJSON_H
