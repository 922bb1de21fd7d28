//===- FuzzTokenizerJson.cpp - fuzzes the reader of tokenizer.json --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Tokenizer.h"
#include "runtime/text/TokenizerBlob.h"
#include "sluice/Import/HuggingFace/TokenizerJson.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

using namespace sluice;
using namespace sluice::text;

static void check(const Status &status) {
  if (status.message().find('\n') != std::string::npos)
    std::abort();
}

/// The files that the input holds, with zero bytes between them:
/// tokenizer.json, tokenizer_config.json and added_tokens.json.
static hf::TokenizerTexts split(std::string_view input) {
  hf::TokenizerTexts texts;
  for (std::string_view *text :
       {&texts.tokenizer, &texts.config, &texts.addedTokens}) {
    const size_t end = std::min(input.find('\0'), input.size());
    *text = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return texts;
}

/// A description that is accepted survives its blob, and a tokenizer made of it
/// encodes and decodes whatever it is given.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<TokenizerSpec> spec = hf::parseTokenizerJson(
      split({reinterpret_cast<const char *>(data), size}));
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
