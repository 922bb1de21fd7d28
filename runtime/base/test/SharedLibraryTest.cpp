//===- SharedLibraryTest.cpp - tests of libraries opened at run time ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/SharedLibrary.h"

#include <gtest/gtest.h>

using namespace sluice;

TEST(SharedLibrary, FindsFunctionsByName) {
  Expected<SharedLibrary> library = SharedLibrary::open("libm.so.6");
  ASSERT_TRUE(library) << library.status().message();
  double (*root)(double) = nullptr;
  ASSERT_TRUE(library->find("sqrt", root).ok());
  EXPECT_EQ(root(9), 3);
  EXPECT_EQ(library->find("no_such_root", root).message(),
            "has no no_such_root");
  EXPECT_EQ(root, nullptr);
}

TEST(SharedLibrary, SaysWhatTheLoaderSays) {
  EXPECT_EQ(SharedLibrary::open("/nowhere/lib.so").status().message(),
            "/nowhere/lib.so: cannot open shared object file: No such file or "
            "directory");
}
