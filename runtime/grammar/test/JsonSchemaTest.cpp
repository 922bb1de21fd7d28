//===- JsonSchemaTest.cpp - tests of the texts that schemas allow ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/test/SchemaCheck.h"

using namespace sluice;
using namespace sluice::grammar;

namespace {

TEST(JsonSchemaTest, AnyValue) {
  Texts values{"null",
               "true",
               "-0.5e-7",
               "\"\"",
               "[]",
               "{}",
               "[1,[2,{\"a\":[]}]]",
               "{\"a\":1,\"a b\":{\"c\":null}}"};
  Texts others{"",      "nul",        "[1,]",       "{\"a\"}", "{a:1}",
               "01",    "1.",         ".5",         "+1",      "'a'",
               "[1 2]", "{\"a\":1,}", "true false", "1e",      "--1"};
  for (std::string_view schema : {"true", "{}", R"({"description": "x"})"})
    check(schema, values, others);
}

TEST(JsonSchemaTest, JsonObject) {
  Grammar grammar = *Grammar::anyJsonObject();
  EXPECT_TRUE(matches(grammar, "{}"));
  EXPECT_TRUE(matches(grammar, R"({"a": [1, {"b": "c"}]})"));
  for (std::string_view text : {"[]", "1", "", "\"{}\"", "null"})
    EXPECT_FALSE(matches(grammar, text)) << text;
}

TEST(JsonSchemaTest, Types) {
  check(R"({"type": "null"})", {"null"}, {"0", "\"null\""});
  check(R"({"type": "boolean"})", {"true", "false"}, {"null", "1"});
  check(R"({"type": "integer"})", {"0", "-5", "12345678901234567890"},
        {"1.0", "1e2", "-", "00", "\"1\"", "123456789012345678901"});
  check(R"({"type": "number"})", {"0", "-1.25", "1e10", "1.5E-03"},
        {"NaN", "1.", "Infinity", "1e123"});
  check(R"({"type": "string"})", {"\"\"", "\"a\""}, {"a", "1"});
  check(R"({"type": "array"})", {"[]", "[1,\"a\"]"}, {"{}"});
  check(R"({"type": "object"})", {"{}", "{\"a\":1}"}, {"[]"});
  check(R"({"type": ["string", "null"]})", {"\"a\"", "null"}, {"1"});
  check(R"({"type": ["integer", "number"]})", {"1", "1.5"}, {"null"});
}

TEST(JsonSchemaTest, TypesThatKeywordsSpeakOf) {
  check(R"({"properties": {"a": {}}})", {"{}", "{\"a\":1}"}, {"1", "[]"});
  check(R"({"items": {"type": "null"}})", {"[null]"}, {"1", "{}"});
  check(R"({"minLength": 1})", {"\"a\""}, {"1"});
  check(R"({"minimum": 3})", {"3", "3.5"}, {"\"a\"", "2"});
  check(R"({"minimum": 3, "maxLength": 1})", {"3", "\"a\""}, {"2", "null"});
}

TEST(JsonSchemaTest, Strings) {
  check(R"({"type": "string"})",
        {R"("é€😀")", R"("\"\\\/\b\f\n\r\t")", R"("\u00e9\uD83D\uDE00")",
         "\"\x7F\""},
        {"\"\n\"", "\"\t\"", R"("\x")", R"("\u12")", R"("\ud83d")",
         R"("\ude00\ud83d")", R"("\ud83d\n")", "\"a", "\"\xC3\"", "\"\xFF\""});
  check(
      R"({"type": "string", "minLength": 2, "maxLength": 3})",
      {"\"ab\"", "\"abc\"", "\"é€😀\"", R"("\n\u0041")", R"("\ud83d\ude00a")"},
      {"\"a\"", "\"abcd\"", R"("\ud83d\ude00")", "\"\""});
  check(R"({"type": "string", "maxLength": 0})", {"\"\""}, {"\"a\""});
  check(R"({"type": "string", "minLength": 3})", {"\"abc\"", "\"abcdefgh\""},
        {"\"ab\""});
  check(R"({"type": "string", "minLength": 2.0, "maxLength": 100000})",
        {"\"ab\"", "\"" + std::string(100000, 'x') + "\""},
        {"\"a\"", "\"" + std::string(100001, 'x') + "\""});
}

