//===- Print.h - values as text -----------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_PRINT_H
#define SLUICE_RUNTIME_TEXT_JINJA_PRINT_H

#include "runtime/text/jinja/Runtime.h"

#include <optional>

namespace sluice::text::jinja {

/// What `{{ value }}` writes, which is Python's str(value). Undefined is
/// nothing. Fails for what Python prints with an address or in a form of its
/// own: macros, namespaces, generators, ranges, views of dicts.
std::string toText(Runtime &runtime, const Value &value);

std::string printInteger(Integer value);

/// Python's repr(value): the fewest digits that give the number back.
std::string printFloat(double value);

/// How tojson writes.
struct JsonStyle {
  bool ensureAscii = false;
  bool sortKeys = false;
  /// What one level is indented by; with none, all is on one line.
  std::optional<std::string> indent;
  std::string itemSeparator = ", ";
  std::string keySeparator = ": ";
};

/// What Python's json.dumps(value) gives in that style. Fails for values that
/// JSON has not.
std::string toJson(Runtime &runtime, const Value &value,
                   const JsonStyle &style);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_PRINT_H
