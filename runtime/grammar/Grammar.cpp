//===- Grammar.cpp - grammars that constrain a text -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Grammar.h"

#include "runtime/grammar/Gbnf.h"
#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/JsonSchema.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::grammar;

Grammar::Grammar(GrammarTables tables)
    : shared(std::make_shared<const GrammarTables>(std::move(tables))) {}

size_t Grammar::bytes() const {
  auto bytes = [](const auto &list) { return list.size() * sizeof(list[0]); };
  return sizeof(*shared) + bytes(shared->states) + bytes(shared->ranges) +
         bytes(shared->rows) + bytes(shared->callList) + bytes(shared->rules) +
         bytes(shared->countRanges) + bytes(shared->countBounds);
}

Expected<Grammar> Grammar::fromGbnf(std::string_view text, WorkMeter &meter) {
  if (Status ended = meter.spend(text.size()); !ended.ok())
    return ended.withContext("grammar");
  Expected<GbnfGrammar> parsed = parseGbnf(text);
  if (!parsed)
    return parsed.status();
  Expected<GrammarTables> tables = compileGbnf(*parsed, meter);
  // Work that is cut short can also fail in other ways.
  if (Status ended = meter.status(); !ended.ok())
    return ended.withContext("grammar");
  if (!tables)
    return tables.status().withContext("grammar");
  return Grammar(tables.take());
}

Expected<Grammar> Grammar::fromGbnf(std::string_view text) {
  WorkMeter meter(maxGrammarWork);
  return fromGbnf(text, meter);
}

Expected<Grammar> Grammar::fromJsonSchema(const nlohmann::ordered_json &schema,
                                          WorkMeter &meter) {
  Expected<GrammarTables> tables = compileJsonSchema(schema, meter);
  if (!tables)
    return tables.status();
  return Grammar(tables.take());
}

Expected<Grammar>
Grammar::fromJsonSchema(const nlohmann::ordered_json &schema) {
  WorkMeter meter(maxGrammarWork);
  return fromJsonSchema(schema, meter);
}

Expected<Grammar> Grammar::anyJsonObject() {
  return fromJsonSchema(nlohmann::ordered_json{{"type", "object"}});
}
