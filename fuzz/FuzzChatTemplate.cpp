//===- FuzzChatTemplate.cpp - fuzzes chat templates ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/ChatTemplate.h"
#include "runtime/text/Utf8.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::text;
using nlohmann::ordered_json;

static void check(const Status &status) {
  if (status.message().find('\n') != std::string::npos ||
      !isValidUtf8(status.message()))
    std::abort();
}

/// A conversation with all that templates ask about.
static ChatInput someInput() {
  ChatInput input;
  input.bosToken = "<s>";
  input.eosToken = "</s>";
  input.now = 0;
  input.messages = ordered_json::parse(R"([
    {"role": "system", "content": "Be terse."},
    {"role": "user", "content": " H\u00e9 <think>x</think> y\n"},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "abc123def",
     "type": "function",
     "function": {"name": "f", "arguments": {"a": [1, 2.5, true, {}]}}}]},
    {"role": "tool", "tool_call_id": "abc123def", "content": "7"},
    {"role": "user", "content": [{"type": "text", "text": "Go"}]}])");
  input.tools = ordered_json::parse(R"([{"type": "function", "function":
    {"name": "f", "description": "d", "parameters": {"type": "object",
     "properties": {"a": {"type": "array", "items": {"type": "string"}}},
     "required": ["a"]}}}])");
  return input;
}

/// The template, and behind a zero byte the messages if they are not to be
/// some. What compiles renders within its limits, twice the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  std::string_view source = bytes.substr(0, bytes.find('\0'));
  Expected<ChatTemplate> chat = ChatTemplate::compile(source);
  check(chat.status());
  if (!chat)
    return 0;
  ChatInput input = someInput();
  if (source.size() < bytes.size()) {
    ordered_json messages =
        ordered_json::parse(bytes.substr(source.size() + 1), nullptr, false);
    if (messages.is_array())
      input.messages = std::move(messages);
  }
  const RenderLimits limits{.outputBytes = size_t(1) << 20,
                            .steps = 100000,
                            .valueBytes = size_t(16) << 20};
  Expected<std::string> text = chat->render(input, limits);
  check(text.status());
  Expected<std::string> again = chat->render(input, limits);
  if (text.ok() != again.ok() ||
      text.status().message() != again.status().message())
    std::abort();
  if (text && (*text != *again || text->size() > limits.outputBytes ||
               !isValidUtf8(*text)))
    std::abort();
  return 0;
}
