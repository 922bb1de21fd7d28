//===- SchemaValues.h - whether a value matches a schema ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that schemas name one by one, and whether they match others. Internal
// to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMAVALUES_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMAVALUES_H

#include "runtime/grammar/SchemaConstraints.h"

namespace sluice::grammar {

/// Equal as JSON Schema has it: whatever the order of members, and the spelling
/// of numbers.
bool sameValue(const ordered_json &a, const ordered_json &b, WorkMeter &meter);

/// Types that a schema lets through. Where it names none, only what is written
/// is narrowed to the types that its keywords are about.
uint8_t typesThatMatch(const Constraints &constraints);
uint8_t typesThatAreWritten(const Constraints &constraints);

enum class Answer : uint8_t { No, Yes, Unknown };

/// Tells whether values match what holds by some schemas, which outlive it.
/// Thread-compatible.
class ValueTest {
public:
  /// Errors: its automata are too large.
  static Expected<ValueTest> create(const Constraints &constraints,
                                    WorkMeter &meter);

  /// Unknown: an array or object, of which the schemas say something; a string
  /// or number that a format may allow; a number of very many digits.
  Answer matches(const ordered_json &value) const;

private:
  ValueTest(const Constraints &constraints, WorkMeter &meter)
      : constraints(&constraints), meter(&meter) {}
  Answer matchesString(const std::string &text) const;
  Answer matchesNumber(const ordered_json &value) const;

  const Constraints *constraints;
  WorkMeter *meter;
  SizedTexts strings;
  std::optional<NumberAutomata> numbers; ///< nothing: all numbers
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMAVALUES_H
