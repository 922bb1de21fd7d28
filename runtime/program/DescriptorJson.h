//===- DescriptorJson.h - conversion of descriptors to and from JSON ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Helpers for the files that convert parts of a descriptor to JSON and back.
// Internal to runtime/program.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_DESCRIPTORJSON_H
#define SLUICE_RUNTIME_PROGRAM_DESCRIPTORJSON_H

#include "runtime/program/ExecutableDescriptor.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

namespace sluice {

using nlohmann::json;

/// Reads the members of one JSON object. The first member that is missing or of
/// a wrong type sets the error. Later reads do nothing or give zeros, so a
/// caller can check the status once, at the end.
class DescriptorFields {
public:
  DescriptorFields(const json &object, std::string place, Status &status)
      : object(object), place(std::move(place)), status(status) {
    if (!object.is_object())
      fail("is not an object");
  }

  void read(const char *key, std::string &out) {
    if (const json *value = member(key)) {
      if (const std::string *text = value->get_ptr<const std::string *>())
        out = *text;
      else
        fail("'", key, "' is not a string");
    }
  }

  void read(const char *key, bool &out) {
    if (const json *value = member(key)) {
      if (const bool *flag = value->get_ptr<const bool *>())
        out = *flag;
      else
        fail("'", key, "' is not true or false");
    }
  }

  void read(const char *key, int64_t &out) {
    if (const json *value = member(key))
      if (!integer(*value, out))
        fail("'", key, "' is not a whole number within range");
  }

  void read(const char *key, uint64_t &out) {
    int64_t number = 0;
    read(key, number);
    if (number < 0)
      fail("'", key, "' is negative");
    out = uint64_t(number);
  }

  void read(const char *key, float &out) {
    if (const json *value = member(key)) {
      if (value->is_number())
        out = static_cast<float>(value->get<double>());
      else
        fail("'", key, "' is not a number");
    }
  }

  void read(const char *key, Format &out) {
    std::string name;
    read(key, name);
    if (!status.ok())
      return;
    if (std::optional<Format> format = parseFormat(name))
      out = *format;
    else
      fail("'", key, "' names an unknown format '", name, "'");
  }

  void read(const char *key, ProgramTarget &out) {
    std::string name;
    read(key, name);
    if (!status.ok())
      return;
    for (ProgramTarget target : {ProgramTarget::Cpu, ProgramTarget::Cuda})
      if (programTargetName(target) == name) {
        out = target;
        return;
      }
    fail("'", key, "' names the unknown target '", name, "'");
  }

  void read(const char *key, WeightUse &out) {
    std::string name;
    read(key, name);
    if (!status.ok())
      return;
    for (WeightUse use :
         {WeightUse::Linear, WeightUse::Rows, WeightUse::Vector})
      if (weightUseName(use) == name) {
        out = use;
        return;
      }
    fail("'", key, "' is '", name, "', not linear, rows or vector");
  }

  /// Reads null, or sixteen hexadecimal digits as formatIdentity() writes them.
  void read(const char *key, std::optional<uint64_t> &out) {
    const json *value = member(key);
    if (!value || value->is_null())
      return;
    const std::string *text = value->get_ptr<const std::string *>();
    uint64_t digest = 0;
    if (text &&
        std::from_chars(text->data(), text->data() + text->size(), digest, 16)
                .ec == std::errc() &&
        formatIdentity(digest) == *text)
      out = digest;
    else
      fail("'", key, "' is not 16 hex digits");
  }

  /// Calls `read(value, place)` for a member of any type.
  template <typename Fn> void readMember(const char *key, Fn read) {
    if (const json *value = member(key))
      read(*value, place + ": " + key);
  }

  /// Calls `element(value, place)` for each element of an array.
  template <typename Fn> void readArray(const char *key, Fn element) {
    const json *value = member(key);
    if (!value)
      return;
    if (!value->is_array())
      return fail("'", key, "' is not an array");
    size_t index = 0;
    for (const json &item : *value)
      element(item, place + ": " + key + "[" + std::to_string(index++) + "]");
  }

  static bool integer(const json &value, int64_t &out) {
    if (const auto *number = value.get_ptr<const uint64_t *>()) {
      if (*number > uint64_t(std::numeric_limits<int64_t>::max()))
        return false;
      out = int64_t(*number);
      return true;
    }
    if (const auto *number = value.get_ptr<const int64_t *>()) {
      out = *number;
      return true;
    }
    return false;
  }

  template <typename... Parts> void fail(const Parts &...parts) {
    if (status.ok())
      status = failure(place, ": ", parts...);
  }

private:
  const json *member(const char *key) {
    if (!status.ok())
      return nullptr;
    auto found = object.find(key);
    if (found == object.end()) {
      fail("'", key, "' is missing");
      return nullptr;
    }
    return &*found;
  }

  const json &object;
  std::string place;
  Status &status;
};

void readProgram(const json &item, const std::string &place, Status &status,
                 ProgramDescriptor &program);
json programToJson(const ProgramDescriptor &program);

void readStepPlan(const json &item, const std::string &place, Status &status,
                  device::StepPlan &plan);
json stepPlanToJson(const device::StepPlan &plan);

/// The caller handles the identity.
void readPlan(const json &item, const std::string &place, Status &status,
              ExecutionPlan &plan);
json planToJson(const ExecutionPlan &plan);

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_DESCRIPTORJSON_H
