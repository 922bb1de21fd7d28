//===- Regex.h - regular expressions over UTF-8 ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Wraps PCRE2. A pattern is compiled once, and runs with limits on steps and
// memory, so that no pattern and no text can make it hang or overflow.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_REGEX_H
#define SLUICE_RUNTIME_TEXT_REGEX_H

#include "runtime/base/Status.h"

#include <memory>
#include <string_view>
#include <vector>

namespace sluice::text {

/// The bytes [begin, end) of a text.
struct Span {
  size_t begin = 0;
  size_t end = 0;
};

/// A compiled pattern. Immutable, cheap to copy, thread-safe.
class Regex {
public:
  /// Compiles a pattern in Oniguruma's syntax. Errors: the pattern is invalid
  /// or uses an unsupported construct.
  static Expected<Regex> fromOniguruma(std::string_view pattern);

  /// Compiles one of the project's own patterns, in PCRE2's syntax.
  static Expected<Regex> fromPcre2(std::string_view pattern);

  /// Appends every match in `text` (valid UTF-8) from left to right, except for
  /// an empty match directly after another match. Errors: the limit on steps or
  /// memory is reached.
  Status findAll(std::string_view text, std::vector<Span> &matches) const;

private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code);

  std::shared_ptr<const Code> code;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_REGEX_H
