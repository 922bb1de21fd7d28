//===- Messages.cpp - the messages of a conversation, checked -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Messages.h"

#include "runtime/openai/JsonBody.h"

using namespace sluice;
using namespace sluice::openai;

using text::JsonTree;

namespace {

/// Returns an object with room for the members of a message, because nlohmann's
/// list of members copies all of them when it grows.
JsonTree newObject() {
  constexpr size_t members = 8;
  JsonTree object(ordered_json::object());
  object.root().get_ref<ordered_json::object_t &>().reserve(members);
  return object;
}

std::string itemPath(const std::string &path, size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

/// Reads the messages in order; `error` is the first error.
class MessageReader {
public:
  MessageReader(const PromptTemplate &chat, const RequestLimits &limits)
      : chat(chat), limits(limits) {}

  ApiExpected<JsonTree> read(const ordered_json &message,
                             const std::string &path);

private:
  bool readContent(FieldReader &fields, bool needed, ordered_json &out);
  bool readParts(FieldReader &fields, const ordered_json &parts,
                 std::string &text);
  bool readToolCalls(FieldReader &fields, ordered_json &out);
  void readTexts(FieldReader &fields, ordered_json &out);
  ApiExpected<JsonTree> readToolCall(const ordered_json &call,
                                     const std::string &path);
  ApiExpected<JsonTree> readArguments(FieldReader &function);
  ordered_json contentOf(std::string text) const;

  const PromptTemplate &chat;
  const RequestLimits &limits;
};

ordered_json MessageReader::contentOf(std::string text) const {
  if (chat.contentForms().text)
    return text;
  JsonTree part = newObject(), parts(ordered_json::array());
  part.root()["type"] = "text";
  part.root()["text"] = std::move(text);
  parts.root().push_back(std::move(part.root()));
  return std::move(parts.root());
}

/// Joins the texts of parts.
bool MessageReader::readParts(FieldReader &fields, const ordered_json &parts,
                              std::string &text) {
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string path = itemPath(fields.pathOf("content"), i);
    fields.keep(checkObject(parts[i], path));
    if (!fields.ok())
      return false;
    FieldReader part(parts[i], path);
    std::string type, piece;
    part.text("type", type);
    if (part.ok() && type.empty())
      part.fail("type", "is missing");
    else if (type != "text")
      part.fail("type", "is '", type.substr(0, 40),
                "', which this model cannot read; only text is supported");
    if (part.ok() && !part.find("text"))
      part.fail("text", "is missing");
    part.text("text", piece);
    fields.keep(part.status());
    if (!fields.ok())
      return false;
    if (i > 0)
      text += '\n';
    text += piece;
  }
  return true;
}

bool MessageReader::readContent(FieldReader &fields, bool needed,
                                ordered_json &out) {
  const ordered_json *content = fields.find("content");
  if (!content) {
    if (needed)
      fields.fail("content", "is missing");
    if (chat.contentForms().null)
      out["content"] = nullptr;
    else
      out["content"] = contentOf("");
    return fields.ok();
  }
  std::string text;
  if (content->is_string())
    text = content->get<std::string>();
  else if (!content->is_array())
    fields.fail("content", "is ", typeName(*content),
                ", not a string or an array of parts");
  else if (content->empty())
    fields.fail("content", "is empty");
  else
    readParts(fields, *content, text);
  out["content"] = contentOf(std::move(text));
  return fields.ok();
}

ApiExpected<JsonTree> MessageReader::readArguments(FieldReader &function) {
  const ordered_json *arguments = function.find("arguments");
  if (!arguments)
    return JsonTree(ordered_json::object());
  std::string path = function.pathOf("arguments");
  if (arguments->is_object())
    return JsonTree::copyOf(*arguments);
  if (!arguments->is_string())
    return invalidField(path, "'" + path + "' is " +
                                  std::string(typeName(*arguments)) +
                                  ", not JSON in a string");
  const auto &written = arguments->get_ref<const std::string &>();
  if (written.empty())
    return JsonTree(ordered_json::object());
  // A model's arguments may be cut off or not be an object. They then stay as
  // they are, so that the conversation can go on.
  ApiExpected<JsonTree> value = parseJson(written, limits, path);
  if (value && value->root().is_object())
    return value;
  return JsonTree(written);
}

ApiExpected<JsonTree> MessageReader::readToolCall(const ordered_json &call,
                                                  const std::string &path) {
  if (ApiStatus wrong = checkObject(call, path))
    return *wrong;
  FieldReader fields(call, path);
  std::string id, type = "function", name;
  fields.text("id", id);
  fields.text("type", type);
  if (fields.ok() && type != "function")
    fields.fail("type", "is '", type.substr(0, 40), "', not function");
  const ordered_json *function = fields.members("function");
  if (!function && fields.ok())
    fields.fail("function", "is missing");
  if (!fields.ok())
    return fields.error();
  FieldReader inner(*function, fields.pathOf("function"));
  inner.text("name", name);
  if (inner.ok() && name.empty())
    inner.fail("name", "is missing");
  if (!inner.ok())
    return inner.error();
  ApiExpected<JsonTree> arguments = readArguments(inner);
  if (!arguments)
    return arguments;
  JsonTree called = newObject(), out = newObject();
  called.root()["name"] = std::move(name);
  called.root()["arguments"] = std::move(arguments->root());
  out.root()["type"] = "function";
  out.root()["function"] = std::move(called.root());
  if (!id.empty())
    out.root()["id"] = std::move(id);
  return out;
}

bool MessageReader::readToolCalls(FieldReader &fields, ordered_json &out) {
  const ordered_json *calls = fields.array("tool_calls");
  if (!calls || calls->empty())
    return false;
  JsonTree read(ordered_json::array());
  for (size_t i = 0; i < calls->size() && fields.ok(); ++i) {
    ApiExpected<JsonTree> call =
        readToolCall((*calls)[i], itemPath(fields.pathOf("tool_calls"), i));
    if (call)
      read.root().push_back(std::move(call->root()));
    else
      fields.keep(call.error());
  }
  out["tool_calls"] = std::move(read.root());
  return true;
}

/// Reads texts other than the content. Templates may ignore a name, because
/// clients send it to all models, and it only says who speaks.
void MessageReader::readTexts(FieldReader &fields, ordered_json &out) {
  for (const char *name : {"name", "reasoning_content", "reasoning"}) {
    std::string text;
    fields.text(name, text);
    if (text.empty())
      continue;
    if (std::string_view(name) != "name" && !chat.mentions(name))
      fields.fail(name, "is not supported: this model's chat template does not "
                        "use it");
    out[name] = std::move(text);
  }
}

ApiExpected<JsonTree> MessageReader::read(const ordered_json &message,
                                          const std::string &path) {
  if (ApiStatus wrong = checkObject(message, path))
    return *wrong;
  FieldReader fields(message, path);
  std::string role;
  fields.text("role", role);
  bool isAssistant = role == "assistant", isTool = role == "tool";
  if (fields.ok() && role.empty())
    fields.fail("role", "is missing");
  else if (role == "function")
    fields.fail("role", "is 'function', which is not supported; use 'tool'");
  else if (!isAssistant && !isTool && role != "system" && role != "user" &&
           role != "developer")
    fields.fail("role", "is '", role.substr(0, 40),
                "', not system, developer, user, assistant or tool");
  if (role == "developer" && !chat.mentions("developer"))
    role = "system";
  JsonTree tree = newObject();
  ordered_json &out = tree.root();
  out["role"] = role;
  out["content"] = nullptr;
  // Programs send these members back as they got them; their contents would be
  // lost.
  for (std::string_view name : {"audio", "function_call", "refusal"})
    if (const ordered_json *value = fields.find(name);
        value && !value->empty() && *value != "")
      fields.fail(name, "is not supported");
  bool calls = isAssistant && fields.ok() && readToolCalls(fields, out);
  if (fields.ok())
    readContent(fields, /*needed=*/!calls, out);
  bool isPrefix = false;
  fields.flag("prefix", isPrefix);
  if (isPrefix)
    fields.fail("prefix",
                "is not supported; use the request's 'continue_final_message'");
  readTexts(fields, out);
  if (isTool) {
    std::string id;
    fields.text("tool_call_id", id);
    if (fields.ok() && id.empty())
      fields.fail("tool_call_id", "is missing");
    out["tool_call_id"] = std::move(id);
  }
  if (!fields.ok())
    return fields.error();
  return tree;
}

} // namespace

ApiExpected<text::JsonTree> openai::readMessages(const ordered_json &body,
                                                 const PromptTemplate &chat,
                                                 const RequestLimits &limits) {
  FieldReader fields(body);
  const ordered_json *messages = fields.array("messages");
  if (!messages && fields.ok())
    fields.fail("messages", "is missing");
  else if (messages && messages->empty())
    fields.fail("messages", "is empty");
  else if (messages && std::ssize(*messages) > limits.messages)
    fields.fail("messages", "has ", messages->size(), " messages, more than ",
                limits.messages);
  if (!fields.ok())
    return fields.error();
  MessageReader reader(chat, limits);
  JsonTree out(ordered_json::array());
  for (size_t i = 0; i < messages->size(); ++i) {
    ApiExpected<JsonTree> message =
        reader.read((*messages)[i], itemPath("messages", i));
    if (!message)
      return message;
    out.root().push_back(std::move(message->root()));
  }
  return out;
}
