//===- ExecutableDescriptor.h - what an executable knows of itself --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler emits native code and, beside it, one JSON constant: what the
// model is, which programs the code has, and how they work together. The
// compiler writes that constant and the runtime reads it, both through this
// file, so the two can not drift apart.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_EXECUTABLEDESCRIPTOR_H
#define SLUICE_RUNTIME_PROGRAM_EXECUTABLEDESCRIPTOR_H

#include "runtime/program/ExecutionPlan.h"
#include "runtime/program/ProgramDescriptor.h"

namespace sluice {

struct ExecutableDescriptor {
  /// The version of the JSON form, and of the interface between emitted code
  /// and the runtime.
  static constexpr int64_t formatVersion = 5;

  // The target model's.
  std::string name;
  std::string architecture;
  std::string quantization; // as shown to people: "q8_0", "f16"
  int64_t contextLength = 0;
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t layers = 0;
  std::vector<int32_t> eosTokens;

  std::vector<ModelFile> files;    // of all programs
  std::vector<std::string> phases; // that the compiler went through
  bool embedded = false;           // packed weights lie in the executable

  // The stages and the draft. Each name has one for each target that the
  // executable is for; those for a CPU come first.
  std::vector<ProgramDescriptor> programs;
  ExecutionPlan plan;

  /// Reads the JSON form. Errors: not JSON, a member that is missing, of the
  /// wrong type or out of its range, named; an identity that is not that of
  /// what was read.
  static Expected<ExecutableDescriptor> parse(std::string_view json);

  /// Writes the JSON form, with the identity that belongs to it whatever
  /// `plan.identity` is. Errors: what validate() finds, text that is not UTF-8.
  Expected<std::string> toJson() const;

  /// Checks every number against its range, every index and name against what
  /// it refers to, and that the stages cover the model once and in order, so
  /// that users of a parsed descriptor need not.
  Status validate() const;

  /// The index of the first program of a name, whose shape all of them have;
  /// nullopt where none has the name.
  std::optional<int64_t> findProgram(std::string_view program) const;
  /// The index of the program of a name for a target; nullopt: none.
  std::optional<int64_t> findProgram(std::string_view program,
                                     ProgramTarget target) const;
  /// Whether every program is there for the target; of a valid descriptor.
  bool isFor(ProgramTarget target) const;
  /// The first program of a stage, or of a member of the group that computes
  /// it; of a valid descriptor.
  const ProgramDescriptor &stageProgram(int64_t stage,
                                        int64_t member = 0) const;

  /// Elements of all weights of the target, a tied one counted once.
  int64_t parameterCount() const;
};

/// The identity as it is shown: 16 hexadecimal digits.
std::string formatIdentity(uint64_t identity);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_EXECUTABLEDESCRIPTOR_H
