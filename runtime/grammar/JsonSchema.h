//===- JsonSchema.h - JSON schemas as grammars ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a JSON schema (draft 2020-12, with the older spellings of tuples,
// definitions and exclusive bounds) to a grammar. What is written matches the
// schema; not everything that matches can be written:
//
//   - properties come in the order in which the schema names them, and those
//     that it does not name behind them; where additionalProperties is left
//     out and properties or patternProperties is there, no others come;
//   - without `type`, a value is of the types that the other keywords are
//     about, of any type where there are none;
//   - a tuple (prefixItems) has all of its items where minItems does not say
//     otherwise, and no more where items is left out;
//   - an integer has no point and no exponent; a number with bounds or
//     multipleOf has no exponent; numbers have a bounded number of digits;
//   - a property that the schema does not name may be written twice, as JSON
//     allows; all of those together count as one towards minProperties;
//   - strings with a pattern or a format, property names and constants have
//     one spelling, the shortest; spaces are bounded (JsonRules.h);
//   - a maxLength of 2^32 - 1 or more is as good as none.
//
// Supported: boolean schemas; $ref within the document or, below a schema with
// an $id, within that one, recursive ones too; allOf, anyOf, and oneOf where it
// can be said which values match just one of its schemas (SchemaExclusive.cpp):
// where one of them overlaps with another and has a oneOf of its own, no value
// may match two schemas of that; uniqueItems, of items of a few named values;
// type, enum, const; properties, required, additionalProperties,
// patternProperties, propertyNames, minProperties, maxProperties; items,
// prefixItems, minItems, maxItems; unevaluatedProperties and unevaluatedItems,
// as booleans; minLength, maxLength, pattern and format (Pattern.h); minimum,
// maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, and the formats of
// numbers of OpenAPI. Annotations (title, description, default, and all names
// that JSON Schema does not know) are left out of account, as it says. A
// keyword that cannot be held to (not, if, contains, ...), or with a value of
// the wrong kind, is refused with its JSON pointer, wherever it stands.
//
// Internal to runtime/grammar; Grammar::fromJsonSchema is the way in.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_JSONSCHEMA_H
#define SLUICE_RUNTIME_GRAMMAR_JSONSCHEMA_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/GrammarTables.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice::grammar {

/// Errors: the schema is not one, uses what is not supported, contradicts
/// itself, or is larger than the limits; the meter ends the work.
Expected<GrammarTables> compileJsonSchema(const nlohmann::ordered_json &schema,
                                          WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_JSONSCHEMA_H
