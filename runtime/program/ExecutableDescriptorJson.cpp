//===- ExecutableDescriptorJson.cpp - the descriptor's JSON form ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/FileIdentity.h"
#include "runtime/program/DescriptorJson.h"

using namespace sluice;

namespace {

void readScalars(DescriptorFields &fields, ExecutableDescriptor &executable) {
  fields.read("name", executable.name);
  fields.read("architecture", executable.architecture);
  fields.read("quantization", executable.quantization);
  fields.read("context_length", executable.contextLength);
  fields.read("vocab_size", executable.vocabSize);
  fields.read("hidden_size", executable.hiddenSize);
  fields.read("layers", executable.layers);
  fields.read("embedded", executable.embedded);
}

void readArrays(DescriptorFields &fields, Status &status,
                ExecutableDescriptor &executable) {
  fields.readArray("files", [&](const json &item, const std::string &place) {
    ModelFile model;
    DescriptorFields file(item, place, status);
    file.read("path", model.path);
    file.read("size", model.size);
    file.read("identity", model.identity);
    executable.files.push_back(std::move(model));
  });
  fields.readArray(
      "eos_tokens", [&](const json &item, const std::string &place) {
        int64_t token = -1;
        bool whole = DescriptorFields::integer(item, token);
        if ((!whole || token < 0 || token > INT32_MAX) && status.ok())
          status = failure(place, ": is not a token id");
        executable.eosTokens.push_back(int32_t(token));
      });
  fields.readArray("phases", [&](const json &item, const std::string &place) {
    if (const std::string *phase = item.get_ptr<const std::string *>())
      executable.phases.push_back(*phase);
    else if (status.ok())
      status = failure(place, ": is not a string");
  });
  fields.readArray("programs", [&](const json &item, const std::string &place) {
    readProgram(item, place, status, executable.programs.emplace_back());
  });
}

json toObject(const ExecutableDescriptor &executable) {
  json object = {{"format", ExecutableDescriptor::formatVersion},
                 {"name", executable.name},
                 {"architecture", executable.architecture},
                 {"quantization", executable.quantization},
                 {"context_length", executable.contextLength},
                 {"vocab_size", executable.vocabSize},
                 {"hidden_size", executable.hiddenSize},
                 {"layers", executable.layers},
                 {"embedded", executable.embedded},
                 {"eos_tokens", executable.eosTokens},
                 {"phases", executable.phases},
                 {"plan", planToJson(executable.plan)}};
  object["files"] = json::array();
  for (const ModelFile &file : executable.files)
    object["files"].push_back({{"path", file.path},
                               {"size", file.size},
                               {"identity", file.identity}});
  object["programs"] = json::array();
  for (const ProgramDescriptor &program : executable.programs)
    object["programs"].push_back(programToJson(program));
  return object;
}

/// Returns the hash of a descriptor's JSON form without identity and paths,
/// because the files may be in different places on each machine. Throws if a
/// text is not UTF-8.
uint64_t identityOf(json object) {
  for (json &file : object["files"])
    file.erase("path");
  std::string text = object.dump();
  return fnv1a({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

} // namespace

Expected<ExecutableDescriptor>
ExecutableDescriptor::parse(std::string_view text) {
  json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded())
    return failure("program descriptor: is not JSON");
  Status status;
  ExecutableDescriptor executable;
  int64_t version = 0;
  std::string identity;
  DescriptorFields fields(root, "program descriptor", status);
  fields.read("format", version);
  if (status.ok() && version != formatVersion)
    return failure("program descriptor: is of format ", version,
                   "; this runtime reads format ", formatVersion);
  readScalars(fields, executable);
  readArrays(fields, status, executable);
  fields.readMember("plan", [&](const json &item, const std::string &place) {
    DescriptorFields plan(item, place, status);
    plan.read("identity", identity);
    readPlan(item, place, status, executable.plan);
  });
  if (!status.ok())
    return status;
  if (status = executable.validate(); !status.ok())
    return status;
  // The parsed text is UTF-8, so this does not throw.
  executable.plan.identity = identityOf(toObject(executable));
  if (formatIdentity(executable.plan.identity) != identity)
    return failure("program descriptor: plan: 'identity' is not that of the "
                   "rest: '",
                   identity, "'");
  return executable;
}

Expected<std::string> ExecutableDescriptor::toJson() const {
  SLUICE_RETURN_IF_ERROR(validate());
  try {
    json object = toObject(*this);
    object["plan"]["identity"] = formatIdentity(identityOf(object));
    return object.dump();
  } catch (const json::exception &) {
    return failure("program descriptor: a name or path is not UTF-8");
  }
}
