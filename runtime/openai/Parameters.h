//===- Parameters.h - fields that are refused, and harmless ones ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fields of OpenAI's API and of vLLM's, SGLang's and llama.cpp's servers that
// this one does not do. Two tables (Parameters.cpp): those that would change
// the answer are refused, unless they have the value that changes nothing;
// those that would not are left out of account, as is what is in neither.
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
  /// Values, as JSON with `|` between them, that change nothing; null always
  /// does not, nor do "", [] and {}.
  std::string_view neutral = {};
  std::string_view hint = {}; ///< what to do instead
  Where where = Where::Both;
};

std::span<const RefusedParameter> refusedParameters();

/// Accepted with any value and without effect.
std::span<const std::string_view> harmlessParameters();

/// An error for the first refused field that an object has.
ApiStatus checkParameters(const ordered_json &request, Endpoint endpoint);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_PARAMETERS_H
