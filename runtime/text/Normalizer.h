//===- Normalizer.h - rewrites text before tokenization -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_NORMALIZER_H
#define SLUICE_RUNTIME_TEXT_NORMALIZER_H

#include "runtime/text/CharacterMap.h"
#include "runtime/text/Regex.h"
#include "runtime/text/TokenizerSpec.h"

namespace sluice::text {

/// Runs the normalizer's steps. Immutable and thread-safe. Characters newer
/// than Unicode 9 are normalized by the current standard, for which Hugging
/// Face's tables are too old.
class Normalizer {
public:
  /// Errors: a pattern or a character map that cannot be used.
  static Expected<Normalizer> create(const std::vector<NormalizerStep> &steps);

  /// Returns whether normalize() returns every text unchanged.
  bool isIdentity() const { return steps.empty(); }

  /// Returns `text`, which is valid UTF-8, rewritten by all steps; the result
  /// is valid UTF-8. Errors: the limits of a pattern or of the length.
  Expected<std::string> normalize(std::string text) const;

private:
  struct Step {
    NormalizerStep plain;
    std::optional<Regex> regex;
    std::optional<CharacterMap> map;
  };
  static Expected<std::string> run(const Step &step, std::string text);

  std::vector<Step> steps;
};

/// The longest text that a step may produce, in bytes.
inline constexpr size_t maxTextBytes = size_t(1) << 30;

/// Returns `text` with each occurrence of `pattern`, which is not empty,
/// replaced. Errors: the result would be longer than `limit`.
Expected<std::string> replaceAll(std::string_view text,
                                 std::string_view pattern,
                                 std::string_view content,
                                 size_t limit = maxTextBytes);

/// Returns `text` with each match of `pattern` replaced. Errors: the result
/// would be longer than `limit`, or the limits of the pattern.
Expected<std::string> replaceAll(std::string_view text, const Regex &pattern,
                                 std::string_view content,
                                 size_t limit = maxTextBytes);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_NORMALIZER_H
