//===- JsonSchemaRefusalTest.cpp - tests of refused schemas ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Grammar.h"
#include "runtime/grammar/test/TestGrammars.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::grammar;
using nlohmann::ordered_json;

namespace {

std::string errorOf(std::string_view schema) {
  ordered_json parsed = ordered_json::parse(schema, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << schema;
  WorkMeter meter(untimedGrammarWork);
  return Grammar::fromJsonSchema(parsed, meter).status().message();
}

std::string listOf(int from, int to, const std::string &before,
                   const std::string &after) {
  std::string list;
  for (int i = from; i < to; ++i)
    list += (i == from ? "" : ",") + before + std::to_string(i) + after;
  return list;
}

TEST(JsonSchemaRefusalTest, UnsupportedKeywordsByNameAndPlace) {
  for (std::string key : {"not", "if", "then", "else", "contains",
                          "minContains", "dependentRequired",
                          "dependentSchemas", "$dynamicRef", "$recursiveRef"})
    EXPECT_EQ(errorOf(R"({"properties": {"a b": {")" + key + "\": {}}}}"),
              "JSON schema #/properties/a b: '" + key + "' is not supported");
  for (std::string items :
       {"", R"("items": {"type": "string"},)", R"("items": {"maximum": 3},)",
        R"("items": {"oneOf": [{"const": 1}, {"const": 2}]},)",
        R"("prefixItems": [{"const": 1}], "items": {"type": "integer"},)"})
    EXPECT_EQ(errorOf("{" + items + R"("uniqueItems": true})"),
              "JSON schema #: 'uniqueItems' is supported only where the items "
              "are of a few values, each of which is named");
  EXPECT_EQ(errorOf(R"({"items": {"enum": [)" + listOf(0, 11, "", "") +
                    R"(]}, "uniqueItems": true})"),
            "JSON schema #: 'uniqueItems' with more than 1024 sets of values "
            "that can have been written");
  EXPECT_EQ(errorOf(R"({"uniqueItems": "yes"})"),
            "JSON schema #: 'uniqueItems' is not a boolean");
  EXPECT_EQ(errorOf(R"({"unevaluatedItems": {"type": "null"}})"),
            "JSON schema #: 'unevaluatedItems' is not supported");
  EXPECT_EQ(errorOf(R"({"$defs": {"x": {"properties": {"a": {}}}},
                        "$ref": "#/$defs/x", "allOf": [
                          {"$ref": "#/$defs/x", "type": "object",
                           "unevaluatedProperties": false}]})"),
            "JSON schema #/$defs/x: it holds twice for a value, and not both "
            "times below the same 'unevaluatedProperties' or "
            "'unevaluatedItems', which is not supported");
  EXPECT_EQ(errorOf(R"({"items": {"anyOf": [{}, {"not": {}}]}})"),
            "JSON schema #/items/anyOf/1: 'not' is not supported");
  EXPECT_EQ(
      errorOf(R"({"$defs": {"a/b": {"not": {}}}, "$ref": "#/$defs/a~1b"})"),
      "JSON schema #/$defs/a~1b: 'not' is not supported");
  // Schemas to which no reference leads are not checked.
  EXPECT_EQ(errorOf(R"({"$defs": {"a": {"not": {}}}})"), "");
  EXPECT_EQ(errorOf(R"({"format": "regex"})"),
            "JSON schema #: the format 'regex' is not supported");
  EXPECT_EQ(errorOf(R"x({"pattern": "a(?=b)"})x"),
            "JSON schema #: 'pattern': at byte 1: a look-ahead is not "
            "supported");
  EXPECT_EQ(errorOf(R"({"patternProperties": {"\\b": {}}})"),
            "JSON schema #/patternProperties: the pattern '\\b': at byte 0: a "
            "word boundary is not supported");
  EXPECT_EQ(errorOf(R"({"type": "number", "multipleOf": 0.123456})"),
            "JSON schema #: the bounds of the number: multiples of a number of "
            "more than 4 digits are not supported");
  EXPECT_EQ(errorOf(R"({"enum": [{"a": 1}], "properties": {"a": {}}})"),
            "JSON schema #: 'enum' or 'const' with objects or arrays, beside "
            "keywords that look into them, is not supported");
  EXPECT_EQ(errorOf(R"({"type": "object",
                        "propertyNames": {"anyOf": [{"const": "a"}]}})"),
            "JSON schema #/propertyNames: 'anyOf' and 'oneOf' are not "
            "supported for names");
}

