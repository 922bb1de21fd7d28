//===- Decoder.h - from tokens back to text -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_DECODER_H
#define SLUICE_RUNTIME_TEXT_DECODER_H

#include "runtime/text/Regex.h"
#include "runtime/text/TokenizerSpec.h"

namespace sluice::text {

/// Where a decoder is in one text. Starts empty.
struct DecoderState {
  /// Whether a run of <0xHH> tokens is kept until it ends.
  bool keepRuns = false;
  bool started = false;           ///< a token has come
  bool fromByteTokens = false;    ///< what `pending` holds came from <0xHH>
  std::string pending;            ///< bytes that are no whole character yet
  std::vector<uint32_t> stripped; ///< for each Strip: characters dropped
  std::vector<std::string> held;  ///< for each Strip: what may be the end
};

/// The decoder's steps, ready to run on tokens as they come. Immutable and
/// thread-safe.
///
/// The text is that of Hugging Face's decoders. They replace a run of <0xHH>
/// tokens that is not UTF-8 as a whole, good characters too. That is not known
/// before the run has ended, so only a state with `keepRuns` does the same; any
/// other gives characters as they come, and U+FFFD for each byte of no
/// character.
class Decoder {
public:
  /// Errors: a pattern that cannot be used, or an order of steps that cannot
  /// be run token by token.
  static Expected<Decoder> create(const std::vector<DecoderStep> &steps);

  /// The text that the token spelt `token` completes.
  std::string push(std::string_view token, DecoderState &state) const;

  /// The text that is left; `state` is empty again.
  std::string flush(DecoderState &state) const;

private:
  struct Step {
    DecoderStep plain;
    std::optional<Regex> regex;
  };
  Status addTokenStep(const DecoderStep &plain);
  Status addTextStep(const DecoderStep &plain);
  static std::string applyToToken(const Step &step, std::string token,
                                  bool first);
  static std::string completeCharacters(DecoderState &state,
                                        std::string_view bytes, bool byteToken);
  static std::string endRun(DecoderState &state);
  std::string applyToText(std::string text, DecoderState &state) const;

  std::vector<Step> tokenSteps; // each token alone
  std::vector<Step> textSteps;  // behind Fuse: Strip, and ReplaceString of one
                                // character
  bool joinWithSpaces = false;
  bool byteLevel = false;
  bool byteFallback = false;
  size_t stepsBeforeFallback = 0;
  bool fused = false;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_DECODER_H