TEST(JsonSchemaTest, PatternsAndFormats) {
  check(R"({"type": "string", "pattern": "^[A-Z]{2}-\\d+$"})",
        {"\"AB-1\"", "\"XY-123\""}, {"\"A-1\"", "\"AB-\"", "\"AB-1x\""});
  check(R"({"pattern": "b"})", {"\"abc\"", "\"b\""}, {"\"ac\"", "1"});
  // An escaped character matches as the character that it means.
  check(R"({"pattern": "^[\\n\"\\\\\\x01\\t]+$"})", {R"("\n\"\\\t\u0001")"},
        {"\"n\"", "\"\n\"", R"("\u0002")"});
  check(R"({"pattern": "^.\\u00e9$"})", {"\"éé\"", "\"aé\""}, {"\"ae\""});
  check(R"({"pattern": "^[\\u0000-\\u001f]$"})",
        {R"("\u0000")", R"("\u001F")", R"("\n")", R"("\u000b")"},
        {R"("\u0020")", R"("\u000a")"});
  check(R"({"pattern": "^a*$", "minLength": 2, "maxLength": 3})",
        {"\"aa\"", "\"aaa\""}, {"\"a\"", "\"aaaa\"", "\"ab\""});
  check(R"({"type": "string", "format": "date"})", {"\"2024-02-29\""},
        {"\"2023-02-29\"", "\"today\""});
  check(R"({"format": "uuid"})", {"\"123e4567-e89b-12d3-a456-426614174000\""},
        {"\"x\"", "null"});
  check(R"({"type": "string", "format": "date", "pattern": "^2024"})",
        {"\"2024-01-01\""}, {"\"2023-01-01\""});
}

TEST(JsonSchemaTest, Numbers) {
  check(R"({"type": "integer", "minimum": -3, "maximum": 12})",
        {"-3", "0", "9", "10", "12"}, {"-4", "13", "-0", "1.0", "012"});
  check(R"({"type": "integer", "exclusiveMinimum": 0})", {"1", "10"},
        {"0", "-1"});
  check(R"({"type": "number", "minimum": 0, "exclusiveMaximum": 1})",
        {"0", "0.5", "0.999"}, {"1", "1.0", "-0.1", "0.5e1"});
  check(R"({"type": "number", "minimum": -0.5, "maximum": 2.25})",
        {"-0.5", "-0.49", "0", "2.25", "2.250"}, {"-0.51", "2.2501", "3"});
  check(R"({"type": "integer", "multipleOf": 5})", {"0", "15", "-5"}, {"1"});
  check(R"({"type": "number", "multipleOf": 0.01})", {"0.25", "3", "1.10"},
        {"0.255"});
  check(R"({"type": "number", "minimum": 1, "exclusiveMinimum": true})",
        {"1.1"}, {"1"});
  check(R"({"type": "number", "maximum": 1, "exclusiveMaximum": false})", {"1"},
        {"1.1"});
  check(R"({"type": "integer", "format": "int32"})",
        {"2147483647", "-2147483648"}, {"2147483648", "-2147483649"});
  check(R"({"type": "number", "format": "double"})", {"1.5", "1e30"}, {"null"});
  check(R"({"format": "uint32"})", {"0", "4294967295"}, {"-1", "1.5"});
}

TEST(JsonSchemaTest, EnumAndConst) {
  check(R"({"enum": ["a", 1, null, true, [1, {"x": "y"}], "a\nb"]})",
        {"\"a\"", "1", "null", "true", "[1,{\"x\":\"y\"}]",
         "[ 1, { \"x\" : \"y\" } ]", R"("a\nb")"},
        {"\"b\"", "2", "[1]", "\"a\nb\"", "1.0"});
  check(R"({"const": {"a": [], "b": {}}})", {"{\"a\":[],\"b\":{}}"}, {"{}"});
  check(R"({"type": "string", "enum": ["a", 1, "b"]})", {"\"a\"", "\"b\""},
        {"1"});
  check(R"({"enum": ["a", "bb", 3, 7.5], "minLength": 2, "minimum": 5})",
        {"\"bb\"", "7.5"}, {"\"a\"", "3"});
  check(R"({"enum": [1, 2, 3], "const": 2})", {"2"}, {"1", "3"});
  check(R"({"enum": ["x1", "y2"], "pattern": "^x"})", {"\"x1\""}, {"\"y2\""});
  check(R"({"const": -1.5})", {"-1.5"}, {"1.5"});
}

