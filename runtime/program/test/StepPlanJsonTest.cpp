//===- StepPlanJsonTest.cpp - tests of the JSON form of step plans --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/DescriptorJson.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::device;

namespace {

/// Returns a plan with each kind of task. No member has its default value, but
/// those that are for a GPU only have it in the tasks before the barrier.
StepPlan everyTask() {
  StepPlan plan;
  plan.kernelNames = {"rows_embed", "rows_add"};
  plan.buffers = {{RecordKind::Rows, 64, 16}, {RecordKind::Outputs, 100, 32}};
  plan.attentions = {{4, 40, 0.1f, 30.5f, {0.5f, 0.25f, 1.0f / 3, 0.0625f}},
                     {8, 1, -2.0f, 1.0f, {}}};
  plan.tasks = {
      RowLoopTask{RecordKind::Outputs,
                  1,
                  {{KernelArgument::Kind::Weight, 3},
                   {KernelArgument::Kind::RopeTable, 1},
                   {KernelArgument::Kind::Buffer, 2}}},
      ProductTask{RecordKind::Outputs, 1, 2, 3, 4, 16, 48},
      AppendTask{1, 2, 3},
      AttendTask{1, 2, 3, 4},
      ExchangeTask{ExchangeTask::Operation::Gather, RecordKind::Outputs, 1, 2,
                   3},
      CheckpointTask{{1, 2}},
      BarrierTask(),
      RowLoopTask{
          RecordKind::Rows,
          1,
          {{KernelArgument::Kind::Buffer, 1, 64},
           {KernelArgument::Kind::Positions},
           {KernelArgument::Kind::OutputRows},
           {KernelArgument::Kind::GreedyTokens}},
          128,
          4,
          {{RowNormKind::Layer, 0.25f, 1, 2, 3, 4, 5, OperandRows::Bf16}, {}},
          {{1, 2, 3, 4, 8, 6, true}}},
      ProductTask{RecordKind::Rows, 1, 2, 3, 4, 0, 48, ProductGate::GeluTanh, 5,
                  6},
      EmbedTask{1, true, 2},
      OperandTask{RecordKind::Outputs, OperandRows::F16, 1, 2},
      ReceiveTask{1},
      SendTask{2}};
  return plan;
}

/// Returns the plan in a JSON value, or the error of reading it.
Expected<StepPlan> read(const json &value) {
  StepPlan plan;
  Status status;
  readStepPlan(value, "step", status, plan);
  return status.ok() ? Expected<StepPlan>(std::move(plan)) : status;
}

TEST(StepPlanJson, KeepsEveryMember) {
  json written = stepPlanToJson(everyTask());
  Expected<StepPlan> plan = read(json::parse(written.dump()));
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(stepPlanToJson(*plan), written);
  EXPECT_EQ(plan->attentions, everyTask().attentions);
  const auto &loop = std::get<RowLoopTask>(plan->tasks[0]);
  EXPECT_EQ(loop.kind, RecordKind::Outputs);
  EXPECT_EQ(loop.arguments[1].kind, KernelArgument::Kind::RopeTable);
  const auto &known = std::get<RowLoopTask>(plan->tasks[7]);
  const StepPlan every = everyTask();
  EXPECT_EQ(known.norms, std::get<RowLoopTask>(every.tasks[7]).norms);
  EXPECT_EQ(known.rotations, std::get<RowLoopTask>(every.tasks[7]).rotations);
  const auto &product = std::get<ProductTask>(plan->tasks[1]);
  EXPECT_EQ(product.bias, 3);
  EXPECT_EQ(product.firstColumn, 16);
  EXPECT_EQ(product.endColumn, 48);
  EXPECT_EQ(std::get<ExchangeTask>(plan->tasks[4]).operation,
            ExchangeTask::Operation::Gather);
  EXPECT_TRUE(std::holds_alternative<BarrierTask>(plan->tasks[6]));
  const auto &gated = std::get<ProductTask>(plan->tasks[8]);
  EXPECT_EQ(gated.gate, ProductGate::GeluTanh);
  EXPECT_EQ(gated.residual, 6);
  EXPECT_TRUE(std::get<EmbedTask>(plan->tasks[9]).byPosition);
  EXPECT_TRUE(plan->findsTokens());
}

/// Executables of before are read by what is written here: another form is
/// another ExecutableDescriptor::formatVersion.
TEST(StepPlanJson, HasThisForm) {
  json written = stepPlanToJson(everyTask());
  EXPECT_EQ(written["kernels"].dump(), R"(["rows_embed","rows_add"])");
  EXPECT_EQ(written["buffers"][1].dump(),
            R"({"floats":100,"kind":"outputs","place":32})");
  EXPECT_EQ(written["attentions"][1].dump(),
            R"({"heads":8,"scale":-2.0,"slopes":[],"softcap":1.0,"window":1})");
  const char *tasks[] = {
      R"({"arguments":[{"index":3,"kind":"weight"},{"index":1,"kind":"rope_table"},{"index":2,"kind":"buffer"}],"do":"row_loop","kernel":1,"kind":"outputs"})",
      R"({"bias":3,"do":"product","end_column":48,"first_column":16,"input":1,"kind":"outputs","output":4,"weight":2})",
      R"({"cache":3,"do":"append","key":1,"value":2})",
      R"({"attention":4,"cache":3,"do":"attend","output":2,"query":1})",
      R"({"do":"exchange","input":1,"kind":"outputs","operation":"gather","output":2,"scratch":3})",
      R"({"buffers":[1,2],"do":"checkpoint"})",
      R"({"do":"barrier"})",
      R"({"arguments":[{"index":1,"kind":"buffer","part":64},{"index":0,"kind":"positions"},{"index":0,"kind":"output_rows"},{"index":0,"kind":"greedy_tokens"}],"blocks":4,"do":"row_loop","kernel":1,"kind":"rows","norms":[{"bias":3,"epsilon":0.25,"format":"bf16","input":1,"norm":"layer","operand":5,"output":4,"weight":2},{"input":0}],"rotations":[{"half":true,"head_dim":8,"heads":4,"input":1,"output":2,"rope_table":3,"rotary_dim":6}],"threads":128})",
      R"({"bias":3,"do":"product","end_column":48,"first_column":0,"gate":"gelu_tanh","input":1,"kind":"rows","output":4,"partner_bias":5,"residual":6,"weight":2})",
      R"({"by_position":true,"do":"embed","output":2,"table":1})",
      R"({"do":"operand","format":"f16","input":1,"kind":"outputs","output":2})",
      R"({"do":"receive","output":1})",
      R"({"do":"send","input":2})"};
  ASSERT_EQ(written["tasks"].size(), std::size(tasks));
  for (size_t i = 0; i < std::size(tasks); ++i)
    EXPECT_EQ(written["tasks"][i].dump(), tasks[i]);
}

TEST(StepPlanJson, SaysWhatIsWrongAndWhere) {
  auto message = [](auto change) {
    json plan = stepPlanToJson(everyTask());
    change(plan);
    return read(plan).status().message();
  };
  EXPECT_EQ(message([](json &) {}), "");
  EXPECT_EQ(message([](json &plan) { plan = 3; }), "step: is not an object");
  EXPECT_EQ(message([](json &plan) { plan.erase("tasks"); }),
            "step: 'tasks' is missing");
  EXPECT_EQ(message([](json &plan) { plan["buffers"] = 3; }),
            "step: buffers: is not an array");
  EXPECT_EQ(message([](json &plan) { plan["kernels"][1] = 3; }),
            "step: kernels[1]: is not a string");
  EXPECT_EQ(message([](json &plan) { plan["buffers"][1]["floats"] = 1.5; }),
            "step: buffers[1]: floats: is not a whole number");
  EXPECT_EQ(message([](json &plan) { plan["buffers"][0]["kind"] = "row"; }),
            "step: buffers[0]: kind: 'row' is not known");
  EXPECT_EQ(message([](json &plan) { plan["tasks"][9]["by_position"] = 1; }),
            "step: tasks[9]: by_position: is neither true nor false");
  EXPECT_EQ(message([](json &plan) { plan["tasks"][8]["residual"] = "x"; }),
            "step: tasks[8]: residual: is not a whole number");
  EXPECT_EQ(message([](json &plan) { plan["tasks"][2]["do"] = "dance"; }),
            "step: tasks[2]: 'dance' is not known");
  EXPECT_EQ(message([](json &plan) { plan["tasks"][6].erase("do"); }),
            "step: tasks[6]: 'do' is missing");
  EXPECT_EQ(message([](json &plan) { plan["tasks"][3].erase("cache"); }),
            "step: tasks[3]: 'cache' is missing");
  EXPECT_EQ(
      message([](json &plan) { plan["attentions"][0]["slopes"][2] = "x"; }),
      "step: attentions[0]: slopes[2]: is not a number");
}

} // namespace
