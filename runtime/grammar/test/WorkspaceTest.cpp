//===- WorkspaceTest.cpp - tests of the working memory of matching --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Workspace.h"

#include "runtime/base/test/Allocations.h"
#include "runtime/grammar/test/TestGrammars.h"

#include <list>
#include <new>

using namespace sluice;
using namespace sluice::grammar;
using sluice::test::LackOfMemory;

namespace {

bool isFresh(const BorrowedWorkspace &space) {
  return space->walk.matcher.items.capacity() == 0;
}

std::shared_ptr<const TokenGrammar> over(std::string_view text) {
  return std::make_shared<const TokenGrammar>(gbnf(text),
                                              makeTrie({"a", "b", "(", ")"}),
                                              TokenGrammar::defaultCacheBytes);
}

/// Returns the mask of what can come after some tokens.
std::vector<uint64_t> maskAfter(const std::shared_ptr<const TokenGrammar> &of,
                                std::initializer_list<TokenId> tokens) {
  GrammarState state(of);
  for (TokenId token : tokens)
    EXPECT_TRUE(state.advance(token));
  std::vector<uint64_t> mask(of->maskWords());
  EXPECT_TRUE(state.fillMask(mask).ok());
  return mask;
}

} // namespace

TEST(WorkspaceTest, IsLentAgain) {
  const Workspace *first = nullptr;
  {
    BorrowedWorkspace one;
    first = &*one;
    BorrowedWorkspace other;
    EXPECT_NE(&*other, first);
  }
  BorrowedWorkspace again;
  EXPECT_EQ(&*again, first);
}

/// Wherever memory runs out while a text is matched, the next text to use the
/// same workspace is matched as ever.
TEST(WorkspaceTest, ForgetsWhereMemoryRanOut) {
  // At the second "a" of "(aab" both x and y can begin, and memory can run out
  // when one of them has been noted. It must not begin in "baab".
  const auto grammar = over("root ::= \"(\" (x | y) \")\" | \"b\" z\n"
                            "x ::= \"a\" x \"(\" | \"a\" \"b\"\n"
                            "y ::= \"a\" y \")\" | \"a\" \"b\"\n"
                            "z ::= \"a\" z \"b\" | \"b\"");
  const std::vector<uint64_t> expected = maskAfter(grammar, {1, 0, 0, 1});
  // Workspaces that have memory, which are kept from the texts.
  std::list<BorrowedWorkspace> used;
  for (int64_t first = 0;; ++first) {
    ASSERT_LT(first, 1000);
    while (!isFresh(used.emplace_back())) {
    }
    used.pop_back();
    bool ranOut = false;
    try {
      LackOfMemory some({.first = first, .count = 1});
      (void)maskAfter(grammar, {2, 0, 0, 1});
    } catch (const std::bad_alloc &) {
      ranOut = true;
    }
    EXPECT_EQ(maskAfter(grammar, {1, 0, 0, 1}), expected)
        << "memory ran out at allocation " << first;
    if (!ranOut)
      break;
  }
}
