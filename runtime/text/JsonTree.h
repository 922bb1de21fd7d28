//===- JsonTree.h - a JSON value that is freed without allocating ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JSONTREE_H
#define SLUICE_RUNTIME_TEXT_JSONTREE_H

#include <nlohmann/json.hpp>
#include <utility>

namespace sluice::text {

/// Owns a JSON value of any size, and frees it without allocating. nlohmann's
/// own destructor allocates a stack of all elements, and ends the process if
/// there is no memory for it, just when memory is about to be freed. Recurses
/// as deep as the value.
class JsonTree {
public:
  using Json = nlohmann::ordered_json;

  JsonTree() = default;
  explicit JsonTree(Json value) noexcept : value(std::move(value)) {}
  JsonTree(JsonTree &&other) noexcept : value(std::move(other.value)) {}
  JsonTree &operator=(JsonTree &&other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  ~JsonTree() { dismantle(value); }

  /// Copies a value. A copy that fails halfway is freed without allocating,
  /// too. Objects get room for `more` members, since nlohmann's list copies all
  /// members when it grows.
  static JsonTree copyOf(const Json &from, size_t more = 0) {
    if (from.is_array()) {
      JsonTree to(Json::array());
      auto &items = to.value.get_ref<Json::array_t &>();
      items.reserve(from.size());
      for (const Json &item : from)
        items.push_back(std::move(copyOf(item).value));
      return to;
    }
    if (!from.is_object())
      return JsonTree(Json(from));
    JsonTree to(Json::object());
    auto &members = to.value.get_ref<Json::object_t &>();
    members.reserve(from.size() + more);
    for (const auto &[name, member] : from.get_ref<const Json::object_t &>())
      members.emplace_back(name, std::move(copyOf(member).value));
    return to;
  }

  Json &root() { return value; }
  const Json &root() const { return value; }

private:
  static void dismantle(Json &value) noexcept {
    if (value.is_array()) {
      auto &items = value.get_ref<Json::array_t &>();
      for (Json &item : items)
        dismantle(item);
      items.clear();
    } else if (value.is_object()) {
      auto &members = value.get_ref<Json::object_t &>();
      for (auto &[name, member] : members)
        dismantle(member);
      members.clear();
    }
  }

  Json value;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JSONTREE_H
