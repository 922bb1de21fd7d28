//===- OpError.h - errors that name an op ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_OPERROR_H
#define SLUICE_LIB_INTERPRETER_OPERROR_H

#include "runtime/base/Status.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace sluice::interpreter {

/// Returns "model.mlir:12:8: " if the location is in a file, else "".
std::string locationPrefix(mlir::Location location);

/// Returns an error of one line: the op's location, its name, and `parts`,
/// which say what is wrong.
template <typename... Parts>
Status opError(mlir::Operation *op, const Parts &...parts) {
  return failure(locationPrefix(op->getLoc()), "'",
                 op->getName().getStringRef().str(), "': ", parts...);
}

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_OPERROR_H
