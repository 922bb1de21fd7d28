//===- JsonBody.h - JSON from outside -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_JSONBODY_H
#define SLUICE_RUNTIME_OPENAI_JSONBODY_H

#include "runtime/openai/ApiRequest.h"
#include "runtime/openai/FieldReader.h"
#include "runtime/text/JsonTree.h"

namespace sluice::openai {

/// Reads JSON in UTF-8 within the limits on size, depth, number of values and
/// memory, in a time in proportion to its length. The last one counts where an
/// object has a key twice. Errors: 400, or 413 for the size and the memory.
/// They name the byte, or the field of a number that no double can hold; `path`
/// is that of the value as a whole.
ApiExpected<text::JsonTree> parseJson(std::string_view text,
                                      const RequestLimits &limits,
                                      std::string_view path = "");

/// The same for a request's body, which must be an object.
ApiExpected<text::JsonTree> parseBody(std::string_view body,
                                      const RequestLimits &limits);

/// JSON on one line.
std::string dumpJson(const ordered_json &value);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_JSONBODY_H
