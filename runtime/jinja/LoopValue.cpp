//===- LoopValue.cpp - the variable `loop` --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/LoopValue.h"

#include <algorithm>
#include <iterator>

using namespace sluice::text::jinja;

static constexpr std::string_view attributes[] = {
    "index", "index0", "revindex", "revindex0", "first",
    "last",  "length", "previtem", "nextitem",
};

bool LoopValue::hasAttribute(std::string_view name) {
  return std::find(std::begin(attributes), std::end(attributes), name) !=
         std::end(attributes);
}

void LoopValue::lookAhead(size_t count) {
  while (ahead.size() < count && nextItem < items.size()) {
    Value candidate = items.at(nextItem++);
    if (!accepts || accepts(candidate))
      ahead.push_back(std::move(candidate));
  }
}

bool LoopValue::advance() {
  lookAhead(1);
  if (ahead.empty())
    return false;
  if (visited > 0)
    previous = std::move(item);
  item = std::move(ahead.front());
  ahead.pop_front();
  ++visited;
  return true;
}

void LoopValue::finish() {
  accepts = nullptr;
  items = LoopItems();
  nextItem = 0;
  ahead.clear();
  item = Value();
  previous = Value::undefined("the loop has ended");
}

size_t LoopValue::length() {
  if (!accepts)
    return visited + ahead.size() + (items.size() - nextItem);
  lookAhead(SIZE_MAX);
  return visited + ahead.size();
}

Value LoopValue::attribute(Runtime &runtime, std::string_view name) {
  auto integer = [](size_t value) {
    return Value::integer(static_cast<Integer>(value));
  };
  if (name == "index")
    return integer(visited);
  if (name == "index0")
    return integer(visited - 1);
  if (name == "first")
    return Value::boolean(visited == 1);
  if (name == "previtem")
    return previous;
  if (name == "length")
    return integer(length());
  if (name == "revindex")
    return integer(length() - visited + 1);
  if (name == "revindex0")
    return integer(length() - visited);
  if (name == "last" || name == "nextitem") {
    lookAhead(1);
    if (name == "last")
      return Value::boolean(ahead.empty());
    return ahead.empty() ? Value::undefined("there is no next item")
                         : ahead.front();
  }
  return {};
}