TEST(JsonSchemaTest, ObjectsInOrder) {
  check(R"({"type": "object",
            "properties": {"b": {"type": "integer"}, "a": {"type": "null"}},
            "required": ["a", "b"], "additionalProperties": false})",
        {R"({"b":1,"a":null})", R"({ "b" : 1 , "a" : null })",
         "{\n  \"b\": 1,\n  \"a\": null\n}"},
        {"{}", R"({"a":null,"b":1})", R"({"b":1})", R"({"b":1,"a":null,"c":2})",
         R"({"b":null,"a":null})", R"({"b":1 "a":null})",
         R"({"b":1,,"a":null})"});
}

TEST(JsonSchemaTest, OptionalProperties) {
  check(R"({"properties": {"a": {"const": 1}, "b": {"const": 2},
                           "c": {"const": 3}, "d": {"const": 4}},
            "required": ["c"]})",
        {R"({"c":3})", R"({"a":1,"c":3})", R"({"b":2,"c":3,"d":4})",
         R"({"a":1,"b":2,"c":3,"d":4})", R"({"c":3,"d":4})"},
        {"{}", R"({"a":1})", R"({"a":1,"b":2,"d":4})", R"({"c":3,"a":1})",
         R"({,"c":3})", R"({"a":1,,"c":3})", R"({"c":3,})",
         R"({"c":3,"c":3})"});
  check(R"({"properties": {"a": {}}})", {"{}", "{\"a\":[]}"}, {"{\"b\":1}"});
  check(R"({"properties": {}})", {"{}"}, {"{\"b\":1}"});
  check(R"({"type": "object", "required": ["a"]})", {"{\"a\":1}"},
        {"{}", "{\"b\":1}"});
  check(R"({"properties": {"a\"\n": {"const": 1}}, "required": ["a\"\n"]})",
        {R"({"a\"\n":1})"}, {"{\"a\":1}"});
}

TEST(JsonSchemaTest, AdditionalProperties) {
  check(R"({"type": "object", "additionalProperties": {"type": "integer"}})",
        {"{}", R"({"a":1,"b":2})", R"({"\u0061":1})"}, {R"({"a":"x"})"});
  check(R"({"properties": {"ab": {"const": 1}}, "additionalProperties": true})",
        {"{}", R"({"ab":1})", R"({"ab":1,"abc":2})", R"({"a":2})", R"({"":2})",
         R"({"x":[1],"y":{}})"},
        {R"({"ab":2})", R"({"x":1,"ab":1})", R"({"x":1,"ab":2})",
         R"({"\u0061b":2})"});
  check(R"({"properties": {"a": {"const": 1}},
            "additionalProperties": {"type": "null"}, "required": ["a", "z"]})",
        {R"({"a":1,"z":null})", R"({"a":1,"z":null,"b":null})"},
        {R"({"a":1})", R"({"a":1,"z":1})", R"({"z":null,"a":1})"});
  check(R"({"type": "object", "additionalProperties": false})", {"{}"},
        {R"({"a":1})"});
  check(R"({"properties": {"a": false, "b": {}}})", {"{}", R"({"b":1})"},
        {R"({"a":1})"});
}

TEST(JsonSchemaTest, PatternPropertiesAndNames) {
  check(R"({"type": "object", "patternProperties":
              {"^n_": {"type": "integer"}, "_s$": {"type": "string"}}})",
        {"{}", R"({"n_a":1})", R"({"a_s":"x","n_":2})"},
        {R"({"n_a":"x"})", R"({"a":1})", R"({"n_s":1})", R"({"n_s":"x"})"});
  check(R"({"properties": {"n_a": {"minimum": 5}},
            "patternProperties": {"^n_": {"type": "integer"}},
            "additionalProperties": {"type": "null"}})",
        {R"({"n_a":5})", R"({"n_a":7,"n_b":1,"c":null})"},
        {R"({"n_a":4})", R"({"n_a":5.5})", R"({"c":1})"});
  check(R"({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}})",
        {"{}", R"({"ab":1})"}, {R"({"A":1})", R"({"":1})"});
  check(R"({"type": "object", "propertyNames": {"maxLength": 2}})",
        {R"({"ab":1})"}, {R"({"abc":1})"});
  check(R"({"type": "object", "propertyNames": {"enum": ["a", "b"]},
            "additionalProperties": {"const": 1}})",
        {"{}", R"({"b":1})"}, {R"({"c":1})"});
  check(R"({"properties": {"a": {}, "B": {}},
            "propertyNames": {"pattern": "^[a-z]$"}})",
        {"{}", R"({"a":1})"}, {R"({"B":1})"});
}

