//===- SchemaBudget.h - how much a schema may take ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMABUDGET_H
#define SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMABUDGET_H

#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/GrammarBuilder.h"
#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/schema/SchemaDocument.h"

namespace sluice::grammar {

/// Counts the schemas that are looked at while one document is compiled.
/// References can make them many more than the document has.
class SchemaBudget {
public:
  /// Both must outlive the budget.
  SchemaBudget(const GrammarBuilder &builder, WorkMeter &meter)
      : builder(builder), work(meter) {}

  /// What the compilation may take in time and memory.
  WorkMeter &meter() const { return work; }
  /// Counts a schema. Fails if there were too many, the grammar is full or the
  /// meter's work is spent.
  Status spend() {
    SLUICE_RETURN_IF_ERROR(spendOnSchema(work));
    if (++schemas > maxSchemaValues || builder.full())
      return failure(
          "JSON schema: too large, once its references are followed");
    return {};
  }

private:
  const GrammarBuilder &builder;
  WorkMeter &work;
  size_t schemas = 0;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_SCHEMA_SCHEMABUDGET_H
