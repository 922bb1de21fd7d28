//===- FieldReader.cpp - checked reading of a JSON object's members -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/FieldReader.h"

#include <cmath>

using namespace sluice;
using namespace sluice::openai;

std::string_view openai::typeName(const ordered_json &value) {
  switch (value.type()) {
  case ordered_json::value_t::boolean:
    return "a boolean";
  case ordered_json::value_t::number_integer:
  case ordered_json::value_t::number_unsigned:
    return "an integer";
  case ordered_json::value_t::number_float:
    return "a number";
  case ordered_json::value_t::string:
    return "a string";
  case ordered_json::value_t::array:
    return "an array";
  case ordered_json::value_t::object:
    return "an object";
  default:
    return "null";
  }
}

ApiStatus openai::checkObject(const ordered_json &value,
                              const std::string &path) {
  if (value.is_object())
    return std::nullopt;
  return invalidField(path, "'" + path + "' is " +
                                std::string(typeName(value)) +
                                ", not an object");
}

std::optional<int64_t> openai::integerOf(const ordered_json &value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
    return std::nullopt;
  if (value.is_number_integer())
    return value.get<int64_t>();
  if (!value.is_number_float())
    return std::nullopt;
  auto number = value.get<double>();
  // Up to 2^53, a double represents every integer exactly.
  if (std::trunc(number) != number || std::abs(number) > 0x1p53)
    return std::nullopt;
  return static_cast<int64_t>(number);
}

const ordered_json *FieldReader::find(std::string_view name) const {
  auto found = object->find(name);
  return found == object->end() || found->is_null() ? nullptr : &*found;
}

std::string FieldReader::pathOf(std::string_view name) const {
  if (path.empty() || name.empty())
    return path + std::string(name);
  return path + '.' + std::string(name);
}

void FieldReader::keep(ApiStatus status) {
  if (!first)
    first = std::move(status);
}

void FieldReader::wrongType(std::string_view name, const ordered_json &value,
                            std::string_view wanted) {
  fail(name, "is ", typeName(value), ", not ", wanted);
}

void FieldReader::flag(std::string_view name, bool &out) {
  const ordered_json *value = find(name);
  if (!value)
    return;
  if (!value->is_boolean())
    return wrongType(name, *value, "a boolean");
  out = value->get<bool>();
}

void FieldReader::integer(std::string_view name, int64_t &out, int64_t min,
                          int64_t max) {
  std::optional<int64_t> read;
  integer(name, read, min, max);
  if (read)
    out = *read;
}

void FieldReader::integer(std::string_view name, std::optional<int64_t> &out,
                          int64_t min, int64_t max) {
  const ordered_json *value = find(name);
  if (!value)
    return;
  if (!value->is_number())
    return wrongType(name, *value, "an integer");
  std::optional<int64_t> read = integerOf(*value);
  if (!read)
    return fail(name, "is ", value->dump(), ", not an integer of 64 bits");
  if (*read < min)
    return fail(name, "is ", *read, ", less than ", min);
  if (*read > max)
    return fail(name, "is ", *read, ", more than ", max);
  out = *read;
}

void FieldReader::number(std::string_view name, double &out) {
  const ordered_json *value = find(name);
  if (!value)
    return;
  if (!value->is_number())
    return wrongType(name, *value, "a number");
  out = value->get<double>();
}

void FieldReader::text(std::string_view name, std::string &out) {
  const ordered_json *value = find(name);
  if (!value)
    return;
  if (!value->is_string())
    return wrongType(name, *value, "a string");
  out = value->get<std::string>();
}

const ordered_json *FieldReader::array(std::string_view name) {
  const ordered_json *value = find(name);
  if (!value || value->is_array())
    return value;
  wrongType(name, *value, "an array");
  return nullptr;
}

const ordered_json *FieldReader::members(std::string_view name) {
  const ordered_json *value = find(name);
  if (!value || value->is_object())
    return value;
  wrongType(name, *value, "an object");
  return nullptr;
}