TEST(JsonSchemaTest, NumbersOfProperties) {
  check(R"({"type": "object", "minProperties": 1, "maxProperties": 2,
            "additionalProperties": {"const": 1}})",
        {R"({"a":1})", R"({"a":1,"b":1})"}, {"{}", R"({"a":1,"b":1,"c":1})"});
  check(R"({"properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2})",
        {R"({"a":1,"c":1})", R"({"b":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
        {"{}", R"({"c":1})"});
  check(R"({"properties": {"a": {}, "b": {}, "c": {}}, "maxProperties": 1})",
        {"{}", R"({"a":1})", R"({"c":1})"}, {R"({"a":1,"c":1})"});
  check(R"({"properties": {"a": {}, "b": {}}, "required": ["a"],
            "minProperties": 1, "maxProperties": 2})",
        {R"({"a":1})", R"({"a":1,"b":1})"}, {"{}", R"({"b":1})"});
  check(R"({"properties": {"a": {}}, "additionalProperties": {},
            "minProperties": 2, "maxProperties": 3})",
        {R"({"a":1,"b":1})", R"({"a":1,"b":1,"c":2})"},
        {R"({"a":1})", R"({"a":1,"b":1,"c":1,"d":1})"});
  // A property that the schema does not name may come twice, and counts as one.
  check(
      R"({"properties": {"a": {}, "b": {}}, "minProperties": 3,
            "patternProperties": {"^x": {}}})",
      {R"({"a":1,"b":1,"x":1})", R"({"a":1,"b":1,"x":1,"x":2})"},
      {R"({"a":1,"b":1})", R"({"a":1,"x":1,"x":1})", R"({"x":1,"x":1,"x":1})"});
  check(R"({"type": "object", "maxProperties": 0})", {"{}"}, {R"({"a":1})"});
}

TEST(JsonSchemaTest, UnevaluatedProperties) {
  check(R"({"type": "object", "unevaluatedProperties": false})", {"{}"},
        {R"({"a":1})"});
  check(R"({"type": "object", "unevaluatedProperties": false,
            "properties": {"a": {}}, "patternProperties": {"^x": {}}})",
        {"{}", R"({"a":1})", R"({"a":1,"x":2,"xy":3})"}, {R"({"b":1})"});
  // Schemas that hold for the same value count, if they were chosen.
  check(R"({"type": "object", "unevaluatedProperties": false,
            "properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}],
            "anyOf": [{"properties": {"c": {"const": 1}}, "required": ["c"]},
                      {"properties": {"d": {}}}],
            "$ref": "#/$defs/e", "$defs": {"e": {"properties": {"e": {}}}}})",
        {R"({"e":1,"a":1,"b":1,"c":1})", R"({"e":1,"a":1,"b":1,"d":1})"},
        {R"({"f":1})", R"({"c":2})"});
  check(R"({"unevaluatedProperties": false,
            "allOf": [{"type": "object", "additionalProperties": {}}]})",
        {R"({"a":1})"}, {"1"});
  // Schemas beside them do not count.
  check(R"({"properties": {"a": {}}, "allOf": [{"properties": {"b": {}},
            "unevaluatedProperties": false}]})",
        {"{}", R"({"b":1})"}, {R"({"a":1})"});
  check(R"({"$defs": {"x": {"properties": {"x": {"type": "object",
                      "unevaluatedProperties": false}}}}, "$ref": "#/$defs/x",
            "unevaluatedProperties": true})",
        {R"({"x":{}})"}, {R"({"x":{"a":1}})"});
}

