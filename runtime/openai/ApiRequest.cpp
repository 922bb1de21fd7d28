//===- ApiRequest.cpp - what a client asks for ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ApiRequest.h"

using namespace sluice;
using namespace sluice::openai;

int64_t GenerationRequest::heldBytes() const {
  auto bytesOf = [](const std::vector<int32_t> &tokens) {
    return tokens.size() * sizeof(int32_t);
  };
  size_t bytes = cacheSalt.size() + requests.size() * sizeof(ScheduledRequest);
  for (const ScheduledRequest &each : requests)
    bytes += bytesOf(each.spec.prompt);
  // All choices share the text of the grammar.
  if (!requests.empty())
    bytes += requests[0].spec.grammar.text().size();
  for (const std::vector<int32_t> &ids : promptIds)
    bytes += bytesOf(ids);
  for (const std::vector<std::string> *texts : {&echo, &stops})
    for (const std::string &text : *texts)
      bytes += text.size();
  return static_cast<int64_t>(bytes);
}
