//===- Meeting.h - what the members of a group do together ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_MEETING_H
#define SLUICE_LIB_INTERPRETER_MEETING_H

#include "Scope.h"
#include "sluice/Interpreter/Interpreter.h"

#include <span>

namespace sluice::interpreter {

/// One member at an op where it meets the others.
struct Attendee {
  mlir::Operation *op;
  Scope *scope;
};

/// Executes one checkpoint or collective for all members of a group, in their
/// order: sets the op's results in each one's scope. Which rows are dead, the
/// first member says. Error: they are at different ops.
Status meet(std::span<const Attendee> members, Environment &environment);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_MEETING_H
