//===- StepPlanJson.cpp - a step plan's JSON form -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// visitFields() lists the members of each kind of object once; both reading and
// writing use that list.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/DescriptorJson.h"

#include <algorithm>
#include <array>
#include <type_traits>

using namespace sluice;
using namespace sluice::device;

namespace {

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

/// The names of an enumeration's values, in order.
template <typename Enum> constexpr std::array<std::string_view, 0> names = {};
template <>
constexpr std::array<std::string_view, 2> names<RecordKind> = {"rows",
                                                               "outputs"};
template <>
constexpr std::array<std::string_view, 2> names<ExchangeTask::Operation> = {
    "sum", "gather"};
template <>
constexpr std::array<std::string_view, 6> names<KernelArgument::Kind> = {
    "buffer",    "weight",      "rope_table",
    "positions", "output_rows", "greedy_tokens"};
template <>
constexpr std::array<std::string_view, 3> names<ProductGate> = {"none", "silu",
                                                                "gelu_tanh"};
template <>
constexpr std::array<std::string_view, 3> names<RowNormKind> = {"none", "rms",
                                                                "layer"};
template <>
constexpr std::array<std::string_view, 3> names<OperandRows> = {"f32", "bf16",
                                                                "f16"};

/// The values of a task's member "do", in the order of StepTask's alternatives.
constexpr std::array<std::string_view, std::variant_size_v<StepTask>>
    taskNames = {"row_loop", "product",    "append",  "attend",
                 "exchange", "checkpoint", "barrier", "embed",
                 "operand",  "receive",    "send"};

template <typename Object, typename Kind>
concept Is = std::is_same_v<std::remove_const_t<Object>, Kind>;

// visitFields(object, visit) calls visit(key, member) for each member, or
// visit(key, member, initial) if the member is left out where it has the value
// `initial`. An object that is written is const.

template <Is<PlannedBuffer> Object>
void visitFields(Object &buffer, const auto &visit) {
  visit("kind", buffer.kind);
  visit("floats", buffer.floats);
  visit("place", buffer.place);
}

template <Is<PlannedAttention> Object>
void visitFields(Object &attention, const auto &visit) {
  visit("heads", attention.heads);
  visit("window", attention.window);
  visit("scale", attention.scale);
  visit("softcap", attention.softcap);
  visit("slopes", attention.slopes);
}

template <Is<KernelArgument> Object>
void visitFields(Object &argument, const auto &visit) {
  visit("kind", argument.kind);
  visit("index", argument.index);
  visit("part", argument.part, 0);
}

template <Is<RowNorm> Object>
void visitFields(Object &norm, const auto &visit) {
  visit("norm", norm.norm, RowNormKind::None);
  visit("epsilon", norm.epsilon, 0.0f);
  visit("input", norm.input);
  visit("weight", norm.weight, noOperand);
  visit("bias", norm.bias, noOperand);
  visit("output", norm.output, noOperand);
  visit("operand", norm.operand, noOperand);
  visit("format", norm.format, OperandRows::F32);
}

template <Is<RowRotation> Object>
void visitFields(Object &rotation, const auto &visit) {
  visit("input", rotation.input);
  visit("output", rotation.output);
  visit("rope_table", rotation.ropeTable);
  visit("heads", rotation.heads);
  visit("head_dim", rotation.headDim);
  visit("rotary_dim", rotation.rotaryDim);
  visit("half", rotation.isHalf, false);
}

template <Is<RowLoopTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("kind", task.kind);
  visit("kernel", task.kernel);
  visit("arguments", task.arguments);
  visit("threads", task.threads, 0);
  visit("blocks", task.blocks, 0);
  visit("norms", task.norms, std::vector<RowNorm>());
  visit("rotations", task.rotations, std::vector<RowRotation>());
}

template <Is<ProductTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("kind", task.kind);
  visit("input", task.input);
  visit("weight", task.weight);
  visit("bias", task.bias);
  visit("output", task.output);
  visit("first_column", task.firstColumn);
  visit("end_column", task.endColumn);
  visit("gate", task.gate, ProductGate::None);
  visit("partner_bias", task.partnerBias, noOperand);
  visit("residual", task.residual, noOperand);
}

template <Is<AppendTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("key", task.key);
  visit("value", task.value);
  visit("cache", task.cache);
}

template <Is<AttendTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("query", task.query);
  visit("output", task.output);
  visit("cache", task.cache);
  visit("attention", task.attention);
}

template <Is<ExchangeTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("operation", task.operation);
  visit("kind", task.kind);
  visit("input", task.input);
  visit("output", task.output);
  visit("scratch", task.scratch);
}

template <Is<CheckpointTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("buffers", task.buffers);
}

template <Is<BarrierTask> Object> void visitFields(Object &, const auto &) {}