TEST(JsonSchemaTest, UnevaluatedItems) {
  check(R"({"type": "array", "unevaluatedItems": false})", {"[]"}, {"[1]"});
  check(R"({"unevaluatedItems": false, "minItems": 0,
            "prefixItems": [{"const": 1}]})",
        {"[]", "[1]"}, {"[1,1]"});
  check(R"({"unevaluatedItems": false, "allOf": [{"items": {"const": 1}}]})",
        {"[]", "[1,1,1]"}, {"[2]"});
  check(R"({"unevaluatedItems": false, "minItems": 0,
            "anyOf": [{"prefixItems": [{"const": 1}]},
                      {"prefixItems": [{"const": 2}, {"const": 2}]}]})",
        {"[1]", "[2,2]"}, {"[1,2]", "[2,2,2]"});
  check(R"({"prefixItems": [{}, {}], "allOf": [{"prefixItems": [{}],
            "unevaluatedItems": false}]})",
        {"[1]"}, {"[1,1]"});
}

TEST(JsonSchemaTest, Arrays) {
  check(R"({"type": "array", "items": {"type": "integer"}})",
        {"[]", "[1]", "[ 1 , 2 ]", "[1,2,3]"}, {"[null]", "[1,]", "[,1]"});
  for (std::string_view count : {"2", "2.0"})
    check(R"({"items": {"const": 1}, "minItems": )" + std::string(count) + "}",
          {"[1,1]", "[1,1,1,1]"}, {"[]", "[1]"});
  check(R"({"items": {"const": 1}, "minItems": 1})", {"[1]", "[1,1]"}, {"[]"});
  check(R"({"items": {"const": 1}, "maxItems": 2})", {"[]", "[1]", "[1,1]"},
        {"[1,1,1]"});
  check(R"({"items": {"const": 1}, "minItems": 2, "maxItems": 3})",
        {"[1,1]", "[1,1,1]"}, {"[1]", "[1,1,1,1]"});
  check(R"({"items": {}, "maxItems": 0})", {"[]"}, {"[1]"});
  check(R"({"type": "array", "items": false})", {"[]"}, {"[1]"});
  check(R"({"items": {"const": 1}, "uniqueItems": false})", {"[1,1]"}, {});
}

TEST(JsonSchemaTest, UniqueItems) {
  check(R"({"items": {"enum": ["a", "b", "c"]}, "uniqueItems": true})",
        {"[]", "[\"b\"]", "[\"c\", \"a\"]", "[\"b\",\"a\",\"c\"]"},
        {"[\"a\",\"a\"]", "[\"a\",\"b\",\"a\"]", "[\"d\"]",
         "[\"a\",\"b\",\"c\",\"a\"]"});
  check(R"({"items": {"type": ["boolean", "null"]}, "uniqueItems": true,
            "minItems": 2, "maxItems": 2})",
        {"[true,false]", "[null,true]"},
        {"[true]", "[true,true]", "[true,false,null]"});
  check(R"({"items": {"anyOf": [{"const": 1}, {"enum": ["x", 1.0]}]},
            "uniqueItems": true})",
        {"[1,\"x\"]", "[\"x\",1]"}, {"[1,1]", "[1,1.0]", "[\"x\",\"x\"]"});
  check(R"({"prefixItems": [{"enum": [1, 2]}, {"enum": [2, 3]}],
            "uniqueItems": true})",
        {"[1,2]", "[1,3]", "[2,3]"}, {"[2,2]", "[1]", "[1,2,3]"});
  // Conversion from one kind of number to the other would make these equal.
  check(R"({"items": {"enum": [-1, 18446744073709551615]},
            "uniqueItems": true})",
        {"[-1,18446744073709551615]", "[18446744073709551615,-1]"},
        {"[-1,-1]", "[18446744073709551615,18446744073709551615]"});
  // Two of many values.
  check(R"({"items": {"enum": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]},
            "uniqueItems": true, "maxItems": 2})",
        {"[16,1]", "[7]"}, {"[16,16]", "[1,2,3]"});
  // A single item is always unique.
  check(R"({"items": {"type": "string"}, "maxItems": 1, "uniqueItems": true})",
        {"[]", "[\"a\"]"}, {"[\"a\",\"b\"]"});
  check(R"({"type": "array", "uniqueItems": true, "maxItems": 0})", {"[]"},
        {"[1]"});
}

