//===- SluiceDialect.h - the dialect sluice -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEDIALECT_H
#define SLUICE_DIALECT_SLUICE_IR_SLUICEDIALECT_H

#include "mlir/IR/Dialect.h"

#include <string>

#include "sluice/Dialect/Sluice/IR/SluiceDialect.h.inc"

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEDIALECT_H