TEST(JsonSchemaRefusalTest, ValuesOfTheWrongKind) {
  EXPECT_EQ(errorOf("3"), "JSON schema #: a schema is an object or a boolean");
  EXPECT_EQ(errorOf(R"({"items": "x"})"),
            "JSON schema #: 'items' is no schema, which is an object or a "
            "boolean");
  EXPECT_EQ(errorOf(R"({"type": "int"})"),
            "JSON schema #: 'type' is \"int\", which is no type");
  EXPECT_EQ(errorOf(R"({"type": ["string", 3]})"),
            "JSON schema #: 'type' is 3, which is no type");
  EXPECT_EQ(errorOf(R"({"enum": []})"),
            "JSON schema #: 'enum' is not a list of values");
  EXPECT_EQ(errorOf(R"({"properties": []})"),
            "JSON schema #: 'properties' is not an object");
  EXPECT_EQ(errorOf(R"({"patternProperties": 1})"),
            "JSON schema #: 'patternProperties' is not an object");
  EXPECT_EQ(errorOf(R"({"required": true})"),
            "JSON schema #: 'required' is not a list of names");
  EXPECT_EQ(errorOf(R"({"required": [1]})"),
            "JSON schema #: 'required' is not a list of names");
  EXPECT_EQ(errorOf(R"({"prefixItems": {}})"),
            "JSON schema #: 'prefixItems' is not a list of schemas");
  EXPECT_EQ(errorOf(R"({"items": [], "prefixItems": []})"),
            "JSON schema #: 'items' is a list beside 'prefixItems'");
  EXPECT_EQ(errorOf(R"({"additionalItems": {}})"),
            "JSON schema #: 'additionalItems' without 'items' is not "
            "supported");
  for (std::string key : {"allOf", "anyOf", "oneOf"})
    EXPECT_EQ(errorOf("{\"" + key + "\": []}"),
              "JSON schema #: '" + key + "' is not a list of schemas");
  for (std::string key : {"minLength", "maxLength"})
    for (std::string value : {"-1", "1.5", "\"1\"", "1e300"})
      EXPECT_EQ(errorOf("{\"" + key + "\": " + value + "}"),
                "JSON schema #: '" + key +
                    "' is not a whole number from 0 to 2^53");
  for (std::string key : {"minItems", "maxItems"})
    EXPECT_EQ(errorOf("{\"" + key + "\": null}"),
              "JSON schema #: '" + key +
                  "' is not a whole number from 0 to 2^53");
  for (std::string key : {"minProperties", "maxProperties"})
    EXPECT_EQ(errorOf("{\"" + key + "\": []}"),
              "JSON schema #: '" + key +
                  "' is not a whole number from 0 to 2^53");
  for (std::string key : {"minimum", "maximum", "multipleOf"})
    EXPECT_EQ(errorOf("{\"" + key + "\": \"1\"}"),
              "JSON schema #: '" + key + "' is not a number");
  EXPECT_EQ(errorOf(R"({"multipleOf": 0})"),
            "JSON schema #: 'multipleOf' is not greater than zero");
  EXPECT_EQ(errorOf(R"({"minimum": 1e100})"),
            "JSON schema #: 'minimum' is a number of more than 40 digits "
            "before or behind the point");
  EXPECT_EQ(errorOf(R"({"pattern": 1})"),
            "JSON schema #: 'pattern' is not a string");
  EXPECT_EQ(errorOf(R"({"format": 1})"),
            "JSON schema #: 'format' is not a string");
}