TEST(JsonSchemaTest, Tuples) {
  check(R"({"prefixItems": [{"const": 1}, {"const": 2}]})", {"[1,2]"},
        {"[]", "[1]", "[1,2,3]", "[2,1]"});
  check(R"({"prefixItems": [{"const": 1}, {"const": 2}], "minItems": 1})",
        {"[1]", "[1,2]"}, {"[]", "[1,2,3]"});
  check(R"({"prefixItems": [{"const": 1}], "items": {"const": 0}})",
        {"[1]", "[1,0,0]"}, {"[]", "[1,1]", "[0]"});
  check(R"({"prefixItems": [{"const": 1}], "items": {"const": 0},
            "minItems": 2, "maxItems": 3})",
        {"[1,0]", "[1,0,0]"}, {"[1]", "[1,0,0,0]"});
  check(R"({"prefixItems": [{"const": 1}, {"const": 2}], "items": false})",
        {"[1,2]"}, {"[1,2,3]"});
  check(R"({"items": [{"const": 1}], "additionalItems": {"const": 0}})",
        {"[1]", "[1,0]"}, {"[0]"});
  check(R"({"prefixItems": [{"const": 1}, {"const": 2}], "maxItems": 1})",
        {"[1]"}, {"[]", "[1,2]"});
}

TEST(JsonSchemaTest, AnyOf) {
  check(R"({"anyOf": [{"type": "integer"}, {"const": "x"}]})", {"1", "\"x\""},
        {"\"y\"", "1.5"});
  check(
      R"({"type": "string", "anyOf": [{"maxLength": 1}, {"pattern": "^ab"}]})",
      {"\"a\"", "\"abc\""}, {"\"xyz\"", "1"});
  check(R"({"properties": {"a": {"const": 1}}, "required": ["a"],
            "anyOf": [{"properties": {"b": {"const": 2}}, "required": ["b"]},
                      {"properties": {"c": {"const": 3}}}]})",
        {R"({"a":1,"b":2})", R"({"a":1})", R"({"a":1,"c":3})"},
        {R"({"b":2})", R"({"a":1,"b":2,"c":3})", R"({"a":2})"});
  check(R"({"anyOf": [{"const": 1}, {"const": 2}, {"const": 3}],
            "allOf": [{"anyOf": [{"const": 2}, {"const": 3}]},
                      {"anyOf": [{"const": 3}, {"const": 4}]}]})",
        {"3"}, {"1", "2", "4"});
  check(R"({"anyOf": [false, {"const": 1}]})", {"1"}, {"2"});
}

TEST(JsonSchemaTest, AllOfMerges) {
  check(R"({"allOf": [{"type": ["integer", "string"], "minimum": 3},
                      {"type": ["integer", "null"], "maximum": 5}]})",
        {"3", "5"}, {"2", "6", "\"a\"", "null", "3.5"});
  check(R"({"allOf": [{"properties": {"a": {"minimum": 1}}, "required": ["a"]},
                      {"properties": {"b": {"type": "null"},
                                      "a": {"type": "integer"}}}]})",
        {R"({"a":1})", R"({"a":2,"b":null})"},
        {R"({"a":0})", R"({"a":1.5})", R"({"b":null})"});
  // What one of the schemas closes stays closed.
  check(R"({"allOf": [{"properties": {"a": {}}, "additionalProperties": false},
                      {"properties": {"a": {}, "b": {}}}]})",
        {"{}", R"({"a":1})"}, {R"({"b":1})", R"({"a":1,"b":1})"});
  check(R"({"allOf": [{"items": {"minimum": 1}, "minItems": 1},
                      {"prefixItems": [{"type": "integer"}], "items": false}]})",
        {"[1]"}, {"[]", "[0]", "[1.5]", "[1,1]"});
  check(R"({"allOf": [{"pattern": "a"}, {"pattern": "b"}, {"maxLength": 3}]})",
        {"\"ab\"", "\"bxa\""}, {"\"a\"", "\"b\"", "\"abxx\""});
  check(R"({"type": "integer", "allOf": [true, {"title": "x"}]})", {"1"},
        {"null"});
}

