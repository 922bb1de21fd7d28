//===- CommonFields.h - the fields of both kinds of requests --------------===//
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

/// The fields that completions and chats share and that a GenerationRequest
/// does not have.
struct CommonFields {
  /// For each choice, without its prompt, seed and maxTokens.
  RequestSpec spec;
  uint64_t seed = 0; ///< of the first choice
  int32_t priority = 0;
  bool ignoreEnd = false; ///< ignore_eos
};

/// Returns the 404 for a request to another model.
ApiError unknownModel(std::string_view name);

/// Reads `model`. Fails with 404 if it is not this model.
ApiStatus readModel(FieldReader &fields, const Model &model, std::string &name);

/// Reads the fields that completions and chats share, partly into `request`:
/// sampling, streaming, stops, `n`. Refuses fields that neither supports.
ApiExpected<CommonFields> readCommonFields(const ordered_json &body,
                                           const RequestContext &context,
                                           GenerationRequest &request);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_COMMONFIELDS_H
