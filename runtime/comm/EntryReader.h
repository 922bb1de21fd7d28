//===- EntryReader.h - reads the fields of a frame ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the codec of frames.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_ENTRYREADER_H
#define SLUICE_RUNTIME_COMM_ENTRYREADER_H

#include "runtime/comm/EntryWriter.h"
#include "runtime/comm/FrameFields.h"
#include "runtime/comm/Wire.h"

namespace sluice::comm {

/// Reads the fields that FrameFields.h lists, and checks them. After the first
/// error, which the WireReader keeps, values are unspecified.
class EntryReader {
public:
  template <typename T> using Of = T;

  EntryReader(WireReader &in, const FrameLimits &limits)
      : limits(limits), in(in) {}

  const FrameLimits &limits;

  /// Reads a number that must be in [low, high].
  template <typename T>
  void number(T &value, const char *what, int64_t low, int64_t high) {
    value = in.getInRange<T>(what, low, high);
  }
  /// Reads a number that can have any value.
  template <typename T> void any(T &value) { value = in.get<T>(); }
  /// Reads a flag; it is false if it is not there.
  void flag(bool &value, const char *what, bool isThere = true) {
    value = isThere && in.getInRange<uint8_t>(what, 0, 1) != 0;
  }
  void flags(bool &first, bool &second, const char *what) {
    const auto both = in.getInRange<uint8_t>(what, 0, 3);
    first = (both & 1) != 0;
    second = (both & 2) != 0;
  }
  void text(std::string &text, const char *what, int64_t max) {
    std::span<const uint8_t> bytes = in.take(in.getCount(what, max, 1));
    text.assign(bytes.begin(), bytes.end());
  }
  /// Fails with what `check` returns.
  template <typename Check> void check(Check check) {
    if (Status status = check(); in.ok() && !status.ok())
      in.fail(std::move(status));
  }

  /// Reads the number of a list's entries, which is bounded by `max` and by the
  /// bytes that are left, and resizes the list.
  template <typename T>
  void count(std::vector<T> &list, const char *what, int64_t max) {
    list.resize(in.getCount(what, max, minEntryBytes<T>()));
  }
  template <typename T> void entries(std::vector<T> &list) {
    for (size_t i = 0; i < list.size() && in.ok(); ++i)
      fields(*this, list[i]);
  }
  void forEach(std::vector<int32_t> &list,
               void (*field)(EntryReader &, int32_t &)) {
    for (size_t i = 0; i < list.size() && in.ok(); ++i)
      field(*this, list[i]);
  }

  void biases(std::map<int32_t, double> &biases) {
    biases.clear();
    const size_t count = in.getCount("logit biases", limits.vocabSize,
                                     sizeof(int32_t) + sizeof(double));
    int64_t last = -1;
    for (size_t i = 0; i < count && in.ok(); ++i) {
      const auto token = in.getInRange<int32_t>("a biased token", last + 1,
                                                limits.vocabSize - 1);
      biases.emplace_hint(biases.end(), token, in.get<double>());
      last = token;
    }
  }
  void grammar(GrammarSource &grammar) {
    const auto kind = static_cast<GrammarSource::Kind>(in.getInRange<uint8_t>(
        "a kind of grammar", 0,
        static_cast<int64_t>(GrammarSource::Kind::Gbnf)));
    const auto scope = in.get<uint64_t>();
    std::string source;
    text(source, "letters of a grammar", GrammarSource::maxBytes);
    grammar = {kind, std::move(source)};
    grammar.scope = scope;
  }

private:
  WireReader &in;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_ENTRYREADER_H
