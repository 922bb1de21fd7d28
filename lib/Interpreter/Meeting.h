//===- Meeting.h - collectives of a group's members -----------------------===//
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

/// A member of a group that has stopped at an op at which the members meet.
struct Attendee {
  mlir::Operation *op;
  Scope *scope;
};

/// Executes one checkpoint or collective for all members of a group, given in
/// their order, and sets the op's results in each member's scope. The first
/// member decides which rows are dead. Fails if the members are at different
/// ops.
Status meet(std::span<const Attendee> members, Environment &environment);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_MEETING_H
