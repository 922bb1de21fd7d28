//===- ExecutableDescriptor.h - an executable's self-description ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler emits native code and one JSON constant, which describes the
// model, the programs in the code and how they work together. The compiler
// writes the constant and the runtime reads it, both through this file, so
// their formats cannot diverge.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_EXECUTABLEDESCRIPTOR_H
#define SLUICE_RUNTIME_PROGRAM_EXECUTABLEDESCRIPTOR_H

#include "runtime/program/ExecutionPlan.h"
#include "runtime/program/ProgramDescriptor.h"

namespace sluice {

/// The content of the JSON constant.
struct ExecutableDescriptor {
  /// The version of the JSON form, and of the interface between emitted code
  /// and the runtime.
  static constexpr int64_t formatVersion = 6;

  // Properties of the target model.
  std::string name;
  std::string architecture;
  std::string quantization; // as shown to people: "q8_0", "f16" ///< for
                            // display: "q8_0", "f16"
  int64_t contextLength = 0;
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t layers = 0;
  std::vector<int32_t> eosTokens;

  std::vector<ModelFile> files;    // of all programs
  std::vector<std::string> phases; // that the compilation went through
  bool embedded = false;           // packed weights are in the executable

  // The stages and the draft. Each name has one program for each target that
  // the executable supports; programs for CPUs come first.
  std::vector<ProgramDescriptor> programs;
  ExecutionPlan plan;

  /// Reads the JSON form. Errors: text that is not JSON; a member, which the
  /// message names, that is missing, of a wrong type or out of its range; an
  /// identity that does not match the content.
  static Expected<ExecutableDescriptor> parse(std::string_view json);

  /// Writes the JSON form with the identity of its content; `plan.identity` is
  /// ignored. Errors: those of validate(); text that is not UTF-8.
  Expected<std::string> toJson() const;

  /// Checks that every number is in its range, that every index and name refers
  /// to something, and that the stages cover the model once and in order. Users
  /// of a parsed descriptor need not check these again.
  Status validate() const;

  /// Returns the index of the first program of a name, or nullopt if there is
  /// none. All programs of a name have its shape.
  std::optional<int64_t> findProgram(std::string_view program) const;
  /// Returns the index of the program of a name for a target, or nullopt.
  std::optional<int64_t> findProgram(std::string_view program,
                                     ProgramTarget target) const;
  /// Returns whether every program exists for the target. The descriptor must
  /// be valid.
  bool isFor(ProgramTarget target) const;
  /// Returns the first program of a stage, or of a member of the group that
  /// computes the stage. The descriptor must be valid.
  const ProgramDescriptor &stageProgram(int64_t stage,
                                        int64_t member = 0) const;

  /// The number of elements of all weights of the target; tied weights count
  /// once.
  int64_t parameterCount() const;
};

/// Returns an identity as text: 16 hexadecimal digits.
std::string formatIdentity(uint64_t identity);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_EXECUTABLEDESCRIPTOR_H
