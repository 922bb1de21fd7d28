//===- JsonBody.cpp - JSON from outside -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/JsonBody.h"

#include "runtime/text/Utf8.h"

#include <unordered_map>

using namespace sluice;
using namespace sluice::openai;

namespace {

/// Of one object. Whoever reads it looks its members up one by one.
constexpr size_t maxMembers = 1 << 16;
/// With fewer, members of a key are looked for one by one.
constexpr size_t fewMembers = 16;

/// Builds a value of the events of nlohmann's parser. Its own builder looks
/// for each key among all before it, which takes long in large objects, and
/// knows no limits.
class Builder {
public:
  Builder(const RequestLimits &limits, std::string_view path)
      : limits(limits), root(path) {}

  ordered_json value;
  ApiStatus error;

  bool null() { return add(nullptr); }
  bool boolean(bool item) { return add(item); }
  bool number_integer(int64_t item) { return add(item); }
  bool number_unsigned(uint64_t item) { return add(item); }
  bool number_float(double item, const std::string &) { return add(item); }
  bool string(std::string &item) { return add(std::move(item)); }
  bool binary(ordered_json::binary_t &) { return false; }
  bool start_object(size_t) { return open(ordered_json::object()); }
  bool start_array(size_t) { return open(ordered_json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string &name) {
    frames.back().key = std::move(name);
    return true;
  }

  template <typename Exception>
  bool parse_error(size_t position, const std::string &token,
                   const Exception &exception) {
    // 406: a number that is too large for a double. Anything else is no JSON.
    if (exception.id == 406)
      return fail("'" + place() +
                      "' is a number that is too large: " + token.substr(0, 40),
                  place());
    return fail(subject() + " is not JSON: byte " + std::to_string(position) +
                    " is wrong",
                std::string(root));
  }

private:
  struct Frame {
    ordered_json value;
    std::string key; ///< of the member that comes, in an object
    std::unordered_map<std::string, size_t> index; ///< of many members
  };

  std::string subject() const {
    return root.empty() ? "the body" : "'" + std::string(root) + "'";
  }

  /// Where the value is that comes.
  std::string place() const {
    std::string path(root);
    for (const Frame &frame : frames) {
      if (frame.value.is_array())
        path += '[' + std::to_string(frame.value.size()) + ']';
      else
        (path += path.empty() ? "" : ".") += frame.key;
    }
    return path;
  }

  bool fail(std::string message, std::string param = {}) {
    error = invalidField(std::move(param), std::move(message));
    return false;
  }

  bool count() {
    if (++values > limits.values)
      return fail(subject() + " has more than " +
                      std::to_string(limits.values) + " values",
                  std::string(root));
    return true;
  }

  bool open(ordered_json empty) {
    if (frames.size() >= limits.depth)
      return fail(subject() + " has more than " + std::to_string(limits.depth) +
                      " objects and arrays in each other",
                  std::string(root));
    if (!count())
      return false;
    frames.push_back({std::move(empty), {}, {}});
    return true;
  }

  bool close() {
    ordered_json done = std::move(frames.back().value);
    frames.pop_back();
    return put(std::move(done));
  }

  bool add(ordered_json item) { return count() && put(std::move(item)); }

  bool put(ordered_json item) {
    if (frames.empty()) {
      value = std::move(item);
      return true;
    }
    Frame &frame = frames.back();
    if (frame.value.is_array()) {
      frame.value.push_back(std::move(item));
      return true;
    }
    return putMember(frame, std::move(item));
  }

  bool putMember(Frame &frame, ordered_json item) {
    auto &members = frame.value.get_ref<ordered_json::object_t &>();
    auto at = [&](size_t i) {
      return members.begin() + static_cast<ptrdiff_t>(i);
    };
    std::optional<size_t> known;
    if (members.size() < fewMembers) {
      for (size_t i = 0; i < members.size(); ++i)
        if (at(i)->first == frame.key)
          known = i;
    } else {
      for (size_t i = frame.index.size(); i < members.size(); ++i)
        frame.index.emplace(at(i)->first, i);
      if (auto found = frame.index.find(frame.key); found != frame.index.end())
        known = found->second;
    }
    if (known) {
      at(*known)->second = std::move(item);
      return true;
    }
    if (members.size() >= maxMembers)
      return fail("an object has more than " + std::to_string(maxMembers) +
                  " members");
    members.push_back({std::move(frame.key), std::move(item)});
    return true;
  }

  const RequestLimits &limits;
  std::string_view root;
  std::vector<Frame> frames;
  size_t values = 0;
};

} // namespace

ApiExpected<ordered_json> openai::parseJson(std::string_view text,
                                            const RequestLimits &limits,
                                            std::string_view path) {
  std::string subject =
      path.empty() ? "the body" : "'" + std::string(path) + "'";
  if (text.size() > limits.bodyBytes)
    return ApiError{413,
                    subject + " has " + std::to_string(text.size()) +
                        " bytes, more than " + std::to_string(limits.bodyBytes),
                    std::string(path)};
  if (!text::isValidUtf8(text))
    return invalidField(std::string(path), subject + " is not UTF-8");
  // The parser takes one for the text's end, whatever is behind it.
  if (size_t nul = text.find('\0'); nul != std::string_view::npos)
    return invalidField(std::string(path), subject + " is not JSON: byte " +
                                               std::to_string(nul + 1) +
                                               " is wrong");
  Builder builder(limits, path);
  if (!ordered_json::sax_parse(text, &builder))
    return *builder.error;
  return std::move(builder.value);
}

ApiExpected<ordered_json> openai::parseBody(std::string_view body,
                                            const RequestLimits &limits) {
  if (body.empty())
    return invalidField("", "the body is empty; it must be a JSON object");
  ApiExpected<ordered_json> value = parseJson(body, limits);
  if (value && !value->is_object())
    return invalidField("", "the body is " + std::string(typeName(*value)) +
                                ", not an object");
  return value;
}

std::string openai::dumpJson(const ordered_json &value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}
