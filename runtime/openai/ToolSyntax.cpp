//===- ToolSyntax.cpp - the syntaxes of tool calls ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/ToolSyntax.h"

using namespace sluice;
using namespace sluice::openai;

using Body = ToolSyntax::Body;

static constexpr ToolSyntax hermes = {.name = "hermes",
                                      .open = "<tool_call>",
                                      .close = "</tool_call>",
                                      .body = Body::Object,
                                      .forcedStart = "<tool_call>\n"};
static constexpr ToolSyntax llama = {.name = "llama",
                                     .open = "<|python_tag|>",
                                     .close = {},
                                     .body = Body::Object,
                                     .argumentsKey = "parameters",
                                     .bareAtStart = true};
static constexpr ToolSyntax mistral = {.name = "mistral",
                                       .open = "[TOOL_CALLS]",
                                       .close = {},
                                       .body = Body::Array,
                                       .forcedStart = "[TOOL_CALLS]",
                                       .shortIds = true};
static constexpr ToolSyntax mistralArguments = {.name = "mistral-args",
                                                .open = "[TOOL_CALLS]",
                                                .close = {},
                                                .body = Body::Arguments,
                                                .nameEnd = "[ARGS]",
                                                .forcedStart = "[TOOL_CALLS]",
                                                .shortIds = true};
static constexpr ToolSyntax granite = {.name = "granite",
                                       .open = "<|tool_call|>",
                                       .close = {},
                                       .body = Body::Array,
                                       .forcedStart = "<|tool_call|>"};

const ToolSyntax *openai::toolSyntaxOf(std::string_view templateText) {
  auto has = [&](std::string_view text) {
    return templateText.find(text) != std::string_view::npos;
  };
  if (!has("tools"))
    return nullptr;
  if (has("[TOOL_CALLS]"))
    return has("[ARGS]") ? &mistralArguments : &mistral;
  if (has("<|tool_call|>"))
    return &granite;
  // Qwen3-Coder has XML between these markers.
  if (has("<tool_call>"))
    return has("<function=") ? nullptr : &hermes;
  if (has("<|python_tag|>") ||
      (has("<|start_header_id|>") && has("parameters")))
    return &llama;
  return nullptr;
}
