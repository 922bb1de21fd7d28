//===- Parameters.h - tables of refused and of harmless fields ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fields of the APIs of OpenAI, vLLM, SGLang and llama.cpp that this server
// does not support. Parameters.cpp has two tables: fields that would change the
// answer are refused, unless they have a value that changes nothing; fields
// that would not are ignored, as are all unknown ones.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_PARAMETERS_H
#define SLUICE_RUNTIME_OPENAI_PARAMETERS_H

#include "runtime/openai/ApiRequest.h"
#include "runtime/openai/FieldReader.h"

#include <span>

namespace sluice::openai {

struct RefusedParameter {
  enum class Where : uint8_t { Both, Completions, Chat };
  std::string_view name;
  /// The values that change nothing, as JSON separated by `|`; null, "", [] and
  /// {} never change anything.
  std::string_view neutral = {};
  std::string_view hint = {}; ///< what the client should do instead
  Where where = Where::Both;
};

std::span<const RefusedParameter> refusedParameters();

/// Fields that may have any value and have no effect.
std::span<const std::string_view> harmlessParameters();

/// Fails if an object has a refused field; names the first one.
ApiStatus checkParameters(const ordered_json &request, Endpoint endpoint);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_PARAMETERS_H
