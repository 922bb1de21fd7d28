//===- CommonFields.h - what completions and chats have in common ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_COMMONFIELDS_H
#define SLUICE_RUNTIME_OPENAI_COMMONFIELDS_H

#include "runtime/openai/ApiRequest.h"
#include "runtime/openai/FieldReader.h"

namespace sluice::openai {

/// The fields that both endpoints have, and that are not in a
/// GenerationRequest.
struct CommonFields {
  /// Of each choice, but for its prompt, its seed and maxTokens.
  RequestSpec spec;
  uint64_t seed = 0; ///< of the first choice
  int32_t priority = 0;
  bool ignoreEnd = false; ///< ignore_eos
};

/// The 404 of a request for another model.
ApiError unknownModel(std::string_view name);

/// Reads `model`. Errors: 404 for another one than there is.
ApiStatus readModel(FieldReader &fields, const Model &model, std::string &name);

/// Reads what both endpoints have, into `request` as well: sampling, streaming,
/// stops, `n`. Refuses what neither supports.
ApiExpected<CommonFields> readCommonFields(const ordered_json &body,
                                           const RequestContext &context,
                                           GenerationRequest &request);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_COMMONFIELDS_H
