//===- SchemaValues.h - decides whether a value matches a schema ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether values that schemas list match other schemas. Internal to
// runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAVALUES_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAVALUES_H

#include "runtime/grammar/schema/SchemaConstraints.h"

namespace sluice::grammar {

/// Returns whether two values are equal as JSON Schema defines it: the order of
/// members and the spelling of numbers do not matter.
bool sameValue(const ordered_json &a, const ordered_json &b, WorkMeter &meter);

/// typesThatMatch() returns the types of the values that match a schema;
/// without `type` these are all types. typesThatAreWritten() returns the types
/// of the values that are written; without `type` these are only the types to
/// which the schema's keywords apply, or all types if it has no such keywords.
/// If the schema lists its values, both return the types of these.
uint8_t typesThatMatch(const Constraints &constraints);
uint8_t typesThatAreWritten(const Constraints &constraints);

enum class Answer : uint8_t { No, Yes, Unknown };

/// Decides whether values match the constraints of some schemas, which must
/// outlive it. Thread-compatible.
class ValueTest {
public:
  /// Errors: its automata are too large.
  static Expected<ValueTest> create(const Constraints &constraints,
                                    WorkMeter &meter);

  /// Returns Unknown for an array or object on which the schemas have
  /// constraints, for a string or number that a format may allow, and for a
  /// number of very many digits.
  Answer matches(const ordered_json &value) const;

private:
  ValueTest(const Constraints &constraints, WorkMeter &meter)
      : constraints(&constraints), meter(&meter) {}
  Answer matchesString(const std::string &text) const;
  Answer matchesNumber(const ordered_json &value) const;

  const Constraints *constraints;
  WorkMeter *meter;
  SizedTexts strings;
  std::optional<NumberAutomata> numbers; ///< not set for all numbers
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAVALUES_H
