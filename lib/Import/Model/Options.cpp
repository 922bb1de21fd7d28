//===- Options.cpp - strict reader of a model's configuration -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Model/Options.h"

#include "sluice/Import/Support/Quote.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::importer;

std::string OptionValue::describe() const {
  struct {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const {
      return value ? "true" : "false";
    }
    std::string operator()(int64_t value) const {
      return std::to_string(value);
    }
    std::string operator()(double value) const {
      std::ostringstream text;
      text << value;
      return text.str();
    }
    std::string operator()(const std::string &value) const {
      return quote(value);
    }
    std::string operator()(const List &) const { return "a list"; }
    std::string operator()(const Table &) const { return "a table"; }
    std::string operator()(const Other &other) const {
      return other.description;
    }
  } describer;
  return std::visit(describer, held);
}

const OptionValue *Options::take(std::string_view key) {
  asked.emplace(key);
  auto found = values.find(key);
  return found == values.end() || found->second.isNull() ? nullptr
                                                         : &found->second;
}

const OptionValue *Options::take(std::string_view key, bool required) {
  const OptionValue *value = take(key);
  if (!value && required)
    refuse(key, "missing");
  return value;
}

void Options::refuse(std::string_view key, const std::string &reason) {
  if (firstError.ok())
    firstError = failure(place, ": ", quote(key), ": ", reason);
}

void Options::wrongKind(std::string_view key, std::string_view wanted,
                        const OptionValue &found) {
  refuse(key,
         "expected " + std::string(wanted) + ", found " + found.describe());
}

std::vector<std::string> Options::keys() const {
  std::vector<std::string> all;
  for (const auto &[key, value] : values)
    all.push_back(key);
  return all;
}

bool Options::has(std::string_view key) { return take(key) != nullptr; }

int64_t Options::integer(std::string_view key, std::optional<int64_t> fallback,
                         int64_t min) {
  constexpr int64_t max = std::numeric_limits<int32_t>::max();
  const OptionValue *value = take(key, !fallback);
  if (!value)
    return fallback.value_or(min);
  const auto *held = std::get_if<int64_t>(&value->held);
  if (held && *held >= min && *held <= max)
    return *held;
  wrongKind(key,
            "an integer from " + std::to_string(min) + " to " +
                std::to_string(max),
            *value);
  return min;
}

int64_t Options::count(std::string_view key, std::optional<int64_t> fallback) {
  return integer(key, fallback, 1);
}

int64_t Options::natural(std::string_view key,
                         std::optional<int64_t> fallback) {
  return integer(key, fallback, 0);
}

double Options::number(std::string_view key, std::optional<double> fallback) {
  const OptionValue *value = take(key, !fallback);
  if (!value)
    return fallback.value_or(1);
  if (const auto *held = std::get_if<int64_t>(&value->held))
    return static_cast<double>(*held);
  if (const auto *held = std::get_if<double>(&value->held);
      held && std::isfinite(*held))
    return *held;
  wrongKind(key, "a finite number", *value);
  return 1;
}

bool Options::flag(std::string_view key, bool fallback) {
  const OptionValue *value = take(key);
  if (!value)
    return fallback;
  if (const auto *held = std::get_if<bool>(&value->held))
    return *held;
  wrongKind(key, "true or false", *value);
  return fallback;
}

std::string Options::text(std::string_view key,
                          const std::optional<std::string> &fallback) {
  const OptionValue *value = take(key, !fallback);
  if (!value)
    return fallback.value_or("");
  if (const auto *held = std::get_if<std::string>(&value->held))
    return *held;
  wrongKind(key, "a string", *value);
  return "";
}

std::vector<std::string> Options::texts(std::string_view key) {
  std::vector<std::string> result;
  const OptionValue *value = take(key);
  if (!value)
    return result;
  const auto *list = std::get_if<OptionValue::List>(&value->held);
  if (!list) {
    wrongKind(key, "a list of strings", *value);
    return result;
  }
  for (const OptionValue &element : *list) {
    if (const auto *held = std::get_if<std::string>(&element.held))
      result.push_back(*held);
    else
      wrongKind(key, "a list of strings", element);
  }
  return result;
}

std::vector<int64_t> Options::naturals(std::string_view key) {
  return integers(key, 0, std::numeric_limits<int32_t>::max(),
                  "integers from 0 to 2147483647");
}

std::vector<int64_t> Options::tokenIds(std::string_view key) {
  return integers(key, std::numeric_limits<int64_t>::min(),
                  std::numeric_limits<int64_t>::max(), "integers");
}

std::vector<int64_t> Options::integers(std::string_view key, int64_t min,
                                       int64_t max, std::string_view wanted) {
  std::vector<int64_t> result;
  auto add = [&](const OptionValue &element) {
    const auto *held = std::get_if<int64_t>(&element.held);
    if (held && *held >= min && *held <= max)
      result.push_back(*held);
    else
      wrongKind(key, wanted, element);
  };
  const OptionValue *value = take(key);
  if (!value)
    return result;
  if (const auto *list = std::get_if<OptionValue::List>(&value->held))
    std::ranges::for_each(*list, add);
  else
    add(*value);
  return result;
}

int64_t Options::uniformCount(std::string_view key,
                              std::optional<int64_t> fallback) {
  const OptionValue *value = take(key);
  if (!value || !std::holds_alternative<OptionValue::List>(value->held))
    return count(key, fallback);
  std::vector<int64_t> elements = naturals(key);
  if (elements.empty() || elements[0] == 0 ||
      std::ranges::adjacent_find(elements, std::not_equal_to<>()) !=
          elements.end()) {
    refuse(key, "layers of different sizes are not supported");
    return 1;
  }
  return elements[0];
}

Options &Options::table(std::string_view key) {
  std::unique_ptr<Options> &nested = tables[std::string(key)];
  if (nested)
    return *nested;
  OptionValue::Table content;
  if (const OptionValue *value = take(key)) {
    if (const auto *held = std::get_if<OptionValue::Table>(&value->held))
      content = *held;
    else
      wrongKind(key, "a table", *value);
  }
  nested =
      std::make_unique<Options>(place + ": " + quote(key), std::move(content));
  return *nested;
}

void Options::mustBeFlag(std::string_view key, bool wanted) {
  if (flag(key, wanted) != wanted)
    refuse(key, std::string(wanted ? "false" : "true") + " is not supported");
}

void Options::mustBeNumber(std::string_view key, double wanted) {
  if (double found = number(key, wanted); found != wanted)
    refuse(key, OptionValue{found}.describe() + " is not supported (only " +
                    OptionValue{wanted}.describe() + " is)");
}

void Options::mustBeText(std::string_view key, std::string_view wanted) {
  if (std::string found = text(key, std::string(wanted)); found != wanted)
    refuse(key,
           quote(found) + " is not supported (only " + quote(wanted) + " is)");
}

void Options::ignore(std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys)
    asked.emplace(key);
}

void Options::ignoreOthers() {
  for (const auto &[key, value] : values)
    asked.emplace(key);
}

Status Options::finish() {
  for (auto &[key, nested] : tables)
    if (Status s = nested->finish(); !s.ok() && firstError.ok())
      firstError = s;
  for (auto &[key, value] : values) {
    const bool *held = std::get_if<bool>(&value.held);
    bool isOff = value.isNull() || (held && !*held);
    if (!isOff && !asked.contains(key))
      refuse(key, "unknown option (its value " + value.describe() +
                      " may change what the model computes)");
  }
  return firstError;
}
