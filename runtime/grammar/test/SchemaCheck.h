//===- SchemaCheck.h - checks the texts that a schema allows --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_TEST_SCHEMACHECK_H
#define SLUICE_RUNTIME_GRAMMAR_TEST_SCHEMACHECK_H

#include "runtime/grammar/test/TestGrammars.h"

#include <nlohmann/json.hpp>

namespace sluice::grammar {

using Texts = std::vector<std::string>;

/// Checks that the schema allows the texts `in`, and none of the texts `out`.
inline void check(std::string_view schema, const Texts &in, const Texts &out) {
  auto parsed = nlohmann::ordered_json::parse(schema, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded()) << schema;
  Expected<Grammar> grammar = Grammar::fromJsonSchema(parsed);
  ASSERT_TRUE(grammar) << schema << ": " << grammar.status().message();
  for (const std::string &text : in)
    EXPECT_TRUE(matches(*grammar, text)) << schema << " and " << text;
  for (const std::string &text : out)
    EXPECT_FALSE(matches(*grammar, text)) << schema << " and " << text;
}

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_TEST_SCHEMACHECK_H
