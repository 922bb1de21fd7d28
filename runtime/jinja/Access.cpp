//===- Access.cpp - items, attributes and slices of values ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Builtins.h"
#include "runtime/jinja/LoopValue.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/PythonText.h"

#include <algorithm>
#include <charconv>
#include <utility>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

size_t jinja::lengthOf(Runtime &runtime, const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return 0;
  case Kind::String:
  case Kind::Markup:
    return codePointCount(value.text());
  case Kind::List:
    return value.list()->items.size();
  case Kind::Dict:
    return value.dict()->entries.size();
  default:
    runtime.fail("a ", value.typeName(), " has no length");
  }
}

static std::shared_ptr<const List> charactersOf(Runtime &runtime,
                                                std::string_view text) {
  std::vector<size_t> offsets = characterOffsets(text);
  runtime.step(offsets.size());
  std::vector<Value> characters;
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    characters.push_back(runtime.string(
        std::string(text.substr(offsets[i], offsets[i + 1] - offsets[i]))));
  return runtime.list(std::move(characters)).list();
}

std::shared_ptr<const List> jinja::itemsOf(Runtime &runtime,
                                           const Value &value) {
  std::vector<Value> items;
  switch (value.kind()) {
  case Kind::List:
    return value.list();
  case Kind::String:
  case Kind::Markup:
    return charactersOf(runtime, value.text());
  case Kind::Dict:
    for (const auto &[key, item] : value.dict()->entries)
      items.push_back(key);
    return runtime.list(std::move(items)).list();
  case Kind::Iterator: {
    Iterator &iterator = value.iterator();
    const std::vector<Value> &all = iterator.items->items;
    size_t first = std::exchange(iterator.next, all.size());
    if (first == 0)
      return iterator.items;
    items.assign(all.begin() + static_cast<ptrdiff_t>(first), all.end());
    return runtime.list(std::move(items)).list();
  }
  case Kind::Undefined:
    return runtime.list({}).list();
  default:
    runtime.fail("a ", value.typeName(), " has no items to go through");
  }
}

/// Returns Jinja's name of an object for messages.
static std::string describe(const Value &object) {
  if (object.is(Kind::None))
    return "none";
  return "a " + std::string(object.typeName());
}

/// Returns the Undefined of a lookup that finds nothing.
static Value nothingAt(Runtime &runtime, const Value &object,
                       std::string_view name) {
  runtime.charge(64 + name.size());
  return Value::undefined(describe(object) + " has no '" + std::string(name) +
                          "'");
}

static Value nothingAt(Runtime &runtime, const Value &object,
                       const Value &key) {
  if (key.isString())
    return nothingAt(runtime, object, key.text());
  return Value::undefined(describe(object) + " has no such item");
}

/// Returns an attribute that is no item; Missing if there is none.
static Value ownAttribute(Runtime &runtime, const Value &object,
                          std::string_view name) {
  if (object.is(Kind::Namespace)) {
    runtime.step(object.space().attributes.size() / 8);
    const Value *value = object.space().find(name);
    return value ? *value : Value();
  }
  if (object.is(Kind::Loop))
    return object.loop().attribute(runtime, name);
  // A method of Python hides an item of the same name: `schema.items`.
  const Method *method = findMethod(name);
  if (!method || !method->isOf(object))
    return {};
  if (method->changesObject())
    return Value::undefined("a template may not change " + describe(object));
  return Value::method(method->builtin.name);
}

Value jinja::attributeOf(Runtime &runtime, const Value &object,
                         std::string_view name) {
  if (object.is(Kind::Undefined))
    runtime.fail(object.why());
  Value attribute = ownAttribute(runtime, object, name);
  if (!attribute.is(Kind::Missing))
    return attribute;
  if (object.is(Kind::Dict)) {
    runtime.step(1 + object.dict()->entries.size() / 8);
    if (const Value *value = object.dict()->find(name))
      return *value;
  }
  return nothingAt(runtime, object, name);
}

/// Returns the index that `key` means among `size` items; nothing if it is out
/// of range.
static std::optional<size_t> indexOf(const Value &key, size_t size) {
  Integer index = key.integer();
  if (index < 0)
    index += Integer(size);
  if (index < 0 || index >= Integer(size))
    return std::nullopt;
  return static_cast<size_t>(index);
}

static Value characterAt(Runtime &runtime, const Value &string,
                         const Value &key) {
  const std::string &text = string.text();
  runtime.step(text.size() / 8);
  std::vector<size_t> offsets = characterOffsets(text);
  std::optional<size_t> index = indexOf(key, offsets.size() - 1);
  if (!index)
    return nothingAt(runtime, string, key);
  size_t at = offsets[*index];
  return runtime.stringLike(string, text.substr(at, offsets[*index + 1] - at));
}

