//===- SchemaExclusiveTest.cpp - tests of oneOf ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaValues.h"
#include "runtime/grammar/test/SchemaCheck.h"

using namespace sluice;
using namespace sluice::grammar;

namespace {

TEST(SchemaExclusiveTest, SchemasThatKeepApart) {
  check(R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})",
        {"1", "\"a\""}, {"null"});
  check(R"({"oneOf": [{"const": 1}, {"const": 2}, {"enum": ["a", "b"]}]})",
        {"1", "2", "\"b\""}, {"3"});
  check(R"({"oneOf": [
              {"properties": {"kind": {"const": "a"}, "x": {}},
               "required": ["kind"]},
              {"properties": {"kind": {"const": "b"}, "y": {}},
               "required": ["kind"]}]})",
        {R"({"kind":"a","x":1})", R"({"kind":"b"})"},
        {R"({"kind":"c"})", R"({"kind":"a","y":1})"});
  // No object that is written for one schema has what the other requires.
  check(R"({"oneOf": [
              {"properties": {"a": {}}, "required": ["a"]},
              {"properties": {"b": {}}, "required": ["b"]}]})",
        {R"({"a":1})", R"({"b":1})"}, {R"({"a":1,"b":1})", "{}"});
  check(R"({"oneOf": [{"type": "null"},
                      {"oneOf": [{"const": 1}, {"const": "x"}]}]})",
        {"null", "1", "\"x\""}, {"2"});
}

TEST(SchemaExclusiveTest, ValuesThatMatchOne) {
  check(R"({"oneOf": [{"const": 1}, {"enum": [1, 2, 1.5]}]})", {"2", "1.5"},
        {"1"});
  check(R"({"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]},
                      {"enum": ["c", "d", "a"]}]})",
        {"\"d\""}, {"\"a\"", "\"b\"", "\"c\""});
  check(R"({"oneOf": [{"enum": ["a", "bb", 7]},
                      {"type": "string", "maxLength": 1}]})",
        {"\"bb\"", "7", "\"c\"", "\"\""}, {"\"a\""});
  // Objects with members in another order are equal, and so are 1.0 and 1.
  check(R"({"oneOf": [{"const": {"a": 1, "b": 2}},
                      {"enum": [{"b": 2, "a": 1.0}, 3]}]})",
        {"3"}, {R"({"a":1,"b":2})", R"({"b":2,"a":1})"});
  check(R"({"oneOf": [{"type": ["null", "boolean"]},
                      {"enum": [true, null, 1]}]})",
        {"false", "1"}, {"true", "null"});
  // A schema without a type matches null, whatever it says of strings.
  check(R"({"oneOf": [{"type": "null"}, {"minLength": 1}, {"maxLength": 5}]})",
        {"\"\"", "\"abcdef\""}, {"null", "\"a\"", "\"abcde\""});
}

/// Whether two numbers are equal is decided without rounding.
TEST(SchemaExclusiveTest, LargeNumbersAreComparedExactly) {
  check(R"({"oneOf": [{"const": -1}, {"const": 18446744073709551615}]})",
        {"-1", "18446744073709551615"}, {"1"});
  check(R"({"oneOf": [{"const": 18446744073709551615}, {"const": -1}]})",
        {"-1", "18446744073709551615"}, {"1"});
  check(R"({"oneOf": [{"const": 9007199254740993},
                      {"const": 9007199254740992.0}]})",
        {"9007199254740993", "9.007199254740992e+15"}, {"9007199254740992"});
  check(R"({"oneOf": [{"const": -9007199254740992.0},
                      {"const": -9007199254740993}]})",
        {"-9007199254740993", "-9.007199254740992e+15"}, {"-9007199254740992"});
  check(R"({"oneOf": [{"const": 9007199254740992},
                      {"enum": [9007199254740992.0, 7]}]})",
        {"7"}, {"9007199254740992", "9.007199254740992e+15"});
  // These doubles exceed all integers of both kinds.
  check(R"({"oneOf": [{"const": 18446744073709551615}, {"const": 1},
                      {"const": 18446744073709551616.0}]})",
        {"18446744073709551615", "1.8446744073709552e+19"}, {});
  ordered_json max = int64_t(9223372036854775807);
  EXPECT_FALSE(sameValue(max, 9223372036854775808.0, anyWork()));
  EXPECT_TRUE(sameValue(max, uint64_t(9223372036854775807), anyWork()));
}

TEST(SchemaExclusiveTest, NumbersAndStringsThatMatchOne) {
  check(R"({"oneOf": [{"type": "number"}, {"type": "integer"}]})",
        {"1.5", "-0.25"}, {"1", "-7", "1.0", "0.00", "1e2"});
  check(R"({"oneOf": [{"type": "integer", "minimum": 0},
                      {"type": "number", "maximum": 10}]})",
        {"11", "-3", "2.5", "-0.5"}, {"0", "10", "3", "3.0", "10.5"});
  check(R"({"oneOf": [{"type": "number"}, {"enum": [1, -2.5]}]})",
        {"2", "1.5", "-2"}, {"1", "1.0", "-2.50"});
  check(R"({"oneOf": [{"type": "string", "pattern": "^a"},
                      {"type": "string", "pattern": "b$"}]})",
        {"\"a\"", "\"axa\"", "\"b\"", "\"xb\""}, {"\"ab\"", "\"c\""});
  check(R"({"oneOf": [{"type": "string"}, {"const": "auto"}]})",
        {"\"\"", "\"aut\"", "\"autos\""}, {"\"auto\""});
  check(R"({"oneOf": [{"type": "string", "minLength": 3},
                      {"type": "string", "pattern": "^[a-z]+$",
                       "maxLength": 6}]})",
        {"\"a\"", "\"ab\"", "\"ABC\"", "\"abcdefg\"", "\"1234567\""},
        {"\"abc\"", "\"abcdef\"", "\"A\"", "\"\""});
  // Nothing of the second schema is left.
  check(R"({"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2},
                      {"type": "null"}]})",
        {"\"a\"", "\"\"", "null"}, {"\"ab\""});
}

