//===- SchemaCompiler.cpp - compiles JSON schemas to grammars -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarCompiler.h"
#include "runtime/grammar/JsonSchema.h"
#include "runtime/grammar/schema/SchemaWriter.h"

using namespace sluice;
using namespace sluice::grammar;

static Expected<GrammarTables> compileDocument(const ordered_json &document,
                                               WorkMeter &meter) {
  GrammarBuilder builder(meter);
  JsonRules json(builder);
  SchemaBudget budget(builder, meter);
  SchemaReader reader(document, budget);
  SchemaWriter writer({builder, json, reader, budget, meter});
  RuleId rule = builder.addRule(reader.root().pointer);
  SLUICE_RETURN_IF_ERROR(writer.emit(conjunctionOf(reader.root()),
                                     builder.start(rule), builder.end(rule)));
  SLUICE_RETURN_IF_ERROR(writer.finish());
  Expected<GrammarTables> tables = compileGrammar(builder, rule, meter);
  if (!tables)
    return tables.status().withContext("JSON schema");
  return tables;
}

Expected<GrammarTables>
sluice::grammar::compileJsonSchema(const ordered_json &schema,
                                   WorkMeter &meter) {
  SLUICE_RETURN_IF_ERROR(checkSize(schema));
  Expected<GrammarTables> tables = compileDocument(schema, meter);
  // Work that is cut short can also fail in other ways.
  if (Status ended = meter.status(); !ended.ok())
    return ended.withContext("JSON schema");
  return tables;
}
