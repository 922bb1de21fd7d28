//===- JsonBody.h - parsing of untrusted JSON -----------------------------===//
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

/// Parses JSON in UTF-8 within the limits on size, depth, number of values and
/// memory, in time proportional to its length. If an object has a key twice,
/// the last value counts. Fails with 400, or with 413 for size and memory. The
/// error names the byte, or the field of a number that does not fit a double;
/// `path` is the path of the whole value.
ApiExpected<text::JsonTree> parseJson(std::string_view text,
                                      const RequestLimits &limits,
                                      std::string_view path = "");

/// Like parseJson(), for a request's body, which must be an object.
ApiExpected<text::JsonTree> parseBody(std::string_view body,
                                      const RequestLimits &limits);

/// Returns the JSON text of a value on one line.
std::string dumpJson(const ordered_json &value);

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_JSONBODY_H
