//===- Filters.cpp - filters of single values -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Filters.h"

#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Print.h"
#include "runtime/jinja/PythonText.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

size_t Builtin::parameterCount() const {
  return static_cast<size_t>(
      std::find(parameters.begin(), parameters.end(), std::string_view()) -
      parameters.begin());
}

Value Builtin::call(Runtime &runtime, std::span<const Value> arguments) const {
  for (const Value &argument : arguments)
    if (argument.isString())
      runtime.step(argument.text().size() / 64);
  return run(runtime, arguments);
}

/// Returns an argument's truth value; `otherwise` if it was not given.
static bool flag(const Value &argument, bool otherwise = false) {
  return argument.is(Kind::Missing) ? otherwise : argument.isTrue();
}

/// Returns a text argument; fails with the parameter's name for other values.
static const std::string &textArgument(Runtime &runtime, const Value &argument,
                                       std::string_view what) {
  if (argument.is(Kind::Undefined))
    runtime.fail(argument.why());
  if (!argument.isString())
    runtime.fail(what, " must be a string, not ", argument.typeName());
  return argument.text();
}

static Value defaultFilter(Runtime &runtime, FilterArguments arguments) {
  const Value &value = arguments[0];
  if (!value.is(Kind::Undefined) && (value.isTrue() || !flag(arguments[2])))
    return value;
  return arguments[1].is(Kind::Missing) ? Value::string("") : arguments[1];
}

/// A filter of a text alone, which returns transform(the value as text).
template <std::string (*transform)(std::string_view)>
static Value textFilter(Runtime &runtime, FilterArguments arguments) {
  return runtime.stringLike(arguments[0],
                            transform(toText(runtime, arguments[0])));
}

static Value titleFilter(Runtime &runtime, FilterArguments arguments) {
  return runtime.string(titleWords(toText(runtime, arguments[0])));
}

static Value stringFilter(Runtime &runtime, FilterArguments arguments) {
  const Value &value = arguments[0];
  return value.isString() ? value : runtime.string(toText(runtime, value));
}

static Value safeFilter(Runtime &runtime, FilterArguments arguments) {
  return runtime.markup(toText(runtime, arguments[0]));
}

static Value trimFilter(Runtime &runtime, FilterArguments arguments) {
  std::string text = toText(runtime, arguments[0]);
  std::string_view trimmed;
  if (arguments[1].is(Kind::Missing) || arguments[1].is(Kind::None)) {
    trimmed = stripSpace(text);
  } else {
    const std::string &characters =
        textArgument(runtime, arguments[1], "trim's chars");
    runtime.stepSearch(text, characters);
    trimmed = stripCharacters(text, characters);
  }
  return runtime.stringLike(arguments[0], std::string(trimmed));
}

static Value replaceFilter(Runtime &runtime, FilterArguments arguments) {
  const Value &count = arguments[3];
  int64_t limit = -1;
  if (!count.is(Kind::Missing) && !count.is(Kind::None))
    limit = static_cast<int64_t>(
        std::clamp(toInteger(runtime, count, "replace's count"), Integer(-1),
                   Integer(INT64_MAX)));
  return runtime.string(replaceCounted(runtime, toText(runtime, arguments[0]),
                                       toText(runtime, arguments[1]),
                                       toText(runtime, arguments[2]), limit));
}

static Value lengthFilter(Runtime &runtime, FilterArguments arguments) {
  return Value::integer(static_cast<Integer>(lengthOf(runtime, arguments[0])));
}

static Value indentFilter(Runtime &runtime, FilterArguments arguments) {
  std::string text = toText(runtime, arguments[0]);
  std::string indent(4, ' ');
  if (arguments[1].isString()) {
    indent = arguments[1].text();
  } else if (!arguments[1].is(Kind::Missing)) {
    Integer width = toInteger(runtime, arguments[1], "indent's width");
    if (width > 1000)
      runtime.fail("indent's width is more than 1000");
    indent.assign(width < 0 ? 0 : static_cast<size_t>(width), ' ');
  }
  bool blank = flag(arguments[3]);
  std::string out;
  if (flag(arguments[2]))
    out += indent;
  bool first = true;
  text += '\n'; // so that an empty last line counts
  for (std::string_view line : splitLines(text)) {
    if (!std::exchange(first, false)) {
      out += '\n';
      if (blank || !line.empty()) {
        runtime.charge(indent.size());
        out += indent;
      }
    }
    out += line;
  }
  return runtime.stringLike(arguments[0], std::move(out));
}