/// Tools that are made from Python functions have such schemas.
TEST(JsonSchemaRefusalTest, ValuesOfTheWrongKindWhereTheySayNothing) {
  EXPECT_EQ(errorOf(R"({"type": "object", "properties":
                         {"city": {"type": "string", "required": true}}})"),
            "JSON schema #/properties/city: 'required' is not a list of names");
  for (std::string key : {"properties", "patternProperties"})
    EXPECT_EQ(errorOf(R"({"type": "null", ")" + key + R"(": []})"),
              "JSON schema #: '" + key + "' is not an object");
  for (std::string key :
       {"additionalProperties", "propertyNames", "items", "additionalItems"})
    EXPECT_EQ(errorOf(R"({"type": "null", ")" + key + R"(": 1})"),
              "JSON schema #: '" + key +
                  "' is no schema, which is an object or a boolean");
  for (std::string key :
       {"minItems", "maxItems", "minProperties", "maxProperties"})
    EXPECT_EQ(errorOf(R"({"type": "null", ")" + key + R"(": "1"})"),
              "JSON schema #: '" + key +
                  "' is not a whole number from 0 to 2^53");
  EXPECT_EQ(errorOf(R"({"type": "null", "minLength": "1"})"),
            "JSON schema #: 'minLength' is not a whole number from 0 to 2^53");
  EXPECT_EQ(errorOf(R"({"type": "null", "minimum": "1"})"),
            "JSON schema #: 'minimum' is not a number");
  EXPECT_EQ(errorOf(R"({"type": "null", "pattern": 1})"),
            "JSON schema #: 'pattern' is not a string");
}

TEST(JsonSchemaRefusalTest, NamesThatNobodyKnowsAreAnnotations) {
  EXPECT_EQ(errorOf(R"({"type": "string", "readonly": true, "name": "n",
                        "nullable": true, "errorMessage": {"not": {}}})"),
            "");
}

TEST(JsonSchemaRefusalTest, References) {
  EXPECT_EQ(errorOf(R"({"$ref": 1})"), "JSON schema #: '$ref' is not a string");
  for (std::string ref : {"https://example.org/x", "other.json#/a", "#name"})
    EXPECT_EQ(errorOf("{\"$ref\": \"" + ref + "\"}"),
              "JSON schema #: '$ref' is '" + ref +
                  "', not a pointer into the document (#/...)");
  for (std::string ref : {"#/$defs/x", "#/", "#/prefixItems/1",
                          "#/prefixItems/00x", "#/a%2", "#/a~2"})
    EXPECT_EQ(errorOf("{\"prefixItems\": [{}], \"$ref\": \"" + ref + "\"}"),
              "JSON schema #: '$ref' is '" + ref + "', which is not there");
  EXPECT_EQ(errorOf(R"({"$ref": "#"})"),
            "JSON schema #: the schema refers to itself without an end");
  EXPECT_EQ(errorOf(R"({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]},
                                  "b": {"$ref": "#/$defs/a"}},
                        "$ref": "#/$defs/a"})"),
            "JSON schema #/$defs/a: the schema refers to itself without an "
            "end");
  EXPECT_EQ(errorOf(R"({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"},
                                                  {"type": "null"}]}},
                        "$ref": "#/$defs/a"})"),
            "JSON schema: rule '#/$defs/a/anyOf' is left-recursive, it can "
            "begin with itself: #/$defs/a/anyOf -> #/$defs/a/anyOf");
}

TEST(JsonSchemaRefusalTest, SchemasThatNothingMatches) {
  std::string nothing = "JSON schema: the grammar matches no text: '#' has no "
                        "end that can be reached";
  for (std::string schema :
       {"false", R"({"type": "string", "minLength": 3, "maxLength": 2})",
        R"({"type": "integer", "minimum": 3, "maximum": 2})",
        R"({"enum": ["a"], "type": "integer"})",
        R"({"type": "integer", "allOf": [{"type": "string"}]})",
        R"({"properties": {"a": false}, "required": ["a"]})",
        R"({"items": false, "minItems": 1})",
        R"({"items": {}, "minItems": 3, "maxItems": 2})",
        R"({"properties": {"a": {}}, "additionalProperties": false,
            "required": ["b"]})",
        R"({"type": "object", "minProperties": 3, "maxProperties": 2})",
        R"({"properties": {"A": {}}, "required": ["A"],
            "propertyNames": {"pattern": "^[a-z]$"}})",
        R"({"type": "string", "pattern": "^a$", "minLength": 2})"})
    EXPECT_EQ(errorOf(schema), nothing) << schema;
  // An object that must contain itself has no end.
  EXPECT_NE(errorOf(R"({"properties": {"a": {"$ref": "#"}},
                        "required": ["a"]})"),
            "");
}

/// Returns the error if a value may match the schemas `i` and `j` of a oneOf.
std::string expected(int i, int j) {
  return "JSON schema #/oneOf: a value may match both " + std::to_string(i) +
         " and " + std::to_string(j) +
         ", and 'oneOf' allows only one; use 'anyOf', or a required property "
         "with different constants";
}

