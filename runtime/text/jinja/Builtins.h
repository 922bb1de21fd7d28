//===- Builtins.h - filters, tests, methods and functions -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a template can call by name. Everything is found when the template is
// compiled, so that a name that is missing here is refused then.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_BUILTINS_H
#define SLUICE_RUNTIME_TEXT_JINJA_BUILTINS_H

#include "runtime/text/jinja/Runtime.h"

#include <array>
#include <span>

namespace sluice::text::jinja {

inline constexpr size_t maxParameters = 4;

/// A filter, a test or a method: it has a subject, and parameters that can be
/// given by place or by name.
struct Builtin {
  std::string_view name;
  /// arguments[0] is the subject, arguments[i + 1] that of parameters[i] or
  /// Missing. Null: known to Python, not supported here.
  Value (*run)(Runtime &runtime, std::span<const Value> arguments);
  size_t required = 0;
  std::array<std::string_view, maxParameters> parameters{};

  size_t parameterCount() const;

  /// run(), with the reading of the arguments' texts counted: none of them is
  /// gone through more often than a fixed number of times, but by a search.
  Value call(Runtime &runtime, std::span<const Value> arguments) const;
};

/// A filter or test, or nullptr. Filters that take another's name (map, select
/// and the like) are not among them: see Select in Ast.h.
const Builtin *findFilter(std::string_view name);
const Builtin *findTest(std::string_view name);

/// A method of strings, lists or dicts; each name belongs to one of them.
struct Method {
  Value::Kind owner;
  Builtin builtin;

  bool isOf(const Value &object) const;
  /// Whether it would change its object, which Jinja's sandbox forbids.
  bool changesObject() const;
};

const Method *findMethod(std::string_view name);

/// What a call gives.
struct ArgumentValues {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
};

/// A global function.
struct BuiltinFunction {
  std::string_view name;
  Value (*run)(Runtime &runtime, const ArgumentValues &arguments);
};

std::span<const BuiltinFunction> globalFunctions();

/// The integers that range(...) gives: start, start + step, ...
struct RangeItems {
  Integer start = 0;
  Integer step = 1;
  size_t size = 0;
};

/// Those of a call with these arguments. Fails where Python would, and beyond
/// 100,000 items.
RangeItems rangeItems(Runtime &runtime, const ArgumentValues &arguments);
/// Whether the function is `range`.
bool isRange(const BuiltinFunction &function);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_BUILTINS_H
