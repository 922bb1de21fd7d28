//===- FuzzDescriptor.cpp - fuzzes the reader of descriptors -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/DescriptorJson.h"

#include <cstdlib>

using namespace sluice;

namespace {

void readWhole(std::string_view text) {
  Expected<ExecutableDescriptor> read = ExecutableDescriptor::parse(text);
  if (!read)
    return;
  Expected<std::string> written = read->toJson();
  if (!written)
    std::abort();
  Expected<ExecutableDescriptor> again = ExecutableDescriptor::parse(*written);
  if (!again)
    std::abort();
  if (Expected<std::string> same = again->toJson(); !same || *same != *written)
    std::abort();
}

Status check(const ExecutionPlan &plan) { return plan.validate(); }
Status check(const ProgramDescriptor &program) {
  const ModelFile files[] = {{"model", 100000, "0123456789abcdef"}};
  return program.validate(files);
}

/// Reads a part; where it holds together, it is written and read again as
/// itself.
template <typename Part, typename Read, typename Write>
void readPart(const json &item, Read read, Write write) {
  auto readChecked = [&read](const json &from, Part &part) {
    Status status;
    read(from, "part", status, part);
    return status.ok() && check(part).ok();
  };
  Part part, again;
  if (!readChecked(item, part))
    return;
  json written = write(part);
  if (!readChecked(json::parse(written.dump()), again) ||
      write(again).dump() != written.dump())
    std::abort();
}

} // namespace

/// Any bytes are refused, or are a descriptor that is written and read again as
/// itself. Few inputs have the identity that a whole one has, so that its
/// programs and its plan are also read by themselves.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  readWhole(text);
  json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object())
    return 0;
  if (auto plan = root.find("plan"); plan != root.end())
    readPart<ExecutionPlan>(*plan, readPlan, planToJson);
  if (auto programs = root.find("programs");
      programs != root.end() && programs->is_array())
    for (const json &program : *programs)
      readPart<ProgramDescriptor>(program, readProgram, programToJson);
  return 0;
}
