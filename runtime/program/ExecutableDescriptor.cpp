//===- ExecutableDescriptor.cpp - an executable's self-description --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ExecutableDescriptor.h"

#include "runtime/program/DescriptorChecks.h"

#include <cstdio>
#include <set>
#include <tuple>

using namespace sluice;

namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return failure("program descriptor: ", parts...);
}

Status checkScalars(const ExecutableDescriptor &executable) {
  const CheckedNumber ranges[] = {
      {"context_length", executable.contextLength, 1, maxTokens},
      {"vocab_size", executable.vocabSize, 1, maxTokens},
      {"hidden_size", executable.hiddenSize, 1, maxDimension},
      {"layers", executable.layers, 0, maxLayers},
      {"number of programs", int64_t(executable.programs.size()), 1, maxLayers},
  };
  SLUICE_RETURN_IF_ERROR(checkRanges(ranges));
  for (int32_t token : executable.eosTokens) {
    const CheckedNumber range{"eos token", token, 0, executable.vocabSize - 1};
    SLUICE_RETURN_IF_ERROR(checkRanges({&range, 1}));
  }
  return {};
}

Status checkFile(const ModelFile &file) {
  if (file.path.empty() || file.path.find('\0') != std::string::npos)
    return bad("a file's path is not usable");
  bool hex = file.identity.size() == 16;
  for (char c : file.identity)
    hex &= (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  if (!hex)
    return bad("file '", file.path, "': identity is not 16 hex digits");
  return {};
}

/// Returns what all programs of one name have in common.
auto shapeOf(const ProgramDescriptor &program) {
  std::vector<std::pair<int64_t, int64_t>> caches;
  for (const device::CacheShape &cache : program.caches)
    caches.emplace_back(cache.kvHeads, cache.headDim);
  return std::tuple(program.contextLength, program.vocabSize,
                    program.hiddenSize, program.firstLayer, program.layers,
                    program.hasEmbedding, program.hasOutput,
                    program.checkpoints, program.stepRows, std::move(caches));
}

/// Checks that each name has one program for each target, and that all of them
/// have one shape.
Status checkTargets(const ExecutableDescriptor &executable) {
  std::set<std::pair<std::string_view, ProgramTarget>> seen;
  std::set<std::string_view> names;
  std::set<ProgramTarget> targets;
  ProgramTarget last = ProgramTarget::Cpu;
  for (const ProgramDescriptor &program : executable.programs) {
    if (!seen.insert({program.name, program.target}).second)
      return bad("two programs are named '", program.name, "'");
    if (program.target < last)
      return bad("program '", program.name, "' for a CPU comes too late");
    last = program.target;
    names.insert(program.name);
    targets.insert(program.target);
    const ProgramDescriptor &first =
        executable.programs[size_t(*executable.findProgram(program.name))];
    if (shapeOf(program) != shapeOf(first))
      return bad("program '", program.name, "' for ",
                 programTargetName(program.target),
                 " has not the shape of that for ",
                 programTargetName(first.target));
  }
  if (seen.size() != names.size() * targets.size())
    return bad("a program is not there for all targets");
  return {};
}

/// Checks that each program has one place in the plan.
Status checkPlaces(const ExecutableDescriptor &executable) {
  std::set<std::string_view> names, placed;
  for (const ProgramDescriptor &program : executable.programs)
    names.insert(program.name);
  auto place = [&](const std::string &program) -> Status {
    if (!names.contains(program))
      return bad("there is no program '", program, "'");
    if (!placed.insert(program).second)
      return bad("program '", program, "' has two places in the plan");
    return {};
  };
  for (const PlanStage &stage : executable.plan.stages)
    for (int64_t member = 0; member < stage.members(); ++member)
      SLUICE_RETURN_IF_ERROR(place(stage.programOf(member)));
  if (executable.plan.draft)
    SLUICE_RETURN_IF_ERROR(place(executable.plan.draft->program));
  for (std::string_view name : names)
    if (!placed.contains(name))
      return bad("program '", name, "' has no place in the plan");
  return {};
}

/// Checks that the stages cover the model, each layer once and in order.
Status checkStages(const ExecutableDescriptor &executable) {
  auto stages = int64_t(executable.plan.stages.size());
  int64_t nextLayer = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    const ProgramDescriptor &program = executable.stageProgram(stage);
    if (program.layers > 0 && program.firstLayer != nextLayer)
      return bad("program '", program.name, "' starts with layer ",
                 program.firstLayer, ", not ", nextLayer);
    nextLayer += program.layers;
    if (program.hasEmbedding != (stage == 0))
      return bad("program '", program.name, "' is stage ", stage, " and has ",
                 program.hasEmbedding ? "an" : "no", " embedding");
    if (program.hasOutput != (stage == stages - 1))
      return bad("program '", program.name, "' is stage ", stage, " of ",
                 stages, " and has ", program.hasOutput ? "an" : "no",
                 " output layer");
    if (program.vocabSize != executable.vocabSize ||
        program.contextLength != executable.contextLength ||
        program.hiddenSize != executable.hiddenSize)
      return bad("program '", program.name, "' is of a model of another shape");
  }
  if (nextLayer != executable.layers)
    return bad("the stages have ", nextLayer, " of ", executable.layers,
               " layers");
  return {};
}