template <Is<EmbedTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("table", task.table);
  visit("by_position", task.byPosition);
  visit("output", task.output);
}

template <Is<OperandTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("kind", task.kind);
  visit("format", task.format);
  visit("input", task.input);
  visit("output", task.output);
}

template <Is<ReceiveTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("output", task.output);
}

template <Is<SendTask> Object>
void visitFields(Object &task, const auto &visit) {
  visit("input", task.input);
}

template <Is<StepPlan> Object>
void visitFields(Object &plan, const auto &visit) {
  visit("kernels", plan.kernelNames);
  visit("buffers", plan.buffers);
  visit("attentions", plan.attentions);
  visit("tasks", plan.tasks);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads JSON values at `place`. Keeps the first error in `status`.
class Reader {
public:
  Reader(std::string place, Status &status)
      : place(std::move(place)), status(status) {}

  void read(const json &value, int64_t &out) {
    if (!DescriptorFields::integer(value, out))
      fail("is not a whole number");
  }

  void read(const json &value, bool &out) {
    if (value.is_boolean())
      out = value.get<bool>();
    else
      fail("is neither true nor false");
  }

  void read(const json &value, float &out) {
    if (value.is_number())
      out = static_cast<float>(value.get<double>());
    else
      fail("is not a number");
  }

  void read(const json &value, std::string &out) {
    if (value.is_string())
      out = value.get<std::string>();
    else
      fail("is not a string");
  }

  template <typename Enum>
    requires std::is_enum_v<Enum>
  void read(const json &value, Enum &out) {
    std::string name;
    read(value, name);
    if (status.ok())
      out = static_cast<Enum>(findName(name, names<Enum>));
  }

  template <typename Element>
  void read(const json &value, std::vector<Element> &out) {
    if (!value.is_array())
      return fail("is not an array");
    out.reserve(value.size());
    for (const json &each : value)
      Reader(place + "[" + std::to_string(out.size()) + "]", status)
          .read(each, out.emplace_back());
  }

  void read(const json &value, StepTask &out) {
    std::string name;
    DescriptorFields(value, place, status).read("do", name);
    if (status.ok())
      readAlternative<0>(value, findName(name, taskNames), out);
  }

  template <typename Object>
    requires std::is_class_v<Object>
  void read(const json &value, Object &out) {
    DescriptorFields fields(value, place, status);
    // A member that may be left out has its initial value already.
    visitFields(out, [&](const char *key, auto &member, auto... initial) {
      if (sizeof...(initial) > 0 && status.ok() && !value.contains(key))
        return;
      fields.readMember(key, [&](const json &each, const std::string &where) {
        Reader(where, status).read(each, member);
      });
    });
  }

private:
  template <typename... Parts> void fail(const Parts &...parts) {
    if (status.ok())
      status = failure(place, ": ", parts...);
  }

  /// The number of a name among the known ones; 0 after an error.
  size_t findName(std::string_view name,
                  std::span<const std::string_view> known) {
    auto found = std::ranges::find(known, name);
    if (found != known.end())
      return static_cast<size_t>(found - known.begin());
    fail("'", name, "' is not known");
    return 0;
  }

  template <size_t index>
  void readAlternative(const json &value, size_t which, StepTask &out) {
    if constexpr (index < std::variant_size_v<StepTask>) {
      if (which == index)
        read(value, out.emplace<index>());
      else
        readAlternative<index + 1>(value, which, out);
    }
  }

  const std::string place;
  Status &status;
};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

template <typename Element> json toJson(const std::vector<Element> &elements);
json toJson(const StepTask &task);

template <typename Value> json toJson(const Value &value) {
  if constexpr (std::is_enum_v<Value>) {
    return names<Value>[static_cast<size_t>(value)];
  } else if constexpr (std::is_arithmetic_v<Value> ||
                       std::is_same_v<Value, std::string>) {
    return value;
  } else {
    json object = json::object();
    visitFields(value,
                [&](const char *key, const auto &member, auto... initial) {
                  if (((member != initial) && ...))
                    object[key] = toJson(member);
                });
    return object;
  }
}

template <typename Element> json toJson(const std::vector<Element> &elements) {
  json array = json::array();
  for (const Element &each : elements)
    array.push_back(toJson(each));
  return array;
}

json toJson(const StepTask &task) {
  json object = std::visit([](const auto &each) { return toJson(each); }, task);
  object["do"] = taskNames[task.index()];
  return object;
}

} // namespace

void sluice::readStepPlan(const json &item, const std::string &place,
                          Status &status, StepPlan &plan) {
  Reader(place, status).read(item, plan);
}

json sluice::stepPlanToJson(const StepPlan &plan) { return toJson(plan); }
