//===- TestApiModel.h - models to check requests against ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_TEST_TESTAPIMODEL_H
#define SLUICE_RUNTIME_OPENAI_TEST_TESTAPIMODEL_H

#include "runtime/openai/ApiRequest.h"
#include "runtime/text/test/TestSpecs.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::openai::test {

using nlohmann::ordered_json;

/// The template of ChatML, in its simplest form.
inline constexpr const char *chatml =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// Shows tools and tool calls like Qwen 2.5's template.
inline constexpr const char *hermesTemplate =
    "{% if tools %}{% for t in tools %}{{ t | tojson }}\n{% endfor %}"
    "{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.content %}{{ m.content }}{% endif %}"
    "{% for c in m.tool_calls or [] %}<tool_call>\n"
    "{\"name\": \"{{ c.function.name }}\", \"arguments\": "
    "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}"
    "{% if m.tool_call_id %}[{{ m.tool_call_id }}]{% endif %}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// Returns a template that teaches another syntax of tool calls, in a comment.
inline std::string templateWith(const std::string &marks) {
  return std::string(chatml) + "{# tools: " + marks + " #}";
}

/// Returns a tokenizer with byte tokens (token b is the byte b), "hello" and "
/// hello" among others, and the special tokens <end>, which ends a text,
/// <|im_start|>, <|im_end|> and [TOOL_CALLS]. <tool_call> and </tool_call> are
/// tokens, but not special.
inline text::test::SpecBuilder testSpec() {
  text::test::SpecBuilder builder = text::test::byteLevel();
  for (const char *special : {"<|im_start|>", "<|im_end|>", "[TOOL_CALLS]"})
    builder.added(special).special = true;
  builder.added("<tool_call>");
  builder.added("</tool_call>");
  builder.spec.endOfText.push_back(builder.find("<|im_end|>"));
  return builder;
}

inline Model makeModel(const std::string &chatTemplate = chatml,
                       int64_t contextLength = 1000,
                       bool parsesSpecial = false) {
  text::Tokenizer tokenizer = text::test::make(testSpec().spec);
  int64_t vocabulary = tokenizer.vocabularySize();
  Expected<Model> model =
      Model::create({.names = {"tiny", "alias"},
                     .tokenizer = std::move(tokenizer),
                     .vocabularySize = vocabulary,
                     .contextLength = contextLength,
                     .chatTemplate = chatTemplate,
                     .parsesSpecialInContent = parsesSpecial,
                     .fingerprint = "fp_test",
                     .created = 1700000000});
  if (!model) {
    ADD_FAILURE() << model.status().message();
    return makeModel();
  }
  return model.take();
}

/// Returns the text of a prompt's tokens, including special tokens.
inline std::string textOf(const Model &model, const std::vector<int32_t> &ids) {
  return model.tokenizer().decode(ids);
}

inline std::vector<int32_t> idsOf(const Model &model, std::string_view text) {
  return *model.tokenizer().encode(text);
}

/// Returns `base` with the members of `extra`, which replace its own.
inline std::string with(const char *base, const std::string &extra) {
  ordered_json body = ordered_json::parse(base);
  body.update(ordered_json::parse(extra, nullptr, false));
  return body.dump();
}

inline constexpr const char *plainCompletion = R"({"prompt": "hello"})";
inline constexpr const char *plainChat =
    R"({"messages": [{"role": "user", "content": "Hi"}]})";

/// Returns a parsed request; fails the test if there is an error.
inline GenerationRequest parsed(ApiExpected<GenerationRequest> request) {
  if (request)
    return request.take();
  ADD_FAILURE() << request.error().json();
  return {};
}

/// Returns "PARAM: MESSAGE" of an error with status 400, or what came instead.
template <typename T> std::string refusal(const ApiExpected<T> &result) {
  if (result)
    return "accepted";
  const ApiError &error = result.error();
  std::string text = error.param + ": " + error.message;
  return error.status == 400 ? text : std::to_string(error.status) + " " + text;
}

} // namespace sluice::openai::test

#endif // SLUICE_RUNTIME_OPENAI_TEST_TESTAPIMODEL_H