TEST(JsonSchemaRefusalTest, OneOfThatMayMatchTwice) {
  EXPECT_EQ(errorOf(R"({"oneOf": [
              {"properties": {"a": {}}, "required": ["a"]},
              {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}]})"),
            // An object with a and b also matches the first schema.
            expected(1, 0));
  // A format may allow more than what is written for it.
  EXPECT_EQ(errorOf(R"({"oneOf": [{"type": "string", "format": "uri"},
                                  {"type": "string"}]})"),
            expected(1, 0));
  EXPECT_EQ(errorOf(R"({"oneOf": [{"const": 3000000000},
                                  {"type": "integer", "format": "int32"}]})"),
            expected(0, 1));
  // A multiple can be spelled in many ways.
  EXPECT_EQ(errorOf(R"({"oneOf": [{"multipleOf": 0.5}, {"minimum": 3}]})"),
            expected(1, 0));
  // The items of arrays are not compared.
  EXPECT_EQ(errorOf(R"({"oneOf": [{"items": {"type": "integer"}},
                                  {"items": {"type": "string"}}]})"),
            expected(0, 1));
  EXPECT_EQ(errorOf(R"({"oneOf": [{"const": [1]},
                                  {"items": {"type": "integer"}}]})"),
            expected(0, 1));
  EXPECT_EQ(errorOf(R"({"oneOf": [{"type": "object"}, {"const": {"a": 1}}]})"),
            expected(0, 1));
  EXPECT_EQ(errorOf(R"({"oneOf": [{"properties": {"a": {"minimum": 1}}},
                                  {"properties": {"a": {"maximum": 1}}}]})"),
            expected(0, 1));
  EXPECT_EQ(errorOf(R"({"oneOf": [{"type": "null"}, {"type": "integer"}],
                        "anyOf": [{"type": "null"}, {"type": "integer"}]})"),
            "JSON schema #/anyOf: 'oneOf' beside another 'oneOf' or 'anyOf' "
            "for the same value is not supported");
}

/// A value that matches two schemas of the inner oneOf matches only the outer
/// oneOf's first schema, and would not be written.
TEST(JsonSchemaRefusalTest, OneOfWithinOneOfThatMayMatchTwice) {
  auto errorWithin = [](const std::string &first, const std::string &inner) {
    return errorOf("{\"oneOf\": [" + first + ", " + inner + "]}");
  };
  const std::string text = R"({"type": "string"})";
  const std::string overlapping =
      R"({"oneOf": [{"type": "string", "maxLength": 5},
                    {"type": "string", "minLength": 3}]})";
  EXPECT_EQ(errorWithin(text, overlapping), expected(0, 1));
  EXPECT_EQ(
      errorWithin(text, R"({"anyOf": [{"const": "x"}, )" + overlapping + "]}"),
      expected(0, 1));
  EXPECT_EQ(errorWithin(text, R"({"oneOf": [{"const": "x"}, {"const": 1},
                                            {"enum": ["y", "x"]}]})"),
            expected(0, 1));
  EXPECT_EQ(errorWithin(text, R"({"oneOf": [
                          {"type": "string", "pattern": "^a"},
                          {"type": "string", "pattern": "b$"}]})"),
            expected(0, 1));
  EXPECT_EQ(errorWithin(R"({"type": "number"})", R"({"oneOf": [
                          {"type": "integer", "maximum": 3},
                          {"type": "number", "minimum": 3}]})"),
            expected(0, 1));
  // Null is written for neither schema, but matches both.
  EXPECT_EQ(errorWithin(R"({"type": "null"})",
                        R"({"oneOf": [{"minLength": 1}, {"minimum": 1}]})"),
            expected(0, 1));
  EXPECT_EQ(errorWithin(R"({"type": "null"})", R"({"oneOf": [
                          {"type": ["null", "string"], "maxLength": 1},
                          {"type": ["null", "string"], "minLength": 3}]})"),
            expected(0, 1));
  EXPECT_EQ(errorWithin(R"({"type": "number"})", R"({"oneOf": [
                          {"type": "number", "minimum": 0.5, "maximum": 0.7},
                          {"minLength": 1}]})"),
            expected(0, 1));
  // An object with both members also matches both.
  EXPECT_EQ(errorWithin(R"({"properties": {"a": {}, "b": {}}})", R"({"oneOf": [
                          {"properties": {"a": {}}, "required": ["a"]},
                          {"properties": {"b": {}}, "required": ["b"]}]})"),
            expected(0, 1));
  // A format may allow more than what is known of it.
  EXPECT_EQ(errorWithin(text, R"({"oneOf": [
                          {"type": "string", "format": "date"},
                          {"type": "string", "pattern": "^x$"}]})"),
            expected(0, 1));
  EXPECT_EQ(errorWithin(text, R"({"oneOf": [
                          {"const": "x", "format": "date"},
                          {"type": "string", "pattern": "^x$"}]})"),
            expected(0, 1));
}

