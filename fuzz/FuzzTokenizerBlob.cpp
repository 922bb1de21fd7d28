//===- FuzzTokenizerBlob.cpp - fuzzes the reader of embedded tokenizers ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/Detokenizer.h"
#include "runtime/text/TokenizerBlob.h"
#include "runtime/text/Utf8.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::text;

/// What loads encodes any text, and every token streams as valid UTF-8.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<Tokenizer> tokenizer = Tokenizer::load({data, size});
  if (!tokenizer)
    return 0;
  auto ids = tokenizer->encode("Hello  w\u00F6rld 123 <s>\u3042\U0001F600\r\n",
                               true, size % 2 == 0);
  (void)tokenizer->encode(
      {reinterpret_cast<const char *>(data), std::min<size_t>(size, 256)});
  Detokenizer detokenizer(*tokenizer);
  for (int64_t id = 0; id < std::min<int64_t>(tokenizer->vocabularySize(), 300);
       ++id)
    if (!isValidUtf8(detokenizer.push(static_cast<TokenId>(id))))
      std::abort();
  if (!isValidUtf8(detokenizer.flush()))
    std::abort();
  return 0;
}
