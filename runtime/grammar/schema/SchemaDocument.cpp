//===- SchemaDocument.cpp - values and places of a JSON schema ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaDocument.h"

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/text/JsonReader.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// The keywords that constrain a value by themselves.
constexpr std::string_view constraints[] = {
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "additionalItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "multipleOf",
    "exclusiveMaximum",
    "uniqueItems",
    unevaluatedProperties,
    unevaluatedItems,
};

constexpr std::string_view combinations[] = {"$ref", "allOf", "anyOf", "oneOf"};

/// The keywords that constrain a value but cannot be enforced. Unknown keywords
/// are annotations, as JSON Schema (core, 6.5) says.
constexpr std::string_view unsupported[] = {"not",          "if",
                                            "then",         "else",
                                            "contains",     "minContains",
                                            "maxContains",  "dependentRequired",
                                            "dependencies", "dependentSchemas",
                                            "$dynamicRef",  "$recursiveRef",
                                            "extends",      "disallow",
                                            "divisibleBy"};

bool contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Returns whether the keyword is supported with this value. For unevaluated
/// parts, only a prohibition is supported.
bool isSupported(std::string_view key, const ordered_json &value) {
  if (key == unevaluatedProperties || key == unevaluatedItems)
    return value.is_boolean();
  return !contains(unsupported, key);
}

bool isSchema(const ordered_json &value) {
  return value.is_object() || value.is_boolean();
}

bool isList(const ordered_json &value, bool (*isItem)(const ordered_json &)) {
  return value.is_array() && std::all_of(value.begin(), value.end(), isItem);
}

/// Returns what is wrong with the kind of a keyword's value, as text for a
/// message; empty if nothing is. This is checked also where the keyword does
/// not apply, so that a mistake is noticed.
std::string_view wrongKind(std::string_view key, const ordered_json &value) {
  auto isText = [](const ordered_json &item) { return item.is_string(); };
  if (key == "required" && !isList(value, isText))
    return "is not a list of names";
  if ((key == "properties" || key == "patternProperties") && !value.is_object())
    return "is not an object";
  if (key == "uniqueItems" && !value.is_boolean())
    return "is not a boolean";
  if (key == "prefixItems" && !value.is_array())
    return "is not a list of schemas";
  if (contains(combinations, key) && key != "$ref" &&
      (!value.is_array() || value.empty()))
    return "is not a list of schemas";
  if ((key == "items" && !isSchema(value) && !value.is_array()) ||
      ((key == "additionalProperties" || key == "propertyNames" ||
        key == "additionalItems") &&
       !isSchema(value)))
    return "is no schema, which is an object or a boolean";
  return {};
}

/// Returns whether references below the schema are relative to it: it has an
/// $id that is no anchor. Until draft 7, anchors were written as $id.
bool isBase(const ordered_json &value) {
  if (!value.is_object() || !value.contains("$id"))
    return false;
  const auto *id = value["$id"].get_ptr<const std::string *>();
  return id && !id->empty() && !id->starts_with('#');
}

/// Returns `token` with the special characters of a pointer escaped, and
/// truncated if it is long: each of thousands of members has its own pointer.
std::string escaped(std::string_view token) {
  constexpr size_t max = 64;
  std::string out;
  for (char c : token.substr(0, max))
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  return token.size() <= max ? out : out + "...";
}

/// Decodes a token of a URI fragment; nothing if it is malformed.
std::optional<std::string> unescaped(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '%') {
      uint8_t byte = 0;
      const char *digits = token.data() + i + 1;
      if (i + 2 >= token.size() ||
          std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
        return std::nullopt;
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += token[i];
    }
  }
  for (size_t i = 0; (i = out.find('~', i)) != std::string::npos; ++i) {
    char code = i + 1 < out.size() ? out[i + 1] : '\0';
    if (code != '0' && code != '1')
      return std::nullopt;
    out.replace(i, 2, code == '0' ? "~" : "/");
  }
  return out;
}

/// Returns a value that is directly in `parent`.
SchemaNode partOf(const SchemaNode &parent, const ordered_json *value,
                  std::string_view step) {
  // Pointers are only for messages, and there can be very many of them.
  constexpr size_t longest = 512;
  SchemaNode part{value, parent.pointer, parent.base, parent.basePointer};
  if (part.pointer.size() > longest)
    part.pointer.replace(longest / 2, std::string::npos, "/...");
  part.pointer += "/" + escaped(step);
  if (value && isBase(*value)) {
    part.base = value;
    part.basePointer = part.pointer;
  }
  return part;
}

} // namespace

SchemaNode SchemaNode::member(std::string_view key) const {
  return partOf(*this, find(key), key);
}

SchemaNode SchemaNode::member(std::string_view key,
                              const ordered_json &found) const {
  return partOf(*this, &found, key);
}

SchemaNode SchemaNode::item(size_t index) const {
  return partOf(*this, &(*value)[index], std::to_string(index));
}

SchemaNode SchemaNode::asPartOf(const SchemaNode &whole) const {
  SchemaNode part = *this;
  part.within = whole.within;
  if (part.closes(unevaluatedProperties) || part.closes(unevaluatedItems))
    if (!part.isWithin(part))
      part.within.push_back(value);
  return part;
}

const ordered_json *SchemaNode::find(std::string_view key) const {
  if (!value->is_object())
    return nullptr;
  auto found = value->find(key);
  return found == value->end() ? nullptr : &*found;
}

