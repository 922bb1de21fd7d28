//===- Print.h - converts values to text ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_PRINT_H
#define SLUICE_RUNTIME_JINJA_PRINT_H

#include "runtime/jinja/Runtime.h"

#include <optional>

namespace sluice::text::jinja {

/// Returns what `{{ value }}` writes, which is Python's str(value); empty for
/// Undefined. Fails for values that Python prints with an address or in a
/// special form: macros, namespaces, generators, ranges, views of dicts.
std::string toText(Runtime &runtime, const Value &value);

std::string printInteger(Integer value);

/// Returns Python's repr(value): the fewest digits that read back as the same
/// number.
std::string printFloat(double value);

/// The style in which tojson writes.
struct JsonStyle {
  bool ensureAscii = false;
  bool sortKeys = false;
  /// The indentation of one level; if not set, all is on one line.
  std::optional<std::string> indent;
  std::string itemSeparator = ", ";
  std::string keySeparator = ": ";
};

/// Returns Python's json.dumps(value) in that style. Fails for values that JSON
/// cannot express.
std::string toJson(Runtime &runtime, const Value &value,
                   const JsonStyle &style);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_PRINT_H
