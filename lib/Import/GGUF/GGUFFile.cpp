//===- GGUFFile.cpp - reader of GGUF model files --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks up and converts the values that GGUFParser.cpp has checked.
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/GGUF/GGUFFile.h"

#include "GGUFParser.h"
#include "sluice/Import/Support/Quote.h"

#include <cstring>
#include <limits>

using namespace sluice;
using namespace sluice::gguf;

std::string_view gguf::valueTypeName(ValueType type) {
  static constexpr std::string_view names[] = {
      "uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
      "bool",  "string", "array",  "uint64", "int64",  "float64"};
  return names[static_cast<uint32_t>(type)];
}

uint64_t gguf::valueTypeBytes(ValueType type) {
  // Strings and arrays have no fixed size.
  static constexpr uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return sizes[static_cast<uint32_t>(type)];
}

namespace {

template <typename T> T load(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// Returns the integer of `type` at `bytes`, or nothing for other types and for
/// values beyond int64_t.
std::optional<int64_t> loadInt(ValueType type, const uint8_t *bytes) {
  switch (type) {
  case ValueType::UInt8:
    return load<uint8_t>(bytes);
  case ValueType::Int8:
    return load<int8_t>(bytes);
  case ValueType::UInt16:
    return load<uint16_t>(bytes);
  case ValueType::Int16:
    return load<int16_t>(bytes);
  case ValueType::UInt32:
    return load<uint32_t>(bytes);
  case ValueType::Int32:
    return load<int32_t>(bytes);
  case ValueType::Int64:
    return load<int64_t>(bytes);
  case ValueType::UInt64: {
    auto value = load<uint64_t>(bytes);
    if (value > uint64_t(std::numeric_limits<int64_t>::max()))
      return std::nullopt;
    return static_cast<int64_t>(value);
  }
  default:
    return std::nullopt;
  }
}

std::optional<double> loadFloat(ValueType type, const uint8_t *bytes) {
  if (type == ValueType::Float32)
    return load<float>(bytes);
  if (type == ValueType::Float64)
    return load<double>(bytes);
  return std::nullopt;
}

} // namespace

std::string MetadataValue::typeName() const {
  if (!isArray())
    return std::string(valueTypeName(kind));
  return "array of " + std::string(valueTypeName(element));
}

std::optional<uint64_t> MetadataValue::asUInt() const {
  if (kind == ValueType::UInt64)
    return load<uint64_t>(payload.data());
  std::optional<int64_t> value = asInt();
  if (!value || *value < 0)
    return std::nullopt;
  return static_cast<uint64_t>(*value);
}

std::optional<int64_t> MetadataValue::asInt() const {
  return loadInt(kind, payload.data());
}

std::optional<double> MetadataValue::asFloat() const {
  return loadFloat(kind, payload.data());
}

std::optional<bool> MetadataValue::asBool() const {
  if (kind != ValueType::Bool)
    return std::nullopt;
  return payload[0] != 0;
}

std::optional<std::string_view> MetadataValue::asString() const {
  if (kind != ValueType::String)
    return std::nullopt;
  return std::string_view(reinterpret_cast<const char *>(payload.data()),
                          payload.size());
}

const std::vector<std::string_view> *MetadataValue::asStrings() const {
  return isArray() && element == ValueType::String ? &strings : nullptr;
}

std::optional<std::vector<int64_t>> MetadataValue::asInts() const {
  if (!isArray())
    return std::nullopt;
  std::vector<int64_t> values;
  values.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    std::optional<int64_t> value =
        loadInt(element, payload.data() + i * valueTypeBytes(element));
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<std::vector<float>> MetadataValue::asFloats() const {
  if (!isArray() ||
      (element != ValueType::Float32 && element != ValueType::Float64))
    return std::nullopt;
  std::vector<float> values;
  values.reserve(count);
  for (uint64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(
        *loadFloat(element, payload.data() + i * valueTypeBytes(element))));
  return values;
}

std::optional<std::vector<bool>> MetadataValue::asBools() const {
  if (!isArray() || element != ValueType::Bool)
    return std::nullopt;
  std::vector<bool> values;
  values.reserve(count);
  for (uint64_t i = 0; i < count; ++i)
    values.push_back(payload[i] != 0);
  return values;
}

const MetadataValue *GGUFFile::find(std::string_view key) const {
  auto found = entryIndex.find(key);
  return found == entryIndex.end() ? nullptr : &entries[found->second].value;
}

namespace {

/// Returns the value of `key`, converted by `read`, or nothing if the key is
/// absent.
template <typename T>
Expected<std::optional<T>> typed(const GGUFFile &file, std::string_view key,
                                 std::optional<T> (MetadataValue::*read)()
                                     const,
                                 std::string_view wanted) {
  const MetadataValue *value = file.find(key);
  if (!value)
    return std::optional<T>();
  std::optional<T> result = (value->*read)();
  if (!result)
    return failure(file.path(), ": ", key, ": expected ", wanted, ", found ",
                   value->typeName());
  return result;
}

} // namespace

Expected<std::optional<uint64_t>>
GGUFFile::uintValue(std::string_view key) const {
  return typed(*this, key, &MetadataValue::asUInt, "a non-negative integer");
}

Expected<std::optional<bool>> GGUFFile::boolValue(std::string_view key) const {
  return typed(*this, key, &MetadataValue::asBool, "a bool");
}

Expected<std::optional<std::string_view>>
GGUFFile::stringValue(std::string_view key) const {
  return typed(*this, key, &MetadataValue::asString, "a string");
}
