//===- JsonTreeTest.cpp - tests of JSON values without allocation ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/JsonReader.h"

#include "runtime/base/test/Allocations.h"

#include <gtest/gtest.h>
#include <new>

using namespace sluice::text;
using sluice::test::LackOfMemory;

static constexpr JsonLimits someLimits = {
    .depth = 64, .values = 1000, .objectMembers = 100, .treeBytes = 1 << 20};

static constexpr std::string_view document =
    R"({"list of members": [1, [2, {"three and more": [[], {}]}], "a string"],)"
    R"("object": {"a": {"b": {"c": [null, true, "a string that is long"]}}}})";

TEST(JsonTree, GoesWithoutAllocating) {
  auto read = readJson(R"({"a":[1,[2,{"b":[[],{}]}]],"c":{"d":{"e":[3]}}})",
                       someLimits);
  ASSERT_TRUE(std::holds_alternative<JsonTree>(read));
  JsonTree tree = std::get<JsonTree>(std::move(read));
  EXPECT_EQ(tree.root().dump(),
            R"({"a":[1,[2,{"b":[[],{}]}]],"c":{"d":{"e":[3]}}})");
  LackOfMemory all({});
  JsonTree taken = std::move(tree);
  tree = JsonTree();
}

TEST(JsonTree, IsCopiedOrLeftBehindAtEveryLackOfMemory) {
  auto read = readJson(document, someLimits);
  const JsonTree &tree = std::get<JsonTree>(read);
  for (int64_t allocations = 0;; ++allocations) {
    ASSERT_LT(allocations, 10'000);
    try {
      LackOfMemory some({.first = allocations});
      const JsonTree copy = JsonTree::copyOf(tree.root());
      EXPECT_EQ(copy.root(), tree.root());
      break;
    } catch (const std::bad_alloc &) {
    }
  }
}

/// The error is reported wherever memory ends while a value is being built.
TEST(JsonTree, IsBuiltOrLeftBehindAtEveryLackOfMemory) {
  for (int64_t allocations = 0;; ++allocations) {
    ASSERT_LT(allocations, 10'000);
    try {
      LackOfMemory some({.first = allocations});
      auto read = readJson(document, someLimits);
      EXPECT_TRUE(std::holds_alternative<JsonTree>(read));
      break;
    } catch (const std::bad_alloc &) {
    }
  }
}