/// Returns the whole number of a float, rounded towards zero.
static Value truncated(Runtime &runtime, double value) {
  if (!(std::abs(value) < 0x1p64))
    runtime.fail("an integer needs more than 64 bits");
  return Value::integer(static_cast<Integer>(value));
}

static Value intFilter(Runtime &runtime, FilterArguments arguments) {
  const Value &value = arguments[0];
  if (value.is(Kind::Undefined))
    runtime.fail(value.why());
  if (value.isInteger())
    return Value::integer(value.integer());
  if (value.is(Kind::Float) && !std::isnan(value.number()))
    return truncated(runtime, value.number());
  if (value.isString()) {
    if (auto integer = parsePythonInteger(value.text()))
      return Value::integer(*integer);
    auto number = parsePythonFloat(value.text());
    if (number && std::isfinite(*number))
      return truncated(runtime, *number);
  }
  return arguments[1].is(Kind::Missing) ? Value::integer(0) : arguments[1];
}

static Value floatFilter(Runtime &runtime, FilterArguments arguments) {
  const Value &value = arguments[0];
  if (value.is(Kind::Undefined))
    runtime.fail(value.why());
  if (value.isNumber())
    return Value::real(value.number());
  if (value.isString())
    if (auto number = parsePythonFloat(value.text()))
      return Value::real(*number);
  return arguments[1].is(Kind::Missing) ? Value::real(0) : arguments[1];
}

/// Returns the style that tojson's arguments ask for.
static JsonStyle jsonStyle(Runtime &runtime, FilterArguments arguments) {
  const Value &indent = arguments[2];
  const Value &separators = arguments[3];
  JsonStyle style;
  style.ensureAscii = flag(arguments[1]);
  style.sortKeys = flag(arguments[4]);
  if (indent.isString()) {
    style.indent = indent.text();
  } else if (!indent.is(Kind::Missing) && !indent.is(Kind::None)) {
    Integer width = toInteger(runtime, indent, "tojson's indent");
    if (width > 1000)
      runtime.fail("tojson's indent is more than 1000");
    style.indent.emplace(width < 0 ? 0 : static_cast<size_t>(width), ' ');
  }
  if (style.indent)
    style.itemSeparator = ",";
  if (separators.is(Kind::Missing) || separators.is(Kind::None))
    return style;
  if (!separators.is(Kind::List) || separators.list()->items.size() != 2)
    runtime.fail("tojson's separators must be two strings");
  const std::vector<Value> &both = separators.list()->items;
  style.itemSeparator = textArgument(runtime, both[0], "a separator");
  style.keySeparator = textArgument(runtime, both[1], "a separator");
  return style;
}

static Value tojsonFilter(Runtime &runtime, FilterArguments arguments) {
  return runtime.string(
      toJson(runtime, arguments[0], jsonStyle(runtime, arguments)));
}

static constexpr Builtin filters[] = {
    {"capitalize", textFilter<capitalize>},
    {"count", lengthFilter},
    {"d", defaultFilter, 0, {"default_value", "boolean"}},
    {"default", defaultFilter, 0, {"default_value", "boolean"}},
    {"dictsort", dictsortFilter, 0, {"case_sensitive", "by", "reverse"}},
    {"first", firstFilter},
    {"float", floatFilter, 0, {"default"}},
    {"indent", indentFilter, 0, {"width", "first", "blank"}},
    {"int", intFilter, 0, {"default"}},
    {"items", itemsFilter},
    {"join", joinFilter, 0, {"d", "attribute"}},
    {"last", lastFilter},
    {"length", lengthFilter},
    {"list", listFilter},
    {"lower", textFilter<lowerCase>},
    {"max", maxFilter, 0, {"case_sensitive", "attribute"}},
    {"min", minFilter, 0, {"case_sensitive", "attribute"}},
    {"replace", replaceFilter, 2, {"old", "new", "count"}},
    {"reverse", reverseFilter},
    {"safe", safeFilter},
    {"sort", sortFilter, 0, {"reverse", "case_sensitive", "attribute"}},
    {"string", stringFilter},
    {"title", titleFilter},
    {"tojson",
     tojsonFilter,
     0,
     {"ensure_ascii", "indent", "separators", "sort_keys"}},
    {"trim", trimFilter, 0, {"chars"}},
    {"unique", uniqueFilter, 0, {"case_sensitive", "attribute"}},
    {"upper", textFilter<upperCase>},
};

const Builtin *jinja::findFilter(std::string_view name) {
  const Builtin *found =
      std::find_if(std::begin(filters), std::end(filters),
                   [&](const Builtin &filter) { return filter.name == name; });
  return found == std::end(filters) ? nullptr : found;
}
