//===- Builtins.h - filters, tests, methods and functions -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The filters, tests, methods and functions that a template can call by name.
// Names are resolved when the template is compiled, so an unknown name is
// noticed then.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_BUILTINS_H
#define SLUICE_RUNTIME_JINJA_BUILTINS_H

#include "runtime/jinja/Runtime.h"

#include <array>
#include <span>

namespace sluice::text::jinja {

inline constexpr size_t maxParameters = 4;

/// A filter, test or method. It has a subject, and parameters that can be given
/// by position or by name.
struct Builtin {
  std::string_view name;
  /// Runs the builtin. arguments[0] is the subject; arguments[i + 1] is the
  /// value of parameters[i], or Missing. Null if Python has this builtin but it
  /// is not supported here.
  Value (*run)(Runtime &runtime, std::span<const Value> arguments);
  size_t required = 0;
  std::array<std::string_view, maxParameters> parameters{};

  size_t parameterCount() const;

  /// Calls run(), after counting the reading of the arguments' texts. No
  /// builtin reads them more than a fixed number of times, except for searches,
  /// which count their own work.
  Value call(Runtime &runtime, std::span<const Value> arguments) const;
};

/// Return a filter or test; null if there is none. Filters that take the name
/// of another filter (map, select and the like) are not among them: see Select
/// in Ast.h.
const Builtin *findFilter(std::string_view name);
const Builtin *findTest(std::string_view name);

/// A method of strings, lists or dicts. Each name belongs to one of these
/// types.
struct Method {
  Value::Kind owner;
  Builtin builtin;

  bool isOf(const Value &object) const;
  /// Returns whether the method would change its object, which Jinja's sandbox
  /// forbids.
  bool changesObject() const;
};

const Method *findMethod(std::string_view name);

/// The evaluated arguments of a call.
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

/// The integers of range(...): start, start + step, ...
struct RangeItems {
  Integer start = 0;
  Integer step = 1;
  size_t size = 0;
};

/// Returns the range of a call with these arguments. Fails where Python would,
/// and for more than 100,000 items.
RangeItems rangeItems(Runtime &runtime, const ArgumentValues &arguments);
/// Returns whether the function is `range`.
bool isRange(const BuiltinFunction &function);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_BUILTINS_H
