//===- JsonFields.cpp - strict reader of a JSON object's fields -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonFields.h"

#include "sluice/Import/Support/Quote.h"

using namespace sluice;
using namespace sluice::hf;
using nlohmann::json;

static const json emptyObject = json::object();
static const json emptyArray = json::array();

JsonFields::JsonFields(const json &value, std::string place)
    : object(&value), place(std::move(place)) {
  if (!value.is_object()) {
    status = failure(this->place, ": not an object");
    object = &emptyObject;
  }
}

std::string JsonFields::at(std::string_view name) const {
  return place.empty() ? std::string(name) : place + "." + std::string(name);
}

void JsonFields::fail(std::string_view name, std::string_view reason) {
  keep(failure(at(name), ": ", reason));
}

void JsonFields::keep(const Status &error) {
  if (status.ok())
    status = error;
}

const json *JsonFields::find(const char *name) {
  asked.insert(name);
  auto field = object->find(name);
  return field == object->end() || field->is_null() ? nullptr : &*field;
}

const json &JsonFields::get(const char *name) {
  const json *field = find(name);
  if (!field)
    fail(name, "missing");
  return field ? *field : emptyObject;
}

const json &JsonFields::array(const char *name) {
  const json &field = get(name);
  if (!field.is_array())
    fail(name, "not an array");
  return field.is_array() ? field : emptyArray;
}

std::string JsonFields::string(const char *name) {
  const json &field = get(name);
  if (!field.is_string())
    fail(name, "not a string");
  return field.is_string() ? *field.get_ptr<const std::string *>()
                           : std::string();
}

std::optional<std::string> JsonFields::optionalString(const char *name) {
  if (!find(name))
    return std::nullopt;
  return string(name);
}

bool JsonFields::flag(const char *name) {
  const json &field = get(name);
  if (!field.is_boolean())
    fail(name, "not true or false");
  return field.is_boolean() && field.get<bool>();
}

bool JsonFields::flag(const char *name, bool otherwise) {
  return find(name) ? flag(name) : otherwise;
}

uint32_t JsonFields::number(const char *name) {
  const json &field = get(name);
  if (!field.is_number_unsigned() || field.get<uint64_t>() > UINT32_MAX) {
    fail(name, "not a number that fits 32 bits");
    return 0;
  }
  return static_cast<uint32_t>(field.get<uint64_t>());
}

Status JsonFields::finish() {
  for (auto field = object->begin(); field != object->end(); ++field)
    if (!field->is_null() && !asked.contains(field.key()))
      fail(quote(field.key()), "not supported");
  return status;
}
