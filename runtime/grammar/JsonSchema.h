//===- JsonSchema.h - compiles JSON schemas to grammars -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a JSON schema (draft 2020-12, with the older spellings of tuples,
// definitions and exclusive bounds) to a grammar. Every text of the grammar
// matches the schema, but not every value that matches can be written:
//
//   - properties come in the order in which the schema names them, followed by
//     properties that it does not name; if additionalProperties is left out
//     and properties or patternProperties is there, no others come;
//   - without `type`, a value has one of the types to which the other keywords
//     apply, or any type if there are none;
//   - a tuple (prefixItems) has all of its items unless minItems says
//     otherwise, and no more if items is left out;
//   - an integer has no point and no exponent; a number with bounds or
//     multipleOf has no exponent; numbers have a bounded number of digits;
//   - a property that the schema does not name may be written twice, as JSON
//     allows; all such properties together count as one for minProperties;
//   - strings with a pattern or a format, property names and constants have
//     one spelling, the shortest; spaces are bounded (JsonRules.h);
//   - a maxLength of 2^32 - 1 or more counts as none.
//
// Supported: boolean schemas; $ref within the document or, below a schema with
// an $id, within that schema, also recursive ones; allOf and anyOf; oneOf if it
// is known which values match just one of its schemas (SchemaExclusive.cpp; if
// one of them overlaps with another and has a oneOf of its own, no value may
// match two schemas of that); uniqueItems, for items of a few named values;
// type, enum, const; properties, required, additionalProperties,
// patternProperties, propertyNames, minProperties, maxProperties; items,
// prefixItems, minItems, maxItems; unevaluatedProperties and unevaluatedItems,
// as booleans; minLength, maxLength, pattern and format (Pattern.h); minimum,
// maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, and OpenAPI's
// formats of numbers.
//
// Annotations (title, description, default, and all names that JSON Schema does
// not define) are ignored, as the standard says. A keyword that cannot be
// enforced (not, if, contains, ...) or has a value of the wrong kind is refused
// with its JSON pointer, wherever it stands.
//
// Internal to runtime/grammar; use Grammar::fromJsonSchema().
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_JSONSCHEMA_H
#define SLUICE_RUNTIME_GRAMMAR_JSONSCHEMA_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/GrammarTables.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice::grammar {

/// Compiles a schema. Errors: it is no valid schema, uses an unsupported
/// construct, contradicts itself, or exceeds a limit; or the meter ends the
/// work.
Expected<GrammarTables> compileJsonSchema(const nlohmann::ordered_json &schema,
                                          WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_JSONSCHEMA_H
