//===- SchemaConstraints.cpp - the constraints of schemas on a value ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaConstraints.h"

#include "runtime/grammar/Pattern.h"
#include "runtime/grammar/schema/SchemaValues.h"

#include <algorithm>
#include <unordered_set>

using namespace sluice;
using namespace sluice::grammar;

namespace {

struct NamedType {
  std::string_view name;
  uint8_t bits;
};
constexpr NamedType namedTypes[] = {
    {"null", NullType},      {"boolean", BooleanType}, {"integer", IntegerType},
    {"number", NumberTypes}, {"string", StringType},   {"array", ArrayType},
    {"object", ObjectType},
};

struct TypedKeyword {
  std::string_view name;
  uint8_t bits;
};
/// The keywords, and the types of values to which they apply.
constexpr TypedKeyword typedKeywords[] = {
    {"properties", ObjectType},
    {"required", ObjectType},
    {"additionalProperties", ObjectType},
    {"minProperties", ObjectType},
    {"maxProperties", ObjectType},
    {"patternProperties", ObjectType},
    {"propertyNames", ObjectType},
    {unevaluatedProperties, ObjectType},
    {"items", ArrayType},
    {"prefixItems", ArrayType},
    {"minItems", ArrayType},
    {"maxItems", ArrayType},
    {"additionalItems", ArrayType},
    {unevaluatedItems, ArrayType},
    {"minLength", StringType},
    {"maxLength", StringType},
    {"pattern", StringType},
    {"minimum", NumberTypes},
    {"exclusiveMinimum", NumberTypes},
    {"maximum", NumberTypes},
    {"exclusiveMaximum", NumberTypes},
    {"multipleOf", NumberTypes},
};

/// OpenAPI's formats of numbers.
struct NumberFormat {
  std::string_view name;
  bool integer;
  std::string_view min; ///< empty if unbounded
  std::string_view max;
};
constexpr NumberFormat numberFormats[] = {
    {"int32", true, "-2147483648", "2147483647"},
    {"int64", true, "-9223372036854775808", "9223372036854775807"},
    {"uint32", true, "0", "4294967295"},
    {"uint64", true, "0", "18446744073709551615"},
    {"float", false, "", ""},
    {"double", false, "", ""},
};

/// Reads several schemas into the same constraints.
class Reader {
public:
  Reader(Constraints &out, WorkMeter &meter) : out(out), meter(meter) {}

  Status read(const SchemaNode &node) {
    // Each keyword is searched among all members of the schema.
    SLUICE_RETURN_IF_ERROR(
        spendOnSchema(meter, std::size(typedKeywords) * node.value->size()));
    using Step = Status (Reader::*)(const SchemaNode &);
    for (Step step :
         {&Reader::readType, &Reader::readValues, &Reader::readBounds,
          &Reader::readLengths, &Reader::readPattern, &Reader::readFormat})
      SLUICE_RETURN_IF_ERROR((this->*step)(node));
    for (TypedKeyword keyword : typedKeywords)
      if (node.find(keyword.name))
        out.spokenOf |= keyword.bits;
    if (node.wantsUniqueItems())
      out.spokenOf |= ArrayType;
    return {};
  }

  /// Without `type`, the other keywords decide which types are meant.
  void settleTypes() {
    if (!out.typed && !out.values && out.spokenOf != 0)
      out.types = out.spokenOf;
  }

private:
  Status readType(const SchemaNode &node) {
    const ordered_json *type = node.find("type");
    if (!type)
      return {};
    auto bitsOf = [](const ordered_json &name) -> uint8_t {
      const auto *text = name.get_ptr<const std::string *>();
      for (NamedType named : namedTypes)
        if (text && *text == named.name)
          return named.bits;
      return 0;
    };
    uint8_t types = 0;
    auto names = type->is_array() ? *type : ordered_json::array({*type});
    for (const ordered_json &name : names) {
      uint8_t bits = bitsOf(name);
      if (bits == 0)
        return node.refuse("'type' is ", name.dump(), ", which is no type");
      types |= bits;
    }
    out.typed = true;
    out.types &= types;
    return {};
  }