TEST(JsonSchemaTest, References) {
  check(R"({"$defs": {"name": {"type": "string", "maxLength": 2},
                      "a/b~c d": {"const": 7}},
            "properties": {"x": {"$ref": "#/$defs/name"},
                           "y": {"$ref": "#/$defs/name", "minLength": 1},
                           "z": {"$ref": "#/$defs/a~1b~0c%20d"},
                           "w": {"$ref": "#/properties/z"}}})",
        {R"({"x":"","y":"a","z":7,"w":7})"},
        {R"({"x":"abc"})", R"({"y":""})", R"({"z":8})"});
  check(R"({"definitions": {"list": {"anyOf": [{"type": "null"},
              {"properties": {"v": {"type": "integer"},
                              "next": {"$ref": "#/definitions/list"}},
               "required": ["v", "next"]}]}},
            "$ref": "#/definitions/list"})",
        {"null", R"({"v":1,"next":{"v":2,"next":null}})"},
        {R"({"v":1})", R"({"v":1,"next":{}})"});
  check(R"({"properties": {"c": {"type": "array", "items": {"$ref": "#"}}}})",
        {"{}", R"({"c":[{},{"c":[{"c":[]}]}]})"}, {R"({"c":[1]})"});
  check(R"({"prefixItems": [{"const": 1}, {"$ref": "#/prefixItems/0"}]})",
        {"[1,1]"}, {"[1,2]"});
  check(R"({"$defs": {"base": {"properties": {"id": {"type": "integer"},
                                 "sub": {"$ref": "#/$defs/node"}},
                               "required": ["id"]},
                      "node": {"allOf": [{"$ref": "#/$defs/base"},
                        {"properties": {"tag": {"const": "t"}}}]}},
            "$ref": "#/$defs/node"})",
        {R"({"id":1})", R"({"id":1,"sub":{"id":2,"tag":"t"},"tag":"t"})"},
        {"{}", R"({"id":1,"sub":{}})"});
}

/// A reference is relative to the nearest schema above it that has an $id.
TEST(JsonSchemaTest, ReferencesOfNamedParts) {
  check(R"({"$id": "https://example.org/x",
            "$defs": {"z": {"const": "outer"},
                      "part": {"$id": "part", "$defs": {"z": {"const": 1}},
                               "prefixItems": [{"$ref": "#/$defs/z"}]}},
            "properties": {"in": {"$ref": "#/$defs/part"},
                           "out": {"$ref": "#/$defs/z"},
                           "$id": {"$ref": "#/$defs/z"},
                           "deep": {"$ref": "#/$defs/part/prefixItems/0"}}})",
        {R"({"in":[1],"out":"outer","$id":"outer","deep":1})"},
        {R"({"in":["outer"]})", R"({"out":1})", R"({"deep":"outer"})"});
  check(R"({"$defs": {"z": {"const": 1}}, "$id": "",
            "items": {"$id": "#anchor", "anyOf": [{"$ref": "#/$defs/z"}]}})",
        {"[1]"}, {"[2]"});
}

TEST(JsonSchemaTest, SpaceIsBounded) {
  std::string blanks(20, ' ');
  check(R"({"properties": {"a": {"items": {}}}, "required": ["a"]})",
        {"{\"a\":[1]}", "{ \"a\" : [ 1 , 2 ] }",
         "{\n\n" + blanks + "\"a\":\n[\n\t1\n]\n}"},
        {" {\"a\":[1]}", "{\"a\":[1]} ", "{  \"a\":[1]}", "{\t\"a\":[1]}",
         "{\n\n\n\"a\":[1]}", "{\n" + blanks + " \"a\":[1]}",
         "{\n" + blanks + "\t\"a\":[1]}", "{\n \n\"a\":[1]}", "{\"a\"  :[1]}",
         "{\"a\":[1,  2]}", "{ \n\"a\":[1]}", "{\"a\":[1\r\n]}"});
}

TEST(JsonSchemaTest, AnnotationsAreLeftOut) {
  check(R"({"$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.org/x", "$comment": "c", "title": "t",
            "description": "d", "default": 3, "examples": [1],
            "deprecated": true, "readOnly": true, "writeOnly": false,
            "x-order": 1, "type": "integer"})",
        {"1"}, {"null"});
}

} // namespace
