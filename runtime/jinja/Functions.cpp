//===- Functions.cpp - global functions of chat templates -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Builtins.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Print.h"
#include "runtime/text/Utf8.h"

#include <ctime>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

/// The limit of Jinja2's sandbox.
static constexpr Integer maxRange = 100000;

/// Fails unless there are `min` to `max` positional arguments and no named
/// arguments.
static void checkPositional(Runtime &runtime, std::string_view name,
                            const ArgumentValues &arguments, size_t min,
                            size_t max) {
  if (!arguments.named.empty())
    runtime.fail(name, " has no argument '", arguments.named[0].first, "'");
  size_t count = arguments.positional.size();
  if (count < min || count > max)
    runtime.fail(name, " does not take ", count, " arguments");
}

RangeItems jinja::rangeItems(Runtime &runtime,
                             const ArgumentValues &arguments) {
  checkPositional(runtime, "range", arguments, 1, 3);
  Integer bounds[3];
  size_t count = 0;
  for (const Value &argument : arguments.positional)
    bounds[count++] = toInteger(runtime, argument, "range's argument");
  Integer start = count == 1 ? 0 : bounds[0];
  Integer stop = count == 1 ? bounds[0] : bounds[1];
  Integer step = count == 3 ? bounds[2] : 1;
  if (step == 0)
    runtime.fail("range's step is zero");
  Integer distance = step > 0 ? stop - start : start - stop;
  Integer stride = step > 0 ? step : -step;
  Integer size = distance <= 0 ? 0 : (distance + stride - 1) / stride;
  if (size > maxRange)
    runtime.fail("a range has more than ", static_cast<int>(maxRange),
                 " items");
  return {start, step, static_cast<size_t>(size)};
}

static Value range(Runtime &runtime, const ArgumentValues &arguments) {
  const RangeItems range = rangeItems(runtime, arguments);
  runtime.step(range.size / 8);
  std::vector<Value> items;
  for (size_t i = 0; i < range.size; ++i)
    items.push_back(
        Value::integer(range.start + static_cast<Integer>(i) * range.step));
  return runtime.list(std::move(items), List::Form::Range);
}

bool jinja::isRange(const BuiltinFunction &function) {
  return function.run == range;
}

/// Returns the entries of dict(mapping, name=value...), whose arguments
/// namespace() takes too.
static Dict entriesOf(Runtime &runtime, std::string_view name,
                      const ArgumentValues &arguments) {
  Dict dict;
  if (arguments.positional.size() > 1)
    runtime.fail(name, " takes one dict at most");
  for (const Value &mapping : arguments.positional) {
    if (!mapping.is(Kind::Dict))
      runtime.fail(name, " takes a dict, not ", mapping.typeName());
    runtime.charge(mapping.dict()->entries.size() * 2 * sizeof(Value));
    dict.entries = mapping.dict()->entries;
  }
  for (const auto &[key, value] : arguments.named) {
    runtime.step(1 + dict.entries.size() / 8);
    dict.set(runtime.string(std::string(key)), value);
  }
  return dict;
}

static Value dict(Runtime &runtime, const ArgumentValues &arguments) {
  return runtime.dict(entriesOf(runtime, "dict", arguments));
}

static Value makeNamespace(Runtime &runtime, const ArgumentValues &arguments) {
  Value space = runtime.makeNamespace();
  for (auto &[key, value] : entriesOf(runtime, "namespace", arguments).entries)
    if (key.isString())
      space.space().set(key.text(), std::move(value));
  return space;
}

[[noreturn]] static Value raiseException(Runtime &runtime,
                                         const ArgumentValues &arguments) {
  checkPositional(runtime, "raise_exception", arguments, 1, 1);
  throw RaisedError(runtime.at, toText(runtime, arguments.positional[0]));
}

static Value strftimeNow(Runtime &runtime, const ArgumentValues &arguments) {
  checkPositional(runtime, "strftime_now", arguments, 1, 1);
  const Value &format = arguments.positional[0];
  if (!format.isString() || format.text().size() > 100)
    runtime.fail("strftime_now takes a format of at most 100 bytes");
  std::tm local{};
  if (!localtime_r(&runtime.now, &local))
    runtime.fail("strftime_now: the time is out of range");
  // The space in front distinguishes an empty result from one that does not
  // fit.
  char buffer[1024];
  size_t length = std::strftime(buffer, sizeof(buffer),
                                (" " + format.text()).c_str(), &local);
  if (length == 0)
    runtime.fail("strftime_now: the result is longer than 1 KiB");
  return runtime.string(
      replaceInvalidUtf8(std::string_view(buffer, length).substr(1)));
}

static constexpr BuiltinFunction functions[] = {
    {"dict", dict},
    {"namespace", makeNamespace},
    {"raise_exception", raiseException},
    {"range", range},
    {"strftime_now", strftimeNow},
};

std::span<const BuiltinFunction> jinja::globalFunctions() { return functions; }
