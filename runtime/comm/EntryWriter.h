//===- EntryWriter.h - writes the fields of a frame -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the codec of frames.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_ENTRYWRITER_H
#define SLUICE_RUNTIME_COMM_ENTRYWRITER_H

#include "runtime/comm/FrameFields.h"
#include "runtime/comm/Wire.h"

namespace sluice::comm {

/// Writes the fields that FrameFields.h lists. Names, ranges and checks are for
/// the reader.
class EntryWriter {
public:
  template <typename T> using Of = const T;

  EntryWriter(WireWriter &out, const FrameLimits &limits)
      : limits(limits), out(out) {}

  const FrameLimits &limits;

  template <typename T> void number(T value, const char *, int64_t, int64_t) {
    out.put(value);
  }
  template <typename T> void any(T value) { out.put(value); }
  void flag(bool value, const char *, bool isThere = true) {
    if (isThere)
      out.put(static_cast<uint8_t>(value));
  }
  void flags(bool first, bool second, const char *) {
    out.put(static_cast<uint8_t>((first ? 1 : 0) | (second ? 2 : 0)));
  }
  /// Writes a text, truncated to `max` bytes.
  void text(std::string_view text, const char *, int64_t max) {
    text = text.substr(0, static_cast<size_t>(max));
    out.putCount(text);
    out.put(text);
  }
  template <typename Check> void check(Check) {}

  template <typename T>
  void count(const std::vector<T> &list, const char *, int64_t) {
    out.putCount(list);
  }
  template <typename T> void entries(const std::vector<T> &list) {
    for (const T &each : list)
      fields(*this, each);
  }
  void forEach(const std::vector<int32_t> &list,
               void (*field)(EntryWriter &, const int32_t &)) {
    for (const int32_t &each : list)
      field(*this, each);
  }

  void biases(const std::map<int32_t, double> &biases) {
    out.putCount(biases);
    for (const auto &[token, bias] : biases) {
      out.put(token);
      out.put(bias);
    }
  }
  void grammar(const GrammarSource &grammar) {
    out.put(static_cast<uint8_t>(grammar.kind));
    out.put(grammar.scope);
    std::string_view source = grammar.text();
    out.putCount(source);
    out.put(source);
  }

private:
  WireWriter &out;
};

/// Returns the size of the smallest entry of a list, one whose lists are empty.
template <typename T> size_t minEntryBytes() {
  static const size_t bytes = [] {
    Bytes smallest;
    WireWriter writer(smallest);
    const FrameLimits limits;
    EntryWriter out(writer, limits);
    if constexpr (std::is_arithmetic_v<T>)
      out.any(T());
    else
      fields(out, T());
    return smallest.size();
  }();
  return bytes;
}

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_ENTRYWRITER_H
