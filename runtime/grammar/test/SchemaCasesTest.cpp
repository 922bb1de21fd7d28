//===- SchemaCasesTest.cpp - compares schemas with a validator ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks schema_cases.json, which make_schema_cases.py has made with Python's
// jsonschema.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/test/TestGrammars.h"

#include <fstream>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::grammar;

namespace {

TEST(SchemaCasesTest, AgreesWithJsonschema) {
  std::ifstream file(SLUICE_GRAMMAR_TEST_DATA "/schema_cases.json");
  auto cases = nlohmann::ordered_json::parse(file, nullptr, false);
  ASSERT_TRUE(cases.is_array());
  size_t in = 0, out = 0;
  for (const auto &it : cases) {
    Expected<Grammar> grammar = Grammar::fromJsonSchema(it["schema"]);
    ASSERT_TRUE(grammar) << it["schema"] << grammar.status().message();
    for (const std::string text : it["in"]) {
      EXPECT_TRUE(matches(*grammar, text)) << it["schema"] << " and " << text;
      ++in;
    }
    for (const std::string text : it["out"]) {
      EXPECT_FALSE(matches(*grammar, text)) << it["schema"] << " and " << text;
      ++out;
    }
  }
  EXPECT_GT(in, 300u);
  EXPECT_GT(out, 600u);
}

} // namespace
