//===- Value.cpp - values of a template's expressions ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Value.h"

#include <algorithm>

using namespace sluice::text::jinja;

Value Value::undefined(std::string why) {
  return Value(
      UndefinedReason{std::make_shared<const std::string>(std::move(why))});
}

Value Value::string(std::string text) {
  // The string is not made const, so that append() can change it.
  return Value(RawText(std::make_shared<std::string>(std::move(text))));
}

bool Value::append(std::string_view more) {
  RawText *text = std::get_if<RawText>(&data);
  if (!text || text->use_count() != 1)
    return false;
  *std::const_pointer_cast<std::string>(*text) += more;
  return true;
}

Value Value::markup(std::string text) {
  return Value(
      MarkupText{std::make_shared<const std::string>(std::move(text))});
}

Value Value::iterator(std::shared_ptr<const List> items) {
  return Value(std::make_shared<Iterator>(Iterator{std::move(items)}));
}

static std::string_view typeNameOf(List::Form form) {
  switch (form) {
  case List::Form::List:
    return "list";
  case List::Form::Tuple:
    return "tuple";
  case List::Form::Range:
    return "range";
  case List::Form::View:
    return "dict view";
  }
  return "list";
}

std::string_view Value::typeName() const {
  switch (kind()) {
  case Kind::Missing:
  case Kind::Undefined:
    return "undefined";
  case Kind::None:
    return "NoneType";
  case Kind::Bool:
    return "bool";
  case Kind::Int:
    return "int";
  case Kind::Float:
    return "float";
  case Kind::String:
  case Kind::Markup:
    return "str";
  case Kind::List:
    return typeNameOf(list()->form);
  case Kind::Dict:
    return "dict";
  case Kind::Iterator:
    return "generator";
  case Kind::Namespace:
    return "namespace";
  case Kind::Loop:
    return "loop";
  case Kind::Callable:
    return "macro";
  case Kind::Function:
    return "function";
  case Kind::Method:
    return "method";
  }
  return "undefined";
}

bool Value::isTrue() const {
  switch (kind()) {
  case Kind::Missing:
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
    return boolean();
  case Kind::Int:
    return integer() != 0;
  case Kind::Float:
    return number() != 0;
  case Kind::String:
  case Kind::Markup:
    return !text().empty();
  case Kind::List:
    return !list()->items.empty();
  case Kind::Dict:
    return !dict()->entries.empty();
  default:
    return true;
  }
}

/// Returns whether Python counts two keys as the same, as it does 1, 1.0 and
/// true.
static bool isSameKey(const Value &left, const Value &right) {
  if (left.isString())
    return right.isString() && left.text() == right.text();
  if (left.isInteger() && right.isInteger())
    return left.integer() == right.integer();
  if (left.isNumber())
    return right.isNumber() && left.number() == right.number();
  return left.kind() == right.kind();
}

const Value *Dict::find(const Value &key) const {
  for (const auto &[candidate, value] : entries)
    if (isSameKey(candidate, key))
      return &value;
  return nullptr;
}

const Value *Dict::find(std::string_view key) const {
  for (const auto &[candidate, value] : entries)
    if (candidate.isString() && candidate.text() == key)
      return &value;
  return nullptr;
}

void Dict::set(const Value &key, Value value) {
  for (auto &[candidate, old] : entries)
    if (isSameKey(candidate, key)) {
      old = std::move(value);
      return;
    }
  entries.emplace_back(key, std::move(value));
}

Value *Namespace::find(std::string_view name) {
  for (auto &[candidate, value] : attributes)
    if (candidate == name)
      return &value;
  return nullptr;
}

const Value *Namespace::find(std::string_view name) const {
  return const_cast<Namespace *>(this)->find(name);
}

void Namespace::set(std::string_view name, Value value) {
  for (auto &[candidate, old] : attributes)
    if (candidate == name) {
      old = std::move(value);
      return;
    }
  attributes.emplace_back(name, std::move(value));
}

static uint32_t depthOf(const Value &value) {
  if (value.is(Value::Kind::List))
    return value.list()->depth;
  if (value.is(Value::Kind::Dict))
    return value.dict()->depth;
  if (value.is(Value::Kind::Iterator))
    return value.iterator().items->depth;
  return 0;
}

uint32_t sluice::text::jinja::depthAbove(const std::vector<Value> &values) {
  uint32_t deepest = 0;
  for (const Value &value : values)
    deepest = std::max(deepest, depthOf(value));
  return deepest + 1;
}

uint32_t sluice::text::jinja::depthAbove(const Dict &dict) {
  uint32_t deepest = 0;
  for (const auto &[key, value] : dict.entries)
    deepest = std::max(deepest, depthOf(value));
  return deepest + 1;
}
