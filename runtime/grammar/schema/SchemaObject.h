//===- SchemaObject.h - objects of a JSON schema --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAOBJECT_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAOBJECT_H

#include "runtime/grammar/schema/SchemaWriter.h"

#include <algorithm>
#include <optional>

namespace sluice::grammar {

/// The bounds of an object's number of members.
struct MemberCount {
  uint64_t min = 0;
  std::optional<uint64_t> max;
  size_t limit = 1; ///< higher counts are treated like this one

  /// Returns how many declared members there must be before others come.
  size_t minDeclared() const {
    return min > 0 ? static_cast<size_t>(min - 1) : 0;
  }
  /// Returns the count after one more member; nothing if no more are allowed.
  std::optional<size_t> next(size_t count) const {
    if (max && count >= *max)
      return std::nullopt;
    return std::min(count + 1, limit);
  }
};

/// Writes objects. Members are written in order, so an object is a chain. The
/// places after each declared member stand for the number of members written so
/// far, as far as it matters, and have edges for the ways to go on.
/// Thread-compatible.
class ObjectWriter {
public:
  /// Both must outlive the object.
  ObjectWriter(const SchemaTarget &target, SchemaWriter &writer)
      : target(target), writer(writer), builder(target.builder),
        json(target.json) {}

  /// Adds edges for the objects that match.
  Status emit(const Constraints &constraints, BuilderState from,
              BuilderState to);

private:
  Status emitMembers(const std::vector<MemberSchema> &members,
                     const MemberCount &count, BuilderState from,
                     BuilderState to);
  Status emitMember(const MemberSchema &member, bool shared, BuilderState from,
                    BuilderState to);

  const SchemaTarget &target;
  SchemaWriter &writer;
  GrammarBuilder &builder;
  JsonRules &json;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAOBJECT_H
