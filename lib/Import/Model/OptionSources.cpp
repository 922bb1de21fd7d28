//===- OptionSources.cpp - configurations from JSON and from GGUF ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/GGUF/GGUFFile.h"
#include "sluice/Import/Model/Options.h"

#include <nlohmann/json.hpp>

#include <limits>

using namespace sluice;
using namespace sluice::importer;
using nlohmann::json;

namespace {

/// The longest list that counts as an option. Longer lists, such as
/// vocabularies, are no options.
constexpr size_t longestList = 16384;

OptionValue fromJSONValue(const json &value);

OptionValue::Table fromJSONObject(const json &object) {
  OptionValue::Table table;
  for (const auto &item : object.items())
    table.emplace(item.key(), fromJSONValue(item.value()));
  return table;
}

OptionValue::List fromJSONArray(const json &array) {
  OptionValue::List list;
  for (const json &element : array)
    list.push_back(fromJSONValue(element));
  return list;
}

// parseJSON() limits the depth of the recursion.
OptionValue fromJSONValue(const json &value) {
  switch (value.type()) {
  case json::value_t::null:
    return {};
  case json::value_t::boolean:
    return {value.get<bool>()};
  case json::value_t::number_integer:
    return {value.get<int64_t>()};
  case json::value_t::number_unsigned: {
    auto number = value.get<uint64_t>();
    if (number > uint64_t(std::numeric_limits<int64_t>::max()))
      return {static_cast<double>(number)};
    return {static_cast<int64_t>(number)};
  }
  case json::value_t::number_float:
    return {value.get<double>()};
  case json::value_t::string:
    return {value.get_ref<const std::string &>()};
  case json::value_t::object:
    return {fromJSONObject(value)};
  case json::value_t::array:
    if (value.size() <= longestList)
      return {fromJSONArray(value)};
    break;
  default:
    break;
  }
  return {OptionValue::Other{"a list of " + std::to_string(value.size()) +
                             " elements"}};
}

OptionValue fromGGUFArray(const gguf::MetadataValue &value) {
  OptionValue::List list;
  if (value.arraySize() <= longestList) {
    if (auto integers = value.asInts()) {
      for (int64_t element : *integers)
        list.push_back({element});
      return {std::move(list)};
    }
    if (auto bools = value.asBools()) {
      for (bool element : *bools)
        list.push_back({element});
      return {std::move(list)};
    }
    if (auto floats = value.asFloats()) {
      for (float element : *floats)
        list.push_back({static_cast<double>(element)});
      return {std::move(list)};
    }
  }
  return {OptionValue::Other{"an " + value.typeName()}};
}

OptionValue fromGGUFValue(const gguf::MetadataValue &value) {
  if (value.isArray())
    return fromGGUFArray(value);
  if (auto held = value.asBool())
    return {*held};
  if (auto held = value.asInt())
    return {*held};
  if (auto held = value.asFloat())
    return {*held};
  if (auto held = value.asString())
    return {std::string(*held)};
  return {OptionValue::Other{"a " + value.typeName() + " out of range"}};
}

} // namespace

Options Options::fromJSON(std::string place, const json &object) {
  return {std::move(place),
          object.is_object() ? fromJSONObject(object) : OptionValue::Table()};
}

Options Options::fromGGUF(const gguf::GGUFFile &file, std::string_view prefix) {
  OptionValue::Table table;
  for (const gguf::MetadataEntry &entry : file.metadata())
    if (entry.key.starts_with(prefix))
      table.emplace(entry.key.substr(prefix.size()),
                    fromGGUFValue(entry.value));
  std::string place = file.path();
  if (!prefix.empty())
    place += ": " + std::string(prefix) + "*";
  return {std::move(place), std::move(table)};
}
