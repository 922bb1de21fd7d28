//===- ChatTemplate.h - makes a prompt of a conversation ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Chat templates as tokenizer_config.json and GGUF's tokenizer.chat_template
// carry them: the subset of Jinja2 that published templates use, with the
// settings and globals that transformers renders them with (its
// utils/chat_template_utils.py).
//
//   Expected<ChatTemplate> chat = ChatTemplate::compile(text);
//   ChatInput input;
//   input.messages.push_back({{"role", "user"}, {"content", "Hello"}});
//   Expected<std::string> prompt = chat->render(input);
//
// trim_blocks and lstrip_blocks are on, nothing is escaped, and `tojson` is
// Python's json.dumps without ASCII escapes. Statements: if, for (with else
// and a filter; break, continue), set (blocks too), macro, call, filter,
// generation. Globals: namespace, dict, range, raise_exception, strftime_now.
// For filters, tests and methods see Filters.cpp, Tests.cpp and Methods.cpp.
// What is used beyond that is an error where it is reached, as in Jinja2:
// templates have branches for conversations that never come. unsupported() has
// it by name. Statements of other names are refused when the template is
// compiled.
//
// Values behave as in Python, but for integers, which end at 64 bits and a
// sign. (JSON's reader makes floats of longer ones.)
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_CHATTEMPLATE_H
#define SLUICE_RUNTIME_TEXT_JINJA_CHATTEMPLATE_H

#include "runtime/base/Status.h"
#include "runtime/text/jinja/RenderLimits.h"

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// What a template is rendered with. Objects keep the order of their keys: it
/// shows in what `tojson` writes of tools.
struct ChatInput {
  /// A list of objects with `role` and `content`, which the template gets as
  /// they are. `content` can be a string, null (an assistant's message that
  /// calls tools) or a list of parts ({"type": "text", "text": ...}). What a
  /// template does of these is its own affair: many add strings to `content`
  /// and fail for the others, or print a list as Python would. See
  /// ChatTemplate::contentForms. The `arguments` of tool calls are JSON in a
  /// string in requests; templates expect the object that it is.
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  /// A list of tools; null: the variable is there and none.
  nlohmann::ordered_json tools;
  /// Whether the prompt ends with what starts the assistant's answer.
  bool addGenerationPrompt = true;
  /// The texts of the model's tokens; without one its variable is undefined.
  std::optional<std::string> bosToken;
  std::optional<std::string> eosToken;
  /// An object of further variables (enable_thinking, documents), or null. It
  /// can replace the tokens, but not what the other fields set.
  nlohmann::ordered_json variables;
  /// For strftime_now, in the local time zone; without it the clock's.
  std::optional<std::time_t> now;
};

/// The longest template.
inline constexpr size_t maxTemplateBytes = size_t(1) << 20;

/// The forms of a message's `content` that come out as text in a prompt.
struct ContentForms {
  bool text = true;   ///< a string
  bool parts = false; ///< a list of parts of the type `text`
  /// Null, of an assistant's message that calls tools: the template asks for it
  /// and writes something else then than for an empty string. Others fail, or
  /// print Python's None.
  bool null = false;
};

/// A compiled template. Immutable, cheap to copy (copies share it), and safe to
/// use from several threads.
class ChatTemplate {
public:
  /// `text` is not kept. Errors, with line and column (in characters, from 1):
  /// the text is not Jinja2, has a statement that is not supported (its name is
  /// given), nests too deep, has more than 500 variables; without them: it is
  /// too long or not UTF-8.
  static Expected<ChatTemplate> compile(std::string_view text);

  /// The prompt, which is valid UTF-8; bytes of the input that are not become
  /// U+FFFD. Takes time and memory in proportion to `limits` at most. Errors:
  ///   chat template: line 3, column 5: the template raised: TEXT
  ///     the template called raise_exception(TEXT), mostly because it does not
  ///     take such a conversation. TEXT is in `*raised`, too, which nothing
  ///     else sets: it is for who sent the conversation, the line is not;
  ///   chat template: line 3, column 5: ...
  ///     Python would raise an error there, the place is one of unsupported(),
  ///     or a limit was reached;
  ///   chat template: ...
  ///     the input is not as ChatInput says, or nests too deep.
  Expected<std::string>
  render(const ChatInput &input, const RenderLimits &limits = {},
         std::optional<std::string> *raised = nullptr) const;

  /// What the template uses and rendering cannot do, each as "line 3, column 5:
  /// filter 'x' is not supported", in the order of the text. Conversations that
  /// reach none of it are rendered.
  std::vector<std::string> unsupported() const;

  /// Renders a message in each form to see what becomes of it. Whoever has the
  /// other form puts text into one part, or the texts of the parts together.
  /// {text} for a template that refuses a user's message alone.
  ContentForms contentForms() const;

private:
  struct Compiled;
  explicit ChatTemplate(std::shared_ptr<const Compiled> compiled);

  std::shared_ptr<const Compiled> compiled;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JINJA_CHATTEMPLATE_H
