//===- FuzzTokenizerJson.cpp - fuzzes the reader of tokenizer.json --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Tokenizer.h"
#include "runtime/text/TokenizerBlob.h"
#include "sluice/Import/HuggingFace/TokenizerJson.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::text;

static void check(const Status &status) {
  if (status.message().find('\n') != std::string::npos)
    std::abort();
}

/// A description that is accepted survives its blob, and a tokenizer made of it
/// encodes and decodes whatever it is given.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<TokenizerSpec> spec =
      hf::parseTokenizerJson({reinterpret_cast<const char *>(data), size}, "");
  check(spec.status());
  if (!spec)
    return 0;
  std::vector<uint8_t> blob = serializeTokenizer(*spec);
  Expected<TokenizerSpec> again = parseTokenizer(blob);
  if (!again || serializeTokenizer(*again) != blob)
    std::abort();
  Expected<Tokenizer> tokenizer = Tokenizer::create(spec.take());
  check(tokenizer.status());
  if (!tokenizer)
    return 0;
  for (std::string_view text : {"Hello  w\u00F6rld 123 <s>\u3042\U0001F600\r\n",
                                "aaaaaaaaaaaaaaaaaaaaaaaa", " ", ""}) {
    auto ids = tokenizer->encode(text);
    check(ids.status());
    if (ids)
      (void)tokenizer->decode(*ids, true);
  }
  return 0;
}