  Status readValues(const SchemaNode &node) {
    if (const ordered_json *value = node.find("const"))
      SLUICE_RETURN_IF_ERROR(keepValues({value}));
    const ordered_json *list = node.find("enum");
    if (!list)
      return {};
    if (!list->is_array() || list->empty())
      return node.refuse("'enum' is not a list of values");
    std::vector<const ordered_json *> values;
    for (const ordered_json &value : *list)
      values.push_back(&value);
    return keepValues(std::move(values));
  }

  /// Keeps those of `values` that are also among the values so far.
  Status keepValues(std::vector<const ordered_json *> values) {
    if (!out.values) {
      out.values = std::move(values);
      return {};
    }
    std::vector<const ordered_json *> kept;
    for (const ordered_json *value : values) {
      SLUICE_RETURN_IF_ERROR(spendOnSchema(meter));
      if (std::any_of(out.values->begin(), out.values->end(),
                      [&](const ordered_json *other) {
                        return sameValue(*value, *other, meter);
                      }))
        kept.push_back(value);
    }
    out.values = std::move(kept);
    return {};
  }

  Status readBounds(const SchemaNode &node) {
    // In draft 4, the exclusive keywords are flags that apply to the other two.
    auto flag = [&](std::string_view key) {
      const ordered_json *value = node.find(key);
      return value && *value == true;
    };
    auto bound = [&](std::string_view key, bool exclusive,
                     std::vector<NumberRange::Bound> &into) -> Status {
      const ordered_json *value = node.find(key);
      if (!value || (exclusive && value->is_boolean()))
        return {};
      Expected<Decimal> number = readNumber(node, key, *value);
      if (!number)
        return number.status();
      into.push_back(
          {*number, exclusive ||
                        (key == "minimum" && flag("exclusiveMinimum")) ||
                        (key == "maximum" && flag("exclusiveMaximum"))});
      return {};
    };
    NumberRange &range = out.numbers;
    for (Status status : {bound("minimum", false, range.min),
                          bound("exclusiveMinimum", true, range.min),
                          bound("maximum", false, range.max),
                          bound("exclusiveMaximum", true, range.max)})
      if (!status.ok())
        return status;
    if (const ordered_json *value = node.find("multipleOf")) {
      Expected<Decimal> number = readNumber(node, "multipleOf", *value);
      if (!number)
        return number.status();
      if (number->negative || number->isZero())
        return node.refuse("'multipleOf' is not greater than zero");
      range.multiplesOf.push_back(*number);
    }
    return {};
  }

  static Expected<Decimal> readNumber(const SchemaNode &node,
                                      std::string_view key,
                                      const ordered_json &value) {
    if (!value.is_number())
      return node.refuse("'", key, "' is not a number");
    Expected<Decimal> number = Decimal::parse(value.dump());
    if (!number)
      return node.refuse("'", key, "' is ", number.status().message());
    return number;
  }

  Status readLengths(const SchemaNode &node) {
    auto min = readCount(node, "minLength"), max = readCount(node, "maxLength");
    if (!min || !max)
      return min ? max.status() : min.status();
    out.minLength = std::max(out.minLength, min->value_or(0));
    if (*max)
      out.maxLength = std::min(out.maxLength.value_or(**max), **max);
    return {};
  }

  Status readPattern(const SchemaNode &node) {
    const ordered_json *value = node.find("pattern");
    if (!value)
      return {};
    const auto *pattern = value->get_ptr<const std::string *>();
    if (!pattern)
      return node.refuse("'pattern' is not a string");
    return addPattern(node, "pattern", *pattern);
  }

  Status readFormat(const SchemaNode &node) {
    const ordered_json *value = node.find("format");
    if (!value)
      return {};
    const auto *name = value->get_ptr<const std::string *>();
    if (!name)
      return node.refuse("'format' is not a string");
    if (std::optional<std::string_view> pattern = formatPattern(*name)) {
      out.spokenOf |= StringType;
      out.hasFormat = true;
      return addPattern(node, "format", *pattern);
    }
    for (const NumberFormat &format : numberFormats)
      if (format.name == *name) {
        addNumberFormat(format);
        return {};
      }
    return node.refuse("the format '", *name, "' is not supported");
  }