Value jinja::itemOf(Runtime &runtime, const Value &object, const Value &key) {
  if (object.is(Kind::Undefined))
    runtime.fail(object.why());
  if (object.is(Kind::Dict) && !key.is(Kind::List) && !key.is(Kind::Dict)) {
    runtime.step(1 + object.dict()->entries.size() / 8);
    if (const Value *value = object.dict()->find(key))
      return *value;
  }
  if (object.is(Kind::List) && key.isInteger() &&
      object.list()->form != List::Form::View) {
    std::optional<size_t> index = indexOf(key, object.list()->items.size());
    return index ? object.list()->items[*index]
                 : nothingAt(runtime, object, key);
  }
  if (object.isString() && key.isInteger())
    return characterAt(runtime, object, key);
  if (key.isString()) {
    Value attribute = ownAttribute(runtime, object, key.text());
    if (!attribute.is(Kind::Missing))
      return attribute;
  }
  return nothingAt(runtime, object, key);
}

Value jinja::itemAtPath(Runtime &runtime, const Value &object,
                        const Value &path, const Value &fallback) {
  if (!path.isString())
    return itemOf(runtime, object, path);
  Value value = object;
  for (std::string_view part : splitAt(path.text(), ".", -1, false)) {
    int64_t index = 0;
    auto [end, error] =
        std::from_chars(part.data(), part.data() + part.size(), index);
    bool isIndex = error == std::errc() && end == part.data() + part.size() &&
                   part[0] != '-';
    value = itemOf(runtime, value,
                   isIndex ? Value::integer(index)
                           : runtime.string(std::string(part)));
    if (value.is(Kind::Undefined) && !fallback.is(Kind::Missing))
      value = fallback;
  }
  return value;
}

namespace {
/// The indices of a slice: `count` indices from `first`, `step` apart.
struct Indices {
  Integer first;
  Integer step;
  size_t count;
};
} // namespace

static Indices sliceIndices(Runtime &runtime, size_t length, const Value &start,
                            const Value &stop, const Value &step) {
  auto given = [](const Value &bound) {
    return !bound.is(Kind::Missing) && !bound.is(Kind::None);
  };
  auto size = static_cast<Integer>(length);
  Integer stride = given(step) ? toInteger(runtime, step, "a slice's step") : 1;
  if (stride == 0)
    runtime.fail("a slice's step is zero");
  // The bounds are clamped to the places just outside the items.
  Integer low = stride > 0 ? 0 : -1;
  Integer high = stride > 0 ? size : size - 1;
  auto bound = [&](const Value &value, Integer otherwise) {
    if (!given(value))
      return otherwise;
    Integer index = toInteger(runtime, value, "a slice's bound");
    return std::clamp(index < 0 ? index + size : index, low, high);
  };
  Integer first = bound(start, stride > 0 ? low : high);
  Integer last = bound(stop, stride > 0 ? high : low);
  Integer distance = stride > 0 ? last - first : first - last;
  Integer stridden = stride > 0 ? stride : -stride;
  Integer count = distance <= 0 ? 0 : (distance + stridden - 1) / stridden;
  return {first, stride, static_cast<size_t>(count)};
}

Value jinja::sliceOf(Runtime &runtime, const Value &object, const Value &start,
                     const Value &stop, const Value &step) {
  if (object.is(Kind::Undefined))
    runtime.fail(object.why());
  if (object.isString()) {
    const std::string &text = object.text();
    runtime.step(text.size() / 8);
    std::vector<size_t> offsets = characterOffsets(text);
    Indices slice =
        sliceIndices(runtime, offsets.size() - 1, start, stop, step);
    std::string out;
    for (size_t i = 0; i < slice.count; ++i) {
      auto at = static_cast<size_t>(slice.first + Integer(i) * slice.step);
      out.append(text, offsets[at], offsets[at + 1] - offsets[at]);
    }
    return runtime.stringLike(object, std::move(out));
  }
  if (!object.is(Kind::List) || object.list()->form == List::Form::View)
    runtime.fail("a ", object.typeName(), " cannot be sliced");
  const std::vector<Value> &items = object.list()->items;
  Indices slice = sliceIndices(runtime, items.size(), start, stop, step);
  std::vector<Value> out;
  for (size_t i = 0; i < slice.count; ++i)
    out.push_back(
        items[static_cast<size_t>(slice.first + Integer(i) * slice.step)]);
  return runtime.list(std::move(out), object.list()->form);
}
