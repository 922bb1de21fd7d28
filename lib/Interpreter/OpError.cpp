//===- OpError.cpp - errors that name an op -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpError.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;

std::string sluice::interpreter::locationPrefix(Location location) {
  auto file = location->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return (file.getFilename().getValue() + ":" + llvm::Twine(file.getLine()) +
          ":" + llvm::Twine(file.getColumn()) + ": ")
      .str();
}
