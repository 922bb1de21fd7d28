//===- Generate.h - from a prompt to text or a score ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_GENERATE_H
#define SLUICE_TOOLS_SLUICE_RUN_GENERATE_H

#include "Session.h"
#include "runtime/app/JsonWriter.h"

#include <chrono>

namespace sluice::run {

using Clock = std::chrono::steady_clock;

/// Continues the prompt and writes the text as it comes (the ids, where the
/// model has no tokenizer), or one JSON object at the end. `start` is when the
/// process began.
Status generate(Session &session, const Options &options,
                Clock::time_point start);

/// Writes how probable the model finds the prompt's tokens 1 to n-1.
Status score(Session &session, const Options &options);

/// Writes token ids as a JSON array.
void writeIds(app::JsonWriter &json, std::span<const int32_t> ids);

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_GENERATE_H