bool SchemaNode::closes(std::string_view keyword) const {
  const ordered_json *unevaluated = find(keyword);
  return unevaluated && *unevaluated == false;
}

bool SchemaNode::wantsUniqueItems() const {
  const ordered_json *unique = find("uniqueItems");
  return unique && *unique == true;
}

bool SchemaNode::isWithin(const SchemaNode &whole) const {
  return std::find(within.begin(), within.end(), whole.value) != within.end();
}

Status sluice::grammar::checkSchema(const SchemaNode &schema) {
  if (schema.value->is_boolean())
    return {};
  if (!schema.value->is_object())
    return schema.refuse("a schema is an object or a boolean");
  for (const auto &item : schema.value->items())
    if (!isSupported(item.key(), item.value()))
      return schema.refuse("'", item.key(), "' is not supported");
  for (const auto &item : schema.value->items())
    if (std::string_view wrong = wrongKind(item.key(), item.value());
        !wrong.empty())
      return schema.refuse("'", item.key(), "' ", wrong);
  for (std::string_view key :
       {"minItems", "maxItems", "minProperties", "maxProperties"})
    if (Expected<std::optional<uint64_t>> count = readCount(schema, key);
        !count)
      return count.status();
  return {};
}

bool sluice::grammar::hasConstraints(const SchemaNode &schema) {
  for (const auto &item : schema.value->items())
    if (contains(constraints, item.key()))
      return true;
  return false;
}

Expected<SchemaNode> sluice::grammar::resolveReference(const SchemaNode &root,
                                                       const SchemaNode &schema,
                                                       WorkMeter &meter) {
  const auto *text = schema.find("$ref")->get_ptr<const std::string *>();
  if (!text)
    return schema.refuse("'$ref' is not a string");
  std::string_view rest = *text;
  if (rest != "#" && !rest.starts_with("#/"))
    return schema.refuse("'$ref' is '", rest,
                         "', not a pointer into the document (#/...)");
  rest.remove_prefix(1);
  SchemaNode at = root;
  if (schema.base)
    at = {schema.base, schema.basePointer, schema.base, schema.basePointer};
  while (!rest.empty()) {
    // A member is searched linearly, and twice.
    SLUICE_RETURN_IF_ERROR(spendOnSchema(meter, 2 * at.value->size()));
    rest.remove_prefix(1); // the slash
    size_t end = std::min(rest.find('/'), rest.size());
    std::optional<std::string> token = unescaped(rest.substr(0, end));
    rest.remove_prefix(end);
    SchemaNode next;
    if (token && at.value->is_object() && at.find(*token)) {
      next = at.member(*token);
    } else if (token && at.value->is_array()) {
      size_t index = 0;
      const char *last = token->data() + token->size();
      auto read = std::from_chars(token->data(), last, index);
      if (read.ec == std::errc() && read.ptr == last &&
          index < at.value->size())
        next = at.item(index);
    }
    if (!next.value)
      return schema.refuse("'$ref' is '", *text, "', which is not there");
    at = std::move(next);
  }
  return at;
}

Expected<std::optional<uint64_t>>
sluice::grammar::readCount(const SchemaNode &schema, std::string_view key) {
  const ordered_json *value = schema.find(key);
  if (!value)
    return std::optional<uint64_t>();
  constexpr double max = 9007199254740992; // 2^53
  double number = value->is_number() ? value->get<double>() : -1;
  if (number < 0 || number > max || number != static_cast<uint64_t>(number))
    return schema.refuse("'", key, "' is not a whole number from 0 to 2^53");
  return std::optional<uint64_t>(static_cast<uint64_t>(number));
}

static Status tooDeep() {
  return failure("JSON schema: values lie in more than ", maxDepth, " others");
}

static Status tooManyValues() {
  return failure("JSON schema: more than ", maxSchemaValues, " values");
}

static Status tooManyMembers() {
  return failure("JSON schema: more than ", maxSchemaMembers, " members");
}

Expected<text::JsonTree> sluice::grammar::readSchema(std::string_view text) {
  auto read = text::readJson(text, {.depth = maxDepth,
                                    .values = maxSchemaValues,
                                    .objectMembers = maxSchemaMembers,
                                    .treeBytes = maxSchemaBytes});
  if (auto *document = std::get_if<text::JsonTree>(&read))
    return std::move(*document);
  using Kind = text::JsonError::Kind;
  switch (std::get<text::JsonError>(read).kind) {
  case Kind::Depth:
    return tooDeep();
  case Kind::Values:
    return tooManyValues();
  case Kind::ObjectMembers:
    return tooManyMembers();
  case Kind::TreeBytes:
    return failure("JSON schema: it takes more than ", maxSchemaBytes,
                   " bytes of memory");
  case Kind::Encoding:
  case Kind::Syntax:
  case Kind::Number:
    break;
  }
  return failure("the schema is not JSON");
}

Status sluice::grammar::checkSize(const ordered_json &document) {
  struct Nested {
    const ordered_json *value;
    size_t depth;
  };
  std::vector<Nested> work{{&document, 1}};
  size_t members = 0;
  for (size_t count = 1; !work.empty(); ++count) {
    Nested place = work.back();
    work.pop_back();
    if (place.depth > maxDepth)
      return tooDeep();
    if (count > maxSchemaValues)
      return tooManyValues();
    if (place.value->is_object())
      members += place.value->size();
    if (members > maxSchemaMembers)
      return tooManyMembers();
    if (place.value->is_structured())
      for (const ordered_json &child : *place.value)
        work.push_back({&child, place.depth + 1});
  }
  return {};
}
