//===- Detokenizer.h - converts a stream of token ids to text -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the tokens of a sequence to text as they come:
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

/// Decodes one sequence. The texts that push() and flush() return add up to
/// decode() of all its tokens, except if <0xHH> tokens are not valid UTF-8 (see
/// Decoder). Not thread-safe.
class Detokenizer {
public:
  explicit Detokenizer(Tokenizer tokenizer, bool skipSpecial = false);

  /// Returns the text that `id` completes: valid UTF-8 that never ends inside a
  /// character, and is often empty.
  std::string push(TokenId id);

  /// Returns the rest of the text, with U+FFFD for a character that was not
  /// completed. The next push() starts a new text.
  std::string flush();

private:
  Tokenizer tokenizer;
  bool skipSpecial;
  DecoderState state;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_DETOKENIZER_H
