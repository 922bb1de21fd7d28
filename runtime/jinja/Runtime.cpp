//===- Runtime.cpp - state and limits of one rendering --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Runtime.h"

using namespace sluice::text::jinja;

/// The bytes that count for any value besides its content.
static constexpr size_t valueOverhead = 64;

void Runtime::step(size_t count) {
  if (count > limits.steps - steps)
    fail("rendering takes more than ", limits.steps, " steps");
  steps += count;
  if (limits.meter && !limits.meter->charge(count))
    fail(limits.meter->status().message());
}

void Runtime::stepSearch(std::string_view text, std::string_view pattern) {
  step((1 + text.size() / 64) * (1 + pattern.size() / 64));
}

void Runtime::charge(size_t count) {
  if (count > limits.valueBytes - bytes)
    fail("rendering makes more than ", limits.valueBytes, " bytes of values");
  bytes += count;
}

void Runtime::chargeText(const std::string &text) {
  if (text.size() > maxTextBytes)
    fail("a text is longer than ", maxTextBytes, " bytes");
  charge(valueOverhead + text.size());
}

Value Runtime::string(std::string text) {
  chargeText(text);
  return Value::string(std::move(text));
}

Value Runtime::markup(std::string text) {
  chargeText(text);
  return Value::markup(std::move(text));
}

Value Runtime::stringLike(const Value &model, std::string text) {
  return model.is(Value::Kind::Markup) ? markup(std::move(text))
                                       : string(std::move(text));
}

std::shared_ptr<const List> Runtime::share(std::vector<Value> items,
                                           List::Form form) {
  charge(valueOverhead + items.size() * sizeof(Value));
  uint32_t depth = depthAbove(items);
  if (depth > maxValueDepth)
    fail("values nest deeper than ", maxValueDepth, " levels");
  return std::make_shared<const List>(List{std::move(items), form, depth});
}

Value Runtime::list(std::vector<Value> items, List::Form form) {
  return Value::list(share(std::move(items), form));
}

Value Runtime::iterator(std::vector<Value> items) {
  return Value::iterator(share(std::move(items), List::Form::List));
}

Value Runtime::dict(Dict dict) {
  charge(valueOverhead + dict.entries.size() * 2 * sizeof(Value));
  dict.depth = depthAbove(dict);
  if (dict.depth > maxValueDepth)
    fail("values nest deeper than ", maxValueDepth, " levels");
  return Value::dict(std::make_shared<const Dict>(std::move(dict)));
}

Value Runtime::makeNamespace() {
  charge(valueOverhead);
  return Value::space(&namespaces.emplace_back());
}