  void addNumberFormat(const NumberFormat &format) {
    out.spokenOf |= format.integer ? IntegerType : NumberTypes;
    if (format.integer)
      out.types &= ~FractionType;
    out.hasFormat |= format.integer;
    if (!format.min.empty()) {
      out.numbers.min.push_back({*Decimal::parse(format.min)});
      out.numbers.max.push_back({*Decimal::parse(format.max)});
    }
  }

  Status addPattern(const SchemaNode &node, std::string_view key,
                    std::string_view pattern) {
    Expected<TextAutomaton> made = compilePattern(pattern, meter);
    if (made && out.patterns)
      made = TextAutomaton::intersection(*out.patterns, *made, meter);
    if (!made)
      return node.refuse("'", key, "': ", made.status().message());
    out.patterns = made.take();
    return {};
  }

  Constraints &out;
  WorkMeter &meter;
};

/// Keeps the values that satisfy the other constraints.
Status filterValues(Constraints &out, WorkMeter &meter) {
  constexpr uint8_t structured = ArrayType | ObjectType;
  Expected<NumberAutomata> numbers = numberAutomata(out.numbers, meter);
  if (!numbers)
    return out.place().refuse(numbers.status().message());
  Expected<SizedTexts> strings = out.strings();
  if (!strings)
    return strings.status();
  std::vector<const ordered_json *> kept;
  for (const ordered_json *value : *out.values) {
    uint8_t type = typeOf(*value);
    const auto *text = value->get_ptr<const std::string *>();
    SLUICE_RETURN_IF_ERROR(spendOnSchema(meter, 1 + (text ? text->size() : 0)));
    if (!(out.types & type))
      continue;
    if (type & out.spokenOf & structured)
      return out.place().refuse(
          "'enum' or 'const' with objects or arrays, beside keywords that look "
          "into them, is not supported");
    if (text && !strings->contains(*text))
      continue;
    if (type & NumberTypes && out.numbers.bounded()) {
      Expected<Decimal> number = Decimal::parse(value->dump());
      if (!number || !numbers->contains(*number))
        continue;
    }
    kept.push_back(value);
    out.valueTypes |= type;
  }
  out.values = std::move(kept);
  return {};
}

} // namespace

uint8_t sluice::grammar::typeOf(const ordered_json &value) {
  using Type = nlohmann::detail::value_t;
  switch (value.type()) {
  case Type::boolean:
    return BooleanType;
  case Type::number_integer:
  case Type::number_unsigned:
    return IntegerType;
  case Type::number_float: {
    Expected<Decimal> number = Decimal::parse(value.dump());
    return number && number->fraction.empty() ? IntegerType : FractionType;
  }
  case Type::string:
    return StringType;
  case Type::array:
    return ArrayType;
  case Type::object:
    return ObjectType;
  default:
    return NullType;
  }
}

std::vector<std::string> Constraints::requiredNames(WorkMeter &meter) const {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  for (const SchemaNode &node : nodes)
    if (const ordered_json *required = node.find("required"))
      for (const ordered_json &name : *required)
        if (const auto &text = name.get_ref<const std::string &>();
            meter.charge(1 + text.size()) && seen.insert(text).second)
          names.push_back(text);
  return names;
}

Expected<SizedTexts> Constraints::strings() const {
  constexpr uint64_t longest = SizedTexts::unbounded - 1;
  if (minLength > longest)
    return place().refuse("'minLength' is more than ", longest,
                          ", which is not supported");
  SizedTexts strings;
  strings.texts = patterns ? *patterns : TextAutomaton::all();
  strings.min = static_cast<uint32_t>(minLength);
  // No answer is longer than that.
  if (maxLength && *maxLength <= longest)
    strings.max = static_cast<uint32_t>(*maxLength);
  return strings;
}

Expected<Constraints>
sluice::grammar::readConstraints(std::vector<SchemaNode> nodes,
                                 WorkMeter &meter) {
  Constraints out;
  out.nodes = std::move(nodes);
  Reader reader(out, meter);
  for (const SchemaNode &node : out.nodes)
    SLUICE_RETURN_IF_ERROR(reader.read(node));
  reader.settleTypes();
  out.numbers.integer = !(out.types & FractionType);
  if (out.values)
    SLUICE_RETURN_IF_ERROR(filterValues(out, meter));
  return out;
}
