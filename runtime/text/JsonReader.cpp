//===- JsonReader.cpp - reads untrusted JSON with limits ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/JsonReader.h"

#include "runtime/text/Utf8.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

using namespace sluice;
using namespace sluice::text;
using nlohmann::ordered_json;

namespace {

using Kind = JsonError::Kind;

/// For fewer members, keys are searched linearly.
constexpr size_t fewMembers = 16;

/// Returns how many bytes a string keeps outside of itself.
size_t heapBytes(const std::string &text) {
  static const size_t inside = std::string().capacity();
  return text.capacity() > inside ? text.capacity() + 1 : 0;
}

/// Builds a value from the events of nlohmann's parser. The parts always lie in
/// JsonTrees, so they are freed without allocating wherever the building ends.
/// An object is made only when it has all its members: nlohmann's list of
/// members copies all of them, with their content, when it grows.
class Builder {
public:
  explicit Builder(const JsonLimits &limits) : limits(limits) {}

  JsonTree value;
  JsonError error{Kind::Syntax};

  bool null() { return add(nullptr); }
  bool boolean(bool item) { return add(item); }
  bool number_integer(int64_t item) { return add(item); }
  bool number_unsigned(uint64_t item) { return add(item); }
  bool number_float(double item, const std::string &) { return add(item); }
  bool string(std::string &item) {
    item.shrink_to_fit(); // the parser's buffer may be much larger
    return take(sizeof item + heapBytes(item)) && add(std::move(item));
  }
  bool binary(ordered_json::binary_t &) { return false; }
  bool start_object(size_t) { return open(ordered_json::object()); }
  bool start_array(size_t) { return open(ordered_json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string &name) {
    openValues.back().key = std::move(name);
    return true;
  }

  template <typename Exception>
  bool parse_error(size_t position, const std::string &token,
                   const Exception &exception) {
    // 406 means a number that is too large for a double; any other exception
    // means invalid JSON.
    if (exception.id == 406)
      error = {Kind::Number, 0, place(), token};
    else
      error = {Kind::Syntax, position};
    return false;
  }

private:
  struct Member {
    std::string key;
    JsonTree value;
  };
  /// The places of the members of an object with many members.
  using Index = std::unordered_map<std::string, size_t>;
  struct OpenValue {
    JsonTree value;       ///< an array with its items, or an empty object
    size_t begin = 0;     ///< the index of its first member in `members`
    std::string key = {}; ///< the key of the next member
    std::unique_ptr<Index> index = {};
  };

  /// Returns the place of the value that comes next, as in "a[1].b".
  std::string place() const {
    std::string path;
    for (const OpenValue &openValue : openValues) {
      if (openValue.value.root().is_array())
        path += '[' + std::to_string(openValue.value.root().size()) + ']';
      else
        (path += path.empty() ? "" : ".") += openValue.key;
    }
    return path;
  }

  bool fail(Kind kind) {
    error = {kind};
    return false;
  }

  bool count() { return ++values <= limits.values || fail(Kind::Values); }

  /// Counts memory of the value; returns false when the limit is exceeded.
  bool take(size_t bytes) {
    taken += bytes;
    return taken <= limits.treeBytes || fail(Kind::TreeBytes);
  }

  bool open(ordered_json empty) {
    if (openValues.size() >= limits.depth)
      return fail(Kind::Depth);
    if (!count() || !take(sizeof(ordered_json::array_t)))
      return false;
    openValues.push_back(
        {.value = JsonTree(std::move(empty)), .begin = members.size()});
    return true;
  }

  bool close() {
    OpenValue &openValue = openValues.back();
    if (openValue.value.root().is_object()) {
      auto &object = openValue.value.root().get_ref<ordered_json::object_t &>();
      object.reserve(members.size() - openValue.begin);
      for (size_t i = openValue.begin; i < members.size(); ++i)
        object.emplace_back(std::move(members[i].key),
                            std::move(members[i].value.root()));
      members.erase(members.begin() + static_cast<ptrdiff_t>(openValue.begin),
                    members.end());
    }
    JsonTree done = std::move(openValue.value);
    openValues.pop_back();
    return put(done.root());
  }

  /// Adds an item that has no parts to be freed.
  bool add(ordered_json item) { return count() && put(item); }

  /// Moves the item to its place. Until then it belongs to the caller.
  bool put(ordered_json &item) {
    if (openValues.empty()) {
      value = JsonTree(std::move(item));
      return true;
    }
    OpenValue &openValue = openValues.back();
    if (!openValue.value.root().is_array())
      return putMember(openValue, item);
    auto &items = openValue.value.root().get_ref<ordered_json::array_t &>();
    const size_t room = items.capacity();
    items.push_back(std::move(item));
    return items.capacity() == room ||
           take((items.capacity() - room) * sizeof items[0]);
  }

  /// Returns the index of the member that has the next member's key; the number
  /// of members if there is none.
  size_t findMember(OpenValue &openValue) const {
    if (members.size() - openValue.begin < fewMembers) {
      auto begin = members.begin() + static_cast<ptrdiff_t>(openValue.begin);
      auto found =
          std::ranges::find(begin, members.end(), openValue.key, &Member::key);
      return static_cast<size_t>(found - members.begin());
    }
    if (!openValue.index)
      openValue.index = std::make_unique<Index>();
    Index &index = *openValue.index;
    for (size_t i = openValue.begin + index.size(); i < members.size(); ++i)
      index.emplace(members[i].key, i);
    auto found = index.find(openValue.key);
    return found == index.end() ? members.size() : found->second;
  }

  bool putMember(OpenValue &openValue, ordered_json &item) {
    const size_t place = findMember(openValue);
    if (place < members.size()) {
      members[place].value = JsonTree(std::move(item));
      return true;
    }
    if (members.size() - openValue.begin >= limits.objectMembers)
      return fail(Kind::ObjectMembers);
    // The memory that it takes here, and in the end in its object.
    if (!take(sizeof(Member) + sizeof(ordered_json::object_t::value_type) +
              heapBytes(openValue.key)))
      return false;
    members.push_back({std::move(openValue.key), JsonTree(std::move(item))});
    return true;
  }

  const JsonLimits &limits;
  std::vector<OpenValue> openValues;
  std::vector<Member> members; ///< of all objects that are not complete
  size_t values = 0;
  size_t taken = 0; ///< how much of JsonLimits::treeBytes is used
};

} // namespace

std::variant<JsonTree, JsonError> text::readJson(std::string_view text,
                                                 const JsonLimits &limits) {
  if (!isValidUtf8(text))
    return JsonError{Kind::Encoding};
  // The parser would take a NUL for the end of the text, whatever follows it.
  if (size_t nul = text.find('\0'); nul != std::string_view::npos)
    return JsonError{Kind::Syntax, nul + 1};
  Builder builder(limits);
  if (!ordered_json::sax_parse(text, &builder))
    return std::move(builder.error);
  return std::move(builder.value);
}
