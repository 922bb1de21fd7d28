//===- JsonWriter.cpp - one JSON object, member by member -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/JsonWriter.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::app;

void JsonWriter::separate() {
  if (needComma)
    out += ", ";
  needComma = true;
}

void JsonWriter::beginObject() {
  separate();
  out += '{';
  needComma = false;
}

void JsonWriter::endObject() {
  out += '}';
  needComma = true;
}

void JsonWriter::beginArray() {
  separate();
  out += '[';
  needComma = false;
}

void JsonWriter::endArray() {
  out += ']';
  needComma = true;
}

JsonWriter &JsonWriter::key(std::string_view name) {
  string(name);
  out += ": ";
  needComma = false;
  return *this;
}

void JsonWriter::json(std::string_view value) {
  separate();
  out += value;
}

void JsonWriter::null() {
  separate();
  out += "null";
}

void JsonWriter::boolean(bool value) {
  separate();
  out += value ? "true" : "false";
}

void JsonWriter::string(std::string_view value) {
  separate();
  out += nlohmann::json(value).dump(-1, ' ', /*ensure_ascii=*/false,
                                    nlohmann::json::error_handler_t::replace);
}

void JsonWriter::number(int64_t value) {
  separate();
  out += std::to_string(value);
}

void JsonWriter::number(uint64_t value) {
  separate();
  out += std::to_string(value);
}

void JsonWriter::number(float value) { print("%.9g", value); }

void JsonWriter::number(double value) { print("%.12g", value); }

void JsonWriter::print(const char *format, double value) {
  if (!std::isfinite(value))
    return null();
  separate();
  char digits[40];
  std::snprintf(digits, sizeof(digits), format, value);
  out += digits;
}
