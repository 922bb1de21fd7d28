//===- PreTokenizer.h - splits text into the model's pieces ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_PRETOKENIZER_H
#define SLUICE_RUNTIME_TEXT_PRETOKENIZER_H

#include "runtime/text/Regex.h"
#include "runtime/text/TokenizerSpec.h"

#include <deque>

namespace sluice::text {

/// The pieces of a text, in order; none is empty.
struct Pieces {
  std::vector<std::string_view> list;
  /// Holds the texts that steps have rewritten. `list` refers to these or to
  /// the given text.
  std::deque<std::string> rewritten;
  /// Whether the first piece begins where the user's text begins.
  bool atStart = false;
};

/// Runs the pre-tokenizer's steps. Immutable and thread-safe.
class PreTokenizer {
public:
  /// If `keepBytes` is set and the last step spells bytes as characters, that
  /// spelling is left out and the pieces are plain bytes. Errors: a pattern
  /// that cannot be used.
  static Expected<PreTokenizer>
  create(const std::vector<PreTokenizerStep> &steps, bool keepBytes);

  /// Returns whether the pieces are plain bytes instead of their spelling.
  bool givesBytes() const { return bytes; }

  /// Splits `text` (valid UTF-8, which must outlive the pieces). `atStart` says
  /// whether it is the start of the user's text. Errors: a pattern's limits.
  Expected<Pieces> split(std::string_view text, bool atStart) const;

private:
  struct Step {
    PreTokenizerStep plain;
    std::optional<Regex> regex;
  };
  static Status run(const Step &step, bool spell, Pieces &pieces);

  std::vector<Step> steps;
  bool bytes = false;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_PRETOKENIZER_H
