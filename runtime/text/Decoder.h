//===- Decoder.h - decodes token ids to text ------------------------------===//
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

/// The position of a decoder in one text. A new state is at the start.
struct DecoderState {
  /// Whether a run of <0xHH> tokens is held back until it ends.
  bool keepRuns = false;
  bool started = false; ///< a token has come
  /// The bytes in `pending` came from <0xHH> tokens.
  bool fromByteTokens = false;
  std::string pending; ///< bytes that are not a whole character yet
  /// For each Strip step: how many characters it has dropped.
  std::vector<uint32_t> stripped;
  /// For each Strip step: text that may be dropped at the end.
  std::vector<std::string> held;
};

/// Runs the decoder's steps on tokens as they come. Immutable and thread-safe.
///
/// The text is that of Hugging Face's decoders, with one exception. If a run of
/// <0xHH> tokens is not UTF-8, they replace all of it, even its valid
/// characters. That is only known when the run has ended, so only a state with
/// `keepRuns` does the same. Any other state gives characters as they come, and
/// U+FFFD for each byte that belongs to no character.
class Decoder {
public:
  /// Errors: a pattern that cannot be used, or an order of steps that cannot be
  /// run token by token.
  static Expected<Decoder> create(const std::vector<DecoderStep> &steps);

  /// Returns the text that the token spelled `token` completes.
  std::string push(std::string_view token, DecoderState &state) const;

  /// Returns the text that is left, and makes `state` new again.
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

  std::vector<Step> tokenSteps; // run on each token alone
  // Run on the text after Fuse: Strip, and ReplaceString of one character.
  std::vector<Step> textSteps;
  bool joinWithSpaces = false;
  bool byteLevel = false;
  bool byteFallback = false;
  size_t stepsBeforeFallback = 0;
  bool fused = false;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_DECODER_H
