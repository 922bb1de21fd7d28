//===- Detokenizer.h - text from a stream of token ids --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Detokenizer detokenizer(tokenizer);
//   for (TokenId id : generated)
//     print(detokenizer.push(id));      // whole characters only
//   print(detokenizer.flush());
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_DETOKENIZER_H
#define SLUICE_RUNTIME_TEXT_DETOKENIZER_H

#include "runtime/text/Decoder.h"
#include "runtime/text/Tokenizer.h"

namespace sluice::text {

/// Turns tokens into text as they come. What push and flush return, put
/// together, is decode() of all the tokens, except where <0xHH> tokens do not
/// make up characters (see Decoder). Not thread-safe; one a sequence.
class Detokenizer {
public:
  explicit Detokenizer(Tokenizer tokenizer, bool skipSpecial = false);

  /// The text that `id` completes: valid UTF-8 that never ends inside a
  /// character; often empty.
  std::string push(TokenId id);

  /// The rest: a character that was never completed becomes U+FFFD. The next
  /// push starts a new text.
  std::string flush();

private:
  Tokenizer tokenizer;
  bool skipSpecial;
  DecoderState state;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_DETOKENIZER_H
