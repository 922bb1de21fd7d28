//===- SchemaConstraints.h - the constraints of schemas on a value --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the constraints that several schemas together put on a value. Internal
// to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMACONSTRAINTS_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMACONSTRAINTS_H

#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/NumberAutomaton.h"
#include "runtime/grammar/TextAutomaton.h"
#include "runtime/grammar/schema/SchemaDocument.h"

#include <optional>
#include <span>
#include <vector>

namespace sluice::grammar {

/// Types of values, as bits. An integer is also a number.
enum TypeBits : uint8_t {
  NullType = 1,
  BooleanType = 2,
  IntegerType = 4,
  FractionType = 8,
  NumberTypes = IntegerType | FractionType,
  StringType = 16,
  ArrayType = 32,
  ObjectType = 64,
  AllTypes = 127
};

/// Returns the type of a value.
uint8_t typeOf(const ordered_json &value);

/// The constraints that the schemas in `nodes` together put on a value. The
/// keywords of objects and arrays are read when these are written.
struct Constraints {
  std::vector<SchemaNode> nodes;
  uint8_t types = AllTypes;
  bool typed = false; ///< one of the schemas has `type`
  /// The types to which keywords of the schemas apply.
  uint8_t spokenOf = 0;
  /// The only allowed values, from `enum` and `const`; they satisfy all other
  /// constraints.
  std::optional<std::vector<const ordered_json *>> values;
  uint8_t valueTypes = 0; ///< of `values`
  NumberRange numbers;
  uint64_t minLength = 0;
  std::optional<uint64_t> maxLength;
  /// The texts that satisfy all patterns and formats; not set if there are
  /// none.
  std::optional<TextAutomaton> patterns;
  /// Whether there is a format, of strings or numbers. A format may allow more
  /// than what is kept of it here.
  bool hasFormat = false;

  /// Returns the place for messages.
  const SchemaNode &place() const { return nodes.front(); }

  /// Returns the strings that lengths and patterns allow. Errors: minLength is
  /// too large.
  Expected<SizedTexts> strings() const;
  /// Returns the names of the members that an object must have, each once.
  /// Charges the meter; if that ends the work, some names are missing.
  std::vector<std::string> requiredNames(WorkMeter &meter) const;
};

/// Reads the constraints of `nodes`, which is not empty and holds objects whose
/// references and combinations have been handled. Errors: a keyword's value is
/// of the wrong type, a pattern or format is not supported, values are listed
/// beside keywords that look into them, or the meter ends the work.
Expected<Constraints> readConstraints(std::vector<SchemaNode> nodes,
                                      WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMACONSTRAINTS_H
