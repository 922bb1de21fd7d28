//===- SchemaParts.h - what the parts of a schema compiler exchange -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAPARTS_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAPARTS_H

#include "runtime/grammar/schema/SchemaConstraints.h"
#include "runtime/grammar/schema/SchemaDocument.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::grammar {

/// One of the schemas of a conjunction. If it is `settled`, its references and
/// combinations have been handled, and only its own constraints count.
struct SchemaPart {
  SchemaNode node;
  bool settled = false;
};
using Conjunction = std::vector<SchemaPart>;

/// Returns a conjunction of `node` alone.
inline Conjunction conjunctionOf(SchemaNode node) {
  return {{std::move(node), false}};
}

/// A conjunction after its references were followed and its allOf were split:
/// the schemas that all must hold, and for each anyOf or oneOf the list of
/// schemas of which one must hold.
struct ExpandedSchema {
  std::vector<SchemaNode> constraints;
  struct Choice {
    SchemaNode list;
    bool exclusive; ///< oneOf
  };
  std::vector<Choice> choices;
  bool never = false;    ///< a schema is `false`
  bool followed = false; ///< a reference was followed
};

/// The members of an object whose values have the same schema.
struct MemberSchema {
  std::string name; ///< for a declared member
  /// For other members; not set for any string.
  std::optional<SizedTexts> names;
  bool declared = false;
  bool required = false;
  Conjunction value;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMAPARTS_H
