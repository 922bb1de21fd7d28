//===- SchemaConstraints.h - what schemas say about a value ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What schemas that hold together say about a value. Internal to
// runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMACONSTRAINTS_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMACONSTRAINTS_H

#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/NumberAutomaton.h"
#include "runtime/grammar/SchemaDocument.h"
#include "runtime/grammar/TextAutomaton.h"

#include <optional>
#include <span>
#include <vector>

namespace sluice::grammar {

/// Types of values, as bits. An integer is a number too.
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

/// The type of a value.
uint8_t typeOf(const ordered_json &value);

/// What holds for a value by the schemas in `nodes` together. Objects' and
/// arrays' own keywords are read where they are written.
struct Constraints {
  std::vector<SchemaNode> nodes;
  uint8_t types = AllTypes;
  bool typed = false; ///< one of them has `type`
  /// Of these they have keywords.
  uint8_t spokenOf = 0;
  /// The only values, of `enum` and `const`; they fulfil the rest.
  std::optional<std::vector<const ordered_json *>> values;
  uint8_t valueTypes = 0; ///< of `values`
  NumberRange numbers;
  uint64_t minLength = 0;
  std::optional<uint64_t> maxLength;
  /// Of patterns and formats, all of which hold; nothing where there are none.
  std::optional<TextAutomaton> patterns;
  /// There is a format, of strings or numbers: it may allow more than what is
  /// kept of it here.
  bool hasFormat = false;

  /// For messages.
  const SchemaNode &place() const { return nodes.front(); }

  /// The strings that lengths and patterns allow. Errors: minLength is too
  /// large.
  Expected<SizedTexts> strings() const;
  /// Of the members that an object must have, each once. Charges the meter;
  /// where that ends the work some are missing.
  std::vector<std::string> requiredNames(WorkMeter &meter) const;
};

/// `nodes` is not empty; they are objects, and their references and
/// combinations have been dealt with. Errors: a keyword's value is not of its
/// type, a pattern or format is not supported, values are given one by one
/// beside keywords that look into them, or the meter ends the work.
Expected<Constraints> readConstraints(std::vector<SchemaNode> nodes,
                                      WorkMeter &meter);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMACONSTRAINTS_H
