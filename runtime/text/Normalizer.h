//===- Normalizer.h - rewrites text before it is cut ----------------------===//
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

/// The normalizer's steps, ready to run. Immutable and thread-safe. Characters
/// newer than Unicode 9 are normalized as the standard says, which Hugging
/// Face's tables are too old for.
class Normalizer {
public:
  /// Errors: a pattern or a character map that cannot be used.
  static Expected<Normalizer> create(const std::vector<NormalizerStep> &steps);

  /// Whether normalize gives every text back as it is.
  bool isIdentity() const { return steps.empty(); }

  /// `text`, valid UTF-8, rewritten by all steps; the result is valid UTF-8.
  /// Errors: a pattern's limits.
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

/// The longest text that a step may make.
inline constexpr size_t maxTextBytes = size_t(1) << 30;

/// `text` with every occurrence of `pattern` (not empty) replaced. Errors: the
/// result would be longer than `limit`.
Expected<std::string> replaceAll(std::string_view text,
                                 std::string_view pattern,
                                 std::string_view content,
                                 size_t limit = maxTextBytes);

/// `text` with every match replaced. Errors: the pattern's limits too.
Expected<std::string> replaceAll(std::string_view text, const Regex &pattern,
                                 std::string_view content,
                                 size_t limit = maxTextBytes);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_NORMALIZER_H