/// Checks that the programs of a group's members fit together.
Status checkMembers(const ExecutableDescriptor &executable) {
  const ExecutionPlan &plan = executable.plan;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const ProgramDescriptor &first = executable.stageProgram(int64_t(stage));
    int64_t members = plan.stages[stage].members();
    auto shape = [](const ProgramDescriptor &of) {
      return std::tuple(of.members, of.firstLayer, of.layers, of.hasEmbedding,
                        of.hasOutput, of.vocabSize, of.contextLength,
                        of.hiddenSize, of.checkpoints, of.stepRows,
                        of.caches.size());
    };
    for (int64_t member = 0; member < members; ++member) {
      const ProgramDescriptor &program =
          executable.stageProgram(int64_t(stage), member);
      if (program.members != members || shape(program) != shape(first))
        return bad("program '", program.name, "' is not of a group of ",
                   members, " with '", first.name, "'");
    }
  }
  return {};
}

Status checkDraft(const ExecutableDescriptor &executable) {
  if (!executable.plan.draft)
    return {};
  const ProgramDescriptor &draft = executable.programs[size_t(
      *executable.findProgram(executable.plan.draft->program))];
  if (!draft.hasEmbedding || !draft.hasOutput || draft.firstLayer != 0)
    return bad("the draft '", draft.name, "' is not a whole model");
  if (draft.members != 1)
    return bad("the draft '", draft.name, "' is of a group");
  return {};
}

} // namespace

Status ExecutableDescriptor::validate() const {
  SLUICE_RETURN_IF_ERROR(checkScalars(*this));
  for (const ModelFile &file : files)
    SLUICE_RETURN_IF_ERROR(checkFile(file));
  for (const ProgramDescriptor &program : programs)
    SLUICE_RETURN_IF_ERROR(program.validate(files));
  SLUICE_RETURN_IF_ERROR(plan.validate());
  SLUICE_RETURN_IF_ERROR(checkTargets(*this));
  SLUICE_RETURN_IF_ERROR(checkPlaces(*this));
  SLUICE_RETURN_IF_ERROR(checkStages(*this));
  SLUICE_RETURN_IF_ERROR(checkMembers(*this));
  return checkDraft(*this);
}

std::optional<int64_t>
ExecutableDescriptor::findProgram(std::string_view program) const {
  for (size_t i = 0; i < programs.size(); ++i)
    if (programs[i].name == program)
      return int64_t(i);
  return std::nullopt;
}

std::optional<int64_t>
ExecutableDescriptor::findProgram(std::string_view program,
                                  ProgramTarget target) const {
  for (size_t i = 0; i < programs.size(); ++i)
    if (programs[i].name == program && programs[i].target == target)
      return int64_t(i);
  return std::nullopt;
}

bool ExecutableDescriptor::isFor(ProgramTarget target) const {
  for (const ProgramDescriptor &program : programs)
    if (program.target == target)
      return true;
  return false;
}

const ProgramDescriptor &
ExecutableDescriptor::stageProgram(int64_t stage, int64_t member) const {
  return programs[size_t(
      *findProgram(plan.stages[size_t(stage)].programOf(member)))];
}

int64_t ExecutableDescriptor::parameterCount() const {
  std::set<std::tuple<int64_t, uint64_t>> seen;
  int64_t count = 0;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    for (const WeightDescriptor &weight : stageProgram(int64_t(stage)).weights)
      if (seen.insert({weight.file, weight.offset}).second)
        count += weight.rows * weight.cols;
  return count;
}

std::string sluice::formatIdentity(uint64_t identity) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(identity));
  return text;
}