const std::string tooIrregular =
    "the lengths of its texts, together with those of the counted rules before "
    "it, are too irregular to be counted up to bounds this high";

TEST(JsonSchemaRefusalTest, Limits) {
  std::string deep;
  for (int i = 0; i < 200; ++i)
    deep += "{\"items\":";
  EXPECT_EQ(errorOf(deep + "true" + std::string(200, '}')),
            "JSON schema: values lie in more than 128 others");
  std::string many = "{\"enum\": [0";
  for (int i = 1; i < 300000; ++i)
    many += "," + std::to_string(i);
  EXPECT_EQ(errorOf(many + "]}"), "JSON schema: more than 262144 values");
  EXPECT_EQ(errorOf(R"({"items": {}, "maxItems": 1000000})"),
            "JSON schema #: more than 65536 items in 'minItems' or 'maxItems'");
  EXPECT_EQ(errorOf(R"({"type": "object", "minProperties": 100000})"),
            "JSON schema #: 'minProperties' and 'maxProperties' this large are "
            "not supported");
  EXPECT_EQ(errorOf(R"({"minProperties": 2,
                        "patternProperties": {"^a$": {}}})"),
            "JSON schema #: 'minProperties' is 2, and the schema names 0 "
            "properties: more than one beside them cannot be kept apart");
  EXPECT_EQ(errorOf(R"({"type": "string", "minLength": 9007199254740992})"),
            "JSON schema #: 'minLength' is more than 4294967294, which is not "
            "supported");
  EXPECT_EQ(errorOf(R"({"pattern": "^(aaa)*$", "minLength": 3000000,
                        "maxLength": 3000000})"),
            "JSON schema: rule 'string': " + tooIrregular);
  // There are 2^20 ways to choose.
  std::string choice = R"({"anyOf": [{"minLength": 1}, {"maxLength": 9}]})";
  std::string all = choice;
  for (int i = 1; i < 20; ++i)
    all += "," + choice;
  EXPECT_NE(errorOf("{\"allOf\": [" + all + "]}")
                .find("more than 1024 ways to combine"),
            std::string::npos);
  // The definitions double at each level.
  std::string doubling = R"({"$defs": {"d0": {"const": 1})";
  for (int i = 1; i < 60; ++i) {
    std::string below =
        "{\"allOf\": [{\"$ref\": \"#/$defs/d" + std::to_string(i - 1) + "\"}]}";
    doubling += ",\"d" + std::to_string(i) +
                "\": {\"properties\": {\"a\": " + below + ", \"b\": " + below +
                "}}";
  }
  EXPECT_EQ(errorOf(doubling + "}, \"$ref\": \"#/$defs/d59\"}"), "");
}

/// Returns the first `count` of schemas of strings, each of which divides the
/// sets that the others make: `^a` of up to 100 characters, `^.a` of up to 101,
/// ...
std::string dividingStrings(size_t count) {
  std::string list;
  for (size_t i = 0; i < count; ++i)
    list += R"(,{"type": "string", "pattern": "^)" + std::string(i, '.') +
            R"(a", "maxLength": )" + std::to_string(100 + i) + "}";
  return list;
}

/// The number of remaining sets of strings doubles with each sibling.
TEST(JsonSchemaRefusalTest, OneOfOfManyStrings) {
  auto schema = [](const std::string &pattern, size_t count) {
    return R"({"oneOf": [{"type": "string", "pattern": ")" + pattern + "\"}" +
           dividingStrings(count) + "]}";
  };
  EXPECT_EQ(errorOf(schema("^", 4)), "");
  EXPECT_EQ(errorOf(schema("^", 7)), expected(0, 7));
  EXPECT_EQ(errorOf(schema("^", 30)), expected(0, 7));
  // There are few sets, of a large automaton.
  EXPECT_EQ(errorOf(schema("^.{0,10000}$", 5)), expected(0, 4));
}

