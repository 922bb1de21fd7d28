//===- SchemaArray.h - arrays of a JSON schema ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAARRAY_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAARRAY_H

#include "runtime/grammar/schema/SchemaWriter.h"

namespace sluice::grammar {

/// The bounds of an array's number of items.
struct ItemCount {
  uint64_t min = 0;
  std::optional<uint64_t> max;
};

/// Writes arrays and tuples. An array is a chain of places, one for each number
/// of items that have been written, with a loop at its end if the number is
/// unbounded. If items must be unique, there is a place for each set of values
/// that have been written. Thread-compatible.
class ArrayWriter {
public:
  /// Both must outlive the object.
  ArrayWriter(const SchemaTarget &target, SchemaWriter &writer)
      : target(target), writer(writer), builder(target.builder),
        json(target.json), reader(target.reader), meter(target.meter) {}

  /// Adds edges for the arrays that match.
  Status emit(const Constraints &constraints, BuilderState from,
              BuilderState to);

private:
  struct UniqueItems {
    std::vector<const ordered_json *> values;
    std::vector<std::vector<size_t>> choices; ///< [item]: indices into `values`
  };
  Expected<UniqueItems> readUniqueItems(const SchemaNode &place,
                                        const std::vector<Conjunction> &items);
  Status emitUniqueItems(const SchemaNode &place, const UniqueItems &items,
                         const ItemCount &count, BuilderState from,
                         BuilderState to);

  const SchemaTarget &target;
  SchemaWriter &writer;
  GrammarBuilder &builder;
  JsonRules &json;
  SchemaReader &reader;
  WorkMeter &meter;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAARRAY_H
