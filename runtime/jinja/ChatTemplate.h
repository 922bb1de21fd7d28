//===- ChatTemplate.h - renders a conversation as a prompt ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Renders chat templates as found in tokenizer_config.json and in GGUF's
// tokenizer.chat_template. It implements the subset of Jinja2 that published
// templates use, with the settings and globals of transformers
// (utils/chat_template_utils.py there).
//
//   Expected<ChatTemplate> chat = ChatTemplate::compile(text);
//   ChatInput input;
//   input.messages.push_back({{"role", "user"}, {"content", "Hello"}});
//   Expected<std::string> prompt = chat->render(input);
//
// trim_blocks and lstrip_blocks are on, nothing is escaped, and `tojson` is
// Python's json.dumps without ASCII escapes. Statements: if, for (with else and
// a filter; break, continue), set (blocks too), macro, call, filter,
// generation. Globals: namespace, dict, range, raise_exception, strftime_now.
// Filters, tests and methods are listed in Filters.cpp, Tests.cpp and
// Methods.cpp.
//
// As in Jinja2, an unsupported expression is an error only where it is reached:
// templates have branches for conversations that never come. unsupported()
// lists them. Unknown statements are refused when the template is compiled.
//
// Values behave as in Python, except that integers are limited to 64 bits and a
// sign. (The JSON reader makes floats of larger integers.)
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_CHATTEMPLATE_H
#define SLUICE_RUNTIME_JINJA_CHATTEMPLATE_H

#include "runtime/base/Status.h"
#include "runtime/jinja/RenderLimits.h"

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// The input of a rendering. Objects keep the order of their keys, since
/// `tojson` writes tools in that order.
struct ChatInput {
  /// A list of objects with `role` and `content`, which the template gets
  /// unchanged. `content` can be a string, null (an assistant's message that
  /// calls tools) or a list of parts ({"type": "text", "text": ...}). The
  /// template decides what it does with each form: many add strings to
  /// `content` and fail for other values, or print a list as Python would. See
  /// ChatTemplate::contentForms(). In requests, the `arguments` of a tool call
  /// are JSON in a string; templates expect the parsed object.
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  /// A list of tools; if null, the template's variable is none.
  nlohmann::ordered_json tools;
  /// Whether the prompt ends with the start of the assistant's answer.
  bool addGenerationPrompt = true;
  /// The texts of the model's tokens. If one is not set, its variable is
  /// undefined.
  std::optional<std::string> bosToken;
  std::optional<std::string> eosToken;
  /// An object of further variables (enable_thinking, documents), or null. It
  /// can replace the tokens, but no variable that another field sets.
  nlohmann::ordered_json variables;
  /// The time for strftime_now, which uses the local time zone; the current
  /// time if not set.
  std::optional<std::time_t> now;
};

/// The longest template, in bytes.
inline constexpr size_t maxTemplateBytes = size_t(1) << 20;

/// The forms of a message's `content` that appear as text in a prompt.
struct ContentForms {
  bool text = true;   ///< a string
  bool parts = false; ///< a list of parts of the type `text`
  /// Null, in an assistant's message that calls tools: the template tests for
  /// it, and writes something else than for an empty string. Other templates
  /// fail, or print Python's None.
  bool null = false;
};

/// A compiled template. Immutable, cheap to copy (copies share it), and safe to
/// use from several threads.
class ChatTemplate {
public:
  /// Compiles `text`, which is not kept. Errors with line and column (in
  /// characters, from 1): the text is not Jinja2, has a statement that is not
  /// supported (which is named), nests too deep, or has more than 500
  /// variables. Errors without them: the text is too long or not UTF-8.
  static Expected<ChatTemplate> compile(std::string_view text);

  /// Returns the prompt, which is valid UTF-8; invalid bytes of the input
  /// become U+FFFD. Time and memory are bounded by `limits`. Errors:
  ///   chat template: line 3, column 5: the template raised: TEXT
  ///     The template called raise_exception(TEXT), mostly because it does not
  ///     accept such a conversation. Only this error sets `*raised`, to TEXT,
  ///     which is meant for the sender of the conversation; the line is not.
  ///   chat template: line 3, column 5: ...
  ///     Python would raise an error there, the expression is one of
  ///     unsupported(), or a limit was reached.
  ///   chat template: ...
  ///     The input is not as ChatInput describes it, or nests too deep.
  Expected<std::string>
  render(const ChatInput &input, const RenderLimits &limits = {},
         std::optional<std::string> *raised = nullptr) const;

  /// Returns what the template uses that rendering does not support, each as
  /// "line 3, column 5: filter 'x' is not supported", in the order of the text.
  /// Conversations that reach none of it are rendered.
  std::vector<std::string> unsupported() const;

  /// Renders a message in each form to see which forms appear as text. For a
  /// template that takes only one form, the caller puts a text into one part,
  /// or joins the texts of the parts. Returns {text} for a template that
  /// refuses a single message of a user.
  ContentForms contentForms() const;

private:
  struct Compiled;
  explicit ChatTemplate(std::shared_ptr<const Compiled> compiled);

  std::shared_ptr<const Compiled> compiled;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_JINJA_CHATTEMPLATE_H