/// Each rule may take some ranges alone, but not all rules together.
TEST(JsonSchemaRefusalTest, CountedRulesShareALimit) {
  auto tuple = [](const std::string &pattern, size_t length, size_t count) {
    ordered_json items = ordered_json::array();
    for (size_t i = 0; i < count; ++i, length += 3)
      items.push_back(
          {{"pattern", pattern}, {"minLength", length}, {"maxLength", length}});
    return ordered_json{{"prefixItems", items}}.dump();
  };
  // One range for every three characters in each of three states.
  const std::string ranges = "^(aaa)*$";
  EXPECT_EQ(errorOf(tuple(ranges, 300000, 2)), "");
  EXPECT_EQ(errorOf(tuple(ranges, 300000, 5)),
            "JSON schema: rule 'string': " + tooIrregular);
  // There are few ranges, but many states are visited again for each character.
  const std::string steps = "^z{0,500}(a(aaa)*|b*)$";
  EXPECT_EQ(errorOf(tuple(steps, 4000, 1)), "");
  EXPECT_EQ(errorOf(tuple(steps, 4000, 8)),
            "JSON schema: it takes more than 67108864 steps");
}

/// Returns the steps that compiling a schema charges.
size_t stepsOf(std::string_view schema, size_t max = WorkMeter::unlimited) {
  ordered_json parsed = ordered_json::parse(schema);
  WorkMeter meter({.steps = max});
  (void)Grammar::fromJsonSchema(parsed, meter);
  return meter.steps();
}

/// Each loop whose time grows faster than the schema's length must charge the
/// meter.
TEST(JsonSchemaRefusalTest, LongLoopsChargeTheMeter) {
  std::string low = "{\"enum\": [" + listOf(0, 1000, "", "") + "]}";
  std::string high = "{\"enum\": [" + listOf(1000, 2000, "", "") + "]}";
  // Each value is compared with each other one.
  EXPECT_GE(stepsOf("{\"oneOf\": [" + low + "," + high + "]}"), 1'000'000u);
  EXPECT_GE(stepsOf("{\"allOf\": [" + low + "," + high + "]}"), 1'000'000u);
  std::string names = "[" + listOf(0, 1000, "\"m", "\"") + "]";
  EXPECT_GE(stepsOf(R"({"oneOf": [{"type": "object", "properties": {)" +
                    listOf(0, 1000, "\"m", "\": {}") +
                    "}, \"required\": " + names +
                    R"(}, {"type": "object", "required": )" + names + "}]}"),
            4000u);
  std::string patterns = listOf(0, 50, "\"^p", "$\": {}");
  EXPECT_GE(stepsOf("{\"patternProperties\": {" + patterns + "}}"), 1000u);
  // The work doubles with the remaining sets of strings: 1, 2, 4, ...
  EXPECT_GE(stepsOf("{\"oneOf\": [{\"type\": \"string\"}" + dividingStrings(7) +
                    "]}"),
            150u);
  // The automaton of the text that has been read.
  EXPECT_GE(stepsOf(R"({"const": ")" + std::string(5000, 'x') + "\"}"), 5000u);
  // After the meter has ended the work, little more is done.
  EXPECT_LT(stepsOf("{\"oneOf\": [" + low + "," + high + "]}", 100'000),
            110'000u);
}

/// Patterns are read once, and not for each name that is looked up.
TEST(JsonSchemaRefusalTest, WorkGrowsWithTheNumberOfMembers) {
  auto schema = [](int members) {
    std::string object =
        R"({"type": "object", "properties": {)" +
        listOf(0, members, "\"m", "\": {\"type\": \"integer\"}") +
        "}, \"patternProperties\": {" + listOf(0, 40, "\"^p", "$\": {}") +
        "}, \"required\": [" + listOf(0, members, "\"m", "\"") + "]}";
    return "{\"oneOf\": [" + object + "," + object + "]}";
  };
  size_t few = stepsOf(schema(100)), many = stepsOf(schema(200));
  EXPECT_LE(2 * many, 5 * few);
}

/// The pointer of each member contains its name.
TEST(JsonSchemaRefusalTest, LongNamesAreCutShort) {
  std::string error = errorOf("{\"properties\": {\"" +
                              std::string(100000, 'x') + "\": {\"not\": {}}}}");
  EXPECT_EQ(error, "JSON schema #/properties/" + std::string(64, 'x') +
                       "...: 'not' is not supported");
}

} // namespace
