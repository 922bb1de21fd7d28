//===- NoLinkedModels.cpp - a program without models ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/devicecheck/LinkedModels.h"

std::span<const sluice::devicecheck::LinkedModel>
sluice::devicecheck::linkedModels() {
  return {};
}
