//===- Methods.cpp - methods of strings, lists and dicts ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/PythonText.h"

#include <algorithm>
#include <iterator>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;
using MethodArguments = std::span<const Value>;

static bool isGiven(const Value &argument) {
  return !argument.is(Kind::Missing) && !argument.is(Kind::None);
}

/// Returns a text argument; fails for other values.
static const std::string &textOf(Runtime &runtime, const Value &argument) {
  if (argument.is(Kind::Undefined))
    runtime.fail(argument.why());
  if (!argument.isString())
    runtime.fail("a string is needed here, not ", argument.typeName());
  return argument.text();
}

/// Returns a count; -1, which means no limit, if it was not given.
static int64_t limitOf(Runtime &runtime, const Value &argument) {
  if (argument.is(Kind::Missing))
    return -1;
  return static_cast<int64_t>(
      std::clamp(toInteger(runtime, argument, "a number of times"), Integer(-1),
                 Integer(INT64_MAX)));
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

/// strip, lstrip and rstrip.
template <bool left, bool right>
static Value strip(Runtime &runtime, MethodArguments arguments) {
  Ends ends{left, right};
  const std::string &text = arguments[0].text();
  if (!isGiven(arguments[1]))
    return runtime.stringLike(arguments[0],
                              std::string(stripSpace(text, ends)));
  const std::string &characters = textOf(runtime, arguments[1]);
  runtime.stepSearch(text, characters);
  return runtime.stringLike(
      arguments[0], std::string(stripCharacters(text, characters, ends)));
}

/// Returns a list of pieces of a string.
static Value piecesOf(Runtime &runtime, const Value &string,
                      const std::vector<std::string_view> &pieces) {
  runtime.step(pieces.size());
  std::vector<Value> items;
  for (std::string_view piece : pieces)
    items.push_back(runtime.stringLike(string, std::string(piece)));
  return runtime.list(std::move(items));
}

template <bool fromRight>
static Value split(Runtime &runtime, MethodArguments arguments) {
  const std::string &text = arguments[0].text();
  int64_t limit = limitOf(runtime, arguments[2]);
  if (!isGiven(arguments[1]))
    return piecesOf(runtime, arguments[0], splitSpace(text, limit, fromRight));
  const std::string &separator = textOf(runtime, arguments[1]);
  if (separator.empty())
    runtime.fail("split needs a separator that is not empty");
  runtime.stepSearch(text, separator);
  return piecesOf(runtime, arguments[0],
                  splitAt(text, separator, limit, fromRight));
}

static Value splitlines(Runtime &runtime, MethodArguments arguments) {
  return piecesOf(runtime, arguments[0], splitLines(arguments[0].text()));
}

/// startswith and endswith, with one text or a tuple of them.
template <bool atStart>
static Value hasEnd(Runtime &runtime, MethodArguments arguments) {
  const std::string &text = arguments[0].text();
  auto matches = [&](const Value &candidate) {
    const std::string &end = textOf(runtime, candidate);
    runtime.step(1 + end.size() / 64);
    return atStart ? text.starts_with(end) : text.ends_with(end);
  };
  if (!arguments[1].is(Kind::List))
    return Value::boolean(matches(arguments[1]));
  const std::vector<Value> &all = arguments[1].list()->items;
  return Value::boolean(std::any_of(all.begin(), all.end(), matches));
}

template <std::string (*transform)(std::string_view)>
static Value changeCase(Runtime &runtime, MethodArguments arguments) {
  return runtime.stringLike(arguments[0], transform(arguments[0].text()));
}

static Value replace(Runtime &runtime, MethodArguments arguments) {
  std::string pattern = textOf(runtime, arguments[1]);
  std::string content = textOf(runtime, arguments[2]);
  if (arguments[0].is(Kind::Markup) && !arguments[2].is(Kind::Markup))
    content = escapeHtml(content);
  return runtime.stringLike(
      arguments[0], replaceCounted(runtime, arguments[0].text(), pattern,
                                   content, limitOf(runtime, arguments[3])));
}

static Value find(Runtime &runtime, MethodArguments arguments) {
  const std::string &text = arguments[0].text();
  const std::string &wanted = textOf(runtime, arguments[1]);
  runtime.stepSearch(text, wanted);
  size_t at = text.find(wanted);
  if (at == std::string::npos)
    return Value::integer(-1);
  return Value::integer(static_cast<Integer>(
      codePointCount(std::string_view(text).substr(0, at))));
}

static Value count(Runtime &runtime, MethodArguments arguments) {
  const std::string &text = arguments[0].text();
  const std::string &wanted = textOf(runtime, arguments[1]);
  runtime.stepSearch(text, wanted);
  return Value::integer(
      static_cast<Integer>(countOccurrences(text, wanted, -1)));
}

template <bool atStart>
static Value removeEnd(Runtime &runtime, MethodArguments arguments) {
  std::string_view text = arguments[0].text();
  const std::string &end = textOf(runtime, arguments[1]);
  if (atStart ? text.starts_with(end) : text.ends_with(end))
    text = atStart ? text.substr(end.size())
                   : text.substr(0, text.size() - end.size());
  return runtime.stringLike(arguments[0], std::string(text));
}

/// separator.join(items). Unlike in the filter, all items must be strings.
static Value join(Runtime &runtime, MethodArguments arguments) {
  auto items = itemsOf(runtime, arguments[1]);
  std::string out;
  for (size_t i = 0; i < items->items.size(); ++i) {
    const std::string &text = textOf(runtime, items->items[i]);
    runtime.step();
    runtime.charge(text.size() + arguments[0].text().size());
    if (i > 0)
      out += arguments[0].text();
    out += text;
  }
  return runtime.string(std::move(out));
}

//===----------------------------------------------------------------------===//
// Dicts
//===----------------------------------------------------------------------===//

static Value get(Runtime &runtime, MethodArguments arguments) {
  const Dict &dict = *arguments[0].dict();
  if (arguments[1].is(Kind::List) || arguments[1].is(Kind::Dict))
    runtime.fail("a ", arguments[1].typeName(), " cannot be a key of a dict");
  runtime.step(1 + dict.entries.size() / 8);
  if (const Value *value = dict.find(arguments[1]))
    return *value;
  return arguments[2].is(Kind::Missing) ? Value::none() : arguments[2];
}

static Value items(Runtime &runtime, MethodArguments arguments) {
  return runtime.list(pairsOf(runtime, *arguments[0].dict()), List::Form::View);
}

template <bool wantKeys>
static Value keysOrValues(Runtime &runtime, MethodArguments arguments) {
  std::vector<Value> out;
  for (const auto &[key, value] : arguments[0].dict()->entries)
    out.push_back(wantKeys ? key : value);
  return runtime.list(std::move(out), List::Form::View);
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

/// Runs any method that would change its object.
static Value change(Runtime &runtime, MethodArguments arguments) {
  runtime.fail("a template may not change a ", arguments[0].typeName());
}

/// Returns a method that would change its object. Its arguments do not matter.
static constexpr Method changing(Kind owner, std::string_view name) {
  return {owner, {name, change, 0, {"first", "second"}}};
}

/// All methods, sorted by name.
static constexpr Method methods[] = {
    changing(Kind::List, "append"),
    {Kind::String, {"capitalize", changeCase<capitalize>}},
    changing(Kind::List, "clear"),
    {Kind::Dict, {"copy", nullptr}},
    {Kind::String, {"count", count, 1, {"sub"}}},
    {Kind::String, {"endswith", hasEnd<false>, 1, {"suffix"}}},
    changing(Kind::List, "extend"),
    {Kind::String, {"find", find, 1, {"sub"}}},
    {Kind::String, {"format", nullptr}},
    {Kind::Dict, {"fromkeys", nullptr}},
    {Kind::Dict, {"get", get, 1, {"key", "default"}}},
    changing(Kind::List, "insert"),
    {Kind::Dict, {"items", items}},
    {Kind::String, {"join", join, 1, {"iterable"}}},
    {Kind::Dict, {"keys", keysOrValues<true>}},
    {Kind::String, {"lower", changeCase<lowerCase>}},
    {Kind::String, {"lstrip", strip<true, false>, 0, {"chars"}}},
    changing(Kind::List, "pop"),
    changing(Kind::Dict, "popitem"),
    changing(Kind::List, "remove"),
    {Kind::String, {"removeprefix", removeEnd<true>, 1, {"prefix"}}},
    {Kind::String, {"removesuffix", removeEnd<false>, 1, {"suffix"}}},
    {Kind::String, {"replace", replace, 2, {"old", "new", "count"}}},
    changing(Kind::List, "reverse"),
    {Kind::String, {"rsplit", split<true>, 0, {"sep", "maxsplit"}}},
    {Kind::String, {"rstrip", strip<false, true>, 0, {"chars"}}},
    changing(Kind::Dict, "setdefault"),
    changing(Kind::List, "sort"),
    {Kind::String, {"split", split<false>, 0, {"sep", "maxsplit"}}},
    {Kind::String, {"splitlines", splitlines}},
    {Kind::String, {"startswith", hasEnd<true>, 1, {"prefix"}}},
    {Kind::String, {"strip", strip<true, true>, 0, {"chars"}}},
    {Kind::String, {"title", changeCase<titleCase>}},
    changing(Kind::Dict, "update"),
    {Kind::String, {"upper", changeCase<upperCase>}},
    {Kind::Dict, {"values", keysOrValues<false>}},
};

static_assert(std::is_sorted(std::begin(methods), std::end(methods),
                             [](const Method &left, const Method &right) {
                               return left.builtin.name < right.builtin.name;
                             }));

bool Method::isOf(const Value &object) const {
  if (owner == Kind::String)
    return object.isString();
  if (owner == Kind::List && object.is(Kind::List))
    return object.list()->form == List::Form::List;
  // Some methods that change a list are also methods of dicts.
  return object.is(Kind::Dict) &&
         (owner == Kind::Dict || builtin.name == "clear" ||
          builtin.name == "pop");
}

bool Method::changesObject() const { return builtin.run == change; }

const Method *jinja::findMethod(std::string_view name) {
  const Method *found =
      std::lower_bound(std::begin(methods), std::end(methods), name,
                       [](const Method &method, std::string_view wanted) {
                         return method.builtin.name < wanted;
                       });
  return found != std::end(methods) && found->builtin.name == name ? found
                                                                   : nullptr;
}