/// The schemas of the inner oneOf exclude each other, so it is equivalent to
/// anyOf.
TEST(SchemaExclusiveTest, OneOfWithinOneOf) {
  check(R"({"oneOf": [{"type": "string"}, {"oneOf": [
              {"type": "string", "maxLength": 2},
              {"type": "string", "minLength": 4}]}]})",
        {"\"abc\""}, {"\"ab\"", "\"abcd\""});
  check(R"({"oneOf": [{"type": "string"}, {"oneOf": [
              {"type": "string", "pattern": "^a"},
              {"type": "string", "pattern": "^b"}]}]})",
        {"\"c\"", "\"\""}, {"\"a\"", "\"b\""});
  check(R"({"oneOf": [{"type": "integer"}, {"oneOf": [
              {"type": "number", "maximum": 0},
              {"type": "number", "exclusiveMinimum": 0, "minimum": -5,
               "maximum": 9},
              {"type": "number", "exclusiveMinimum": 20}]}]})",
        {"10", "20", "-0.5", "0.5", "20.5"}, {"0", "-1", "9", "21", "10.5"});
  check(R"({"oneOf": [{"type": "string"}, {"oneOf": [
              {"enum": ["x", "y"]}, {"type": "string", "minLength": 2},
              {"const": "z"}]}]})",
        {"\"a\"", "\"\""}, {"\"x\"", "\"z\"", "\"ab\""});
  check(R"({"oneOf": [{"type": "integer"}, {"oneOf": [
              {"const": 1}, {"enum": [2, null]},
              {"type": "string", "format": "date"}]}]})",
        {"3", "null", "\"2024-02-29\""}, {"1", "2"});
  check(R"({"oneOf": [
              {"type": "object", "properties": {"kind": {"type": "string"},
               "x": {}}, "required": ["x"]},
              {"oneOf": [
                {"properties": {"kind": {"const": "a"}}, "type": "object",
                 "required": ["kind"]},
                {"properties": {"kind": {"const": "b"}}, "type": "object",
                 "required": ["kind"]}]}]})",
        {R"({"x":1})", R"({"kind":"a"})", R"({"kind":"b"})"},
        {R"({"kind":"a","x":1})", R"({"kind":"c"})"});
  // A member that only the second schema requires, and the first forbids.
  check(R"({"oneOf": [
              {"type": "object", "properties": {"a": {}, "b": {}, "x": {}},
               "required": ["x"]},
              {"oneOf": [
                {"properties": {"a": {}}, "type": "object",
                 "additionalProperties": false},
                {"properties": {"b": {}}, "type": "object",
                 "required": ["b"]}]}]})",
        {R"({"x":1})", R"({"a":1,"x":1})", R"({"a":1})", R"({"b":1})"},
        {R"({"b":1,"x":1})", R"({"a":1,"b":1})"});
}

TEST(SchemaExclusiveTest, ObjectsThatMatchOne) {
  check(R"({"properties": {"a": {}, "b": {}, "c": {}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
        {R"({"a":1})", R"({"b":1})", R"({"a":1,"c":1})"},
        {"{}", R"({"a":1,"b":1})", R"({"c":1})"});
  check(R"({"properties": {"a": {}, "b": {}, "c": {}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]},
                      {"required": ["c"]}], "additionalProperties": false})",
        {R"({"a":1})", R"({"b":1})", R"({"c":1})"},
        {"{}", R"({"a":1,"c":1})", R"({"a":1,"b":1,"c":1})"});
  // The member that distinguishes the schemas must be present.
  check(R"({"oneOf": [
              {"properties": {"kind": {"const": "a"}, "x": {}}},
              {"properties": {"kind": {"const": "b"}, "x": {}}}]})",
        {R"({"kind":"a","x":1})", R"({"kind":"b"})"}, {"{}", R"({"x":1})"});
  check(R"({"oneOf": [
              {"properties": {"x": {}, "a": {}}, "additionalProperties": false},
              {"properties": {"x": {}, "b": {}},
               "additionalProperties": false}]})",
        {R"({"a":1})", R"({"x":1,"b":1})"}, {"{}", R"({"x":1})"});
  check(R"({"type": "object", "additionalProperties": {"type": "integer"},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
        {R"({"a":1})", R"({"b":1})", R"({"a":1,"c":2})"},
        {"{}", R"({"a":1,"b":1})", R"({"c":1})"});
  // Schemas behind references, and inside another choice.
  check(R"({"$defs": {"a": {"required": ["a"]}, "b": {"required": ["b"]}},
            "type": "object", "properties": {"a": {}, "b": {}},
            "oneOf": [{"anyOf": [{"$ref": "#/$defs/a"}, {"required": ["c"]}]},
                      {"$ref": "#/$defs/b"}]})",
        {R"({"a":1})", R"({"b":1})"}, {"{}", R"({"a":1,"b":1})"});
}

} // namespace
