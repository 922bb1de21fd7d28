//===- JsonReader.cpp - JSON from outside ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/JsonReader.h"

#include "runtime/text/Utf8.h"

#include <optional>
#include <unordered_map>

using namespace sluice;
using namespace sluice::text;
using nlohmann::ordered_json;

namespace {

using Kind = JsonError::Kind;

/// With fewer, members of a key are looked for one by one.
constexpr size_t fewMembers = 16;

/// Builds a value of the events of nlohmann's parser.
class Builder {
public:
  explicit Builder(const JsonLimits &limits) : limits(limits) {}

  ordered_json value;
  JsonError error{Kind::Syntax};

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
      error = {Kind::Number, 0, place(), token};
    else
      error = {Kind::Syntax, position};
    return false;
  }

private:
  struct Frame {
    ordered_json value;
    std::string key; ///< of the member that comes, in an object
    std::unordered_map<std::string, size_t> index; ///< of many members
  };

  /// Where the value is that comes.
  std::string place() const {
    std::string path;
    for (const Frame &frame : frames) {
      if (frame.value.is_array())
        path += '[' + std::to_string(frame.value.size()) + ']';
      else
        (path += path.empty() ? "" : ".") += frame.key;
    }
    return path;
  }

  bool fail(Kind kind) {
    error = {kind};
    return false;
  }

  bool count() { return ++values <= limits.values || fail(Kind::Values); }

  bool open(ordered_json empty) {
    if (frames.size() >= limits.depth)
      return fail(Kind::Depth);
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
    if (members.size() >= limits.objectMembers)
      return fail(Kind::ObjectMembers);
    members.push_back({std::move(frame.key), std::move(item)});
    return true;
  }

  const JsonLimits &limits;
  std::vector<Frame> frames;
  size_t values = 0;
};

} // namespace

std::variant<ordered_json, JsonError> text::readJson(std::string_view text,
                                                     const JsonLimits &limits) {
  if (!isValidUtf8(text))
    return JsonError{Kind::Encoding};
  // The parser takes one for the text's end, whatever is behind it.
  if (size_t nul = text.find('\0'); nul != std::string_view::npos)
    return JsonError{Kind::Syntax, nul + 1};
  Builder builder(limits);
  if (!ordered_json::sax_parse(text, &builder))
    return std::move(builder.error);
  return std::move(builder.value);
}
