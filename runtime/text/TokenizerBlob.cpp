//===- TokenizerBlob.cpp - serializes a tokenizer -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each struct has one function that visits its fields in order. With a Writer
// it writes their bytes, with a Reader it reads them.
//
//===----------------------------------------------------------------------===//

#include "runtime/text/TokenizerBlob.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

using namespace sluice;
using namespace sluice::text;

static_assert(std::endian::native == std::endian::little,
              "the blob is little-endian");

namespace {

constexpr std::string_view magic = "SLUTOKEN";
constexpr uint32_t version = 2;

class Writer {
public:
  template <typename T> void number(const T &value) {
    append(&value, sizeof(T));
  }
  template <typename T> void choice(const T &value, T) { number(value); }
  void flag(const bool &value) { number<uint8_t>(value); }
  void string(const std::string &value) {
    number(static_cast<uint32_t>(value.size()));
    append(value.data(), value.size());
  }
  template <typename T> size_t count(const std::vector<T> &list, size_t) {
    number(static_cast<uint32_t>(list.size()));
    return list.size();
  }

  std::vector<uint8_t> out;

private:
  void append(const void *data, size_t size) {
    auto bytes = static_cast<const uint8_t *>(data);
    out.insert(out.end(), bytes, bytes + size);
  }
};

class Reader {
public:
  explicit Reader(std::span<const uint8_t> in) : in(in) {}

  template <typename T> void number(T &value) {
    if (take(sizeof(T)))
      std::memcpy(&value, in.data() + at - sizeof(T), sizeof(T));
  }
  template <typename T> void choice(T &value, T last) {
    std::underlying_type_t<T> raw = 0;
    number(raw);
    if (raw > static_cast<std::underlying_type_t<T>>(last))
      fail("a value outside its range");
    else
      value = static_cast<T>(raw);
  }
  void flag(bool &value) {
    uint8_t raw = 0;
    number(raw);
    if (raw > 1)
      fail("a value outside its range");
    value = raw == 1;
  }
  void string(std::string &value) {
    uint32_t size = 0;
    number(size);
    if (take(size))
      value.assign(reinterpret_cast<const char *>(in.data()) + at - size, size);
  }
  /// Reads the length of a list whose entries take at least `minBytes` each.
  template <typename T> size_t count(std::vector<T> &list, size_t minBytes) {
    uint32_t size = 0;
    number(size);
    if (size > (in.size() - at) / minBytes) {
      fail("it is cut short");
      size = 0;
    }
    list.resize(size);
    return size;
  }

  bool ok() const { return problem == nullptr; }

  Status finish() {
    if (ok() && at != in.size())
      fail("bytes are left over");
    return ok() ? Status()
                : failure("the tokenizer's bytes at ", at, ": ", problem);
  }

  void fail(const char *what) {
    if (ok())
      problem = what;
  }

private:
  /// Skips `size` bytes; fails if fewer are left.
  bool take(size_t size) {
    if (ok() && size > in.size() - at)
      fail("it is cut short");
    if (!ok())
      return false;
    at += size;
    return true;
  }

  std::span<const uint8_t> in;
  size_t at = 0;
  const char *problem = nullptr;
};

/// `T` as the archive needs it: const for a Writer.
template <typename Archive, typename T>
using Field = std::conditional_t<std::is_same_v<Archive, Writer>, const T, T>;

template <typename A> void fields(A &archive, Field<A, NormalizerStep> &step) {
  archive.choice(step.kind, NormalizerStep::Kind::ByteLevel);
  archive.string(step.pattern);
  archive.string(step.content);
  archive.flag(step.left);
  archive.flag(step.right);
}

template <typename A>
void fields(A &archive, Field<A, PreTokenizerStep> &step) {
  archive.choice(step.kind, PreTokenizerStep::Kind::Punctuation);
  archive.string(step.pattern);
  archive.choice(step.behavior, SplitBehavior::Contiguous);
  archive.choice(step.scheme, PrependScheme::Never);
  archive.flag(step.invert);
  archive.flag(step.flag);
  archive.flag(step.prefixSpace);
}

template <typename A> void fields(A &archive, Field<A, DecoderStep> &step) {
  archive.choice(step.kind, DecoderStep::Kind::Strip);
  archive.string(step.pattern);
  archive.string(step.content);
  archive.choice(step.scheme, PrependScheme::Never);
  archive.number(step.start);
  archive.number(step.stop);
}

template <typename A> void fields(A &archive, Field<A, AddedToken> &token) {
  archive.number(token.id);
  archive.flag(token.special);
  archive.flag(token.singleWord);
  archive.flag(token.lstrip);
  archive.flag(token.rstrip);
  archive.flag(token.normalized);
}

template <typename A> void fields(A &archive, Field<A, Token> &token) {
  archive.string(token.text);
  archive.number(token.score);
  archive.choice(token.type, TokenType::Added);
}

template <typename A> void fields(A &archive, Field<A, Merge> &merge) {
  archive.number(merge.left);
  archive.number(merge.right);
  archive.number(merge.result);
}

template <typename A> void fields(A &archive, Field<A, TokenId> &id) {
  archive.number(id);
}

/// Visits a list whose entries take at least `minBytes` bytes each.
template <typename A, typename T>
void list(A &archive, T &items, size_t minBytes) {
  size_t count = archive.count(items, minBytes);
  for (size_t i = 0; i < count; ++i)
    fields<A>(archive, items[i]);
}

template <typename A>
void optionalId(A &archive, Field<A, std::optional<TokenId>> &id) {
  TokenId value = id.value_or(-1);
  archive.number(value);
  if constexpr (!std::is_same_v<A, Writer>) {
    if (value != -1)
      id = value;
  }
}

template <typename A> void fields(A &archive, Field<A, TokenizerSpec> &spec) {
  archive.choice(spec.kind, ModelKind::Unigram);
  list(archive, spec.tokens, 13);
  list(archive, spec.merges, 12);
  list(archive, spec.normalizer, 11);
  list(archive, spec.preTokenizer, 10);
  list(archive, spec.decoder, 18);
  list(archive, spec.addedTokens, 9);
  list(archive, spec.prefix, 4);
  list(archive, spec.suffix, 4);
  optionalId(archive, spec.unknown);
  optionalId(archive, spec.beginOfText);
  list(archive, spec.endOfText, 4);
  archive.flag(spec.byteFallback);
  archive.flag(spec.fuseUnknown);
  archive.flag(spec.ignoreMerges);
  archive.string(spec.chatTemplate);
  archive.string(spec.toolTemplate);
}

} // namespace

std::vector<uint8_t>
sluice::text::serializeTokenizer(const TokenizerSpec &spec) {
  Writer writer;
  for (char c : magic)
    writer.number(c);
  writer.number(version);
  fields<Writer>(writer, spec);
  return std::move(writer.out);
}

Expected<TokenizerSpec>
sluice::text::parseTokenizer(std::span<const uint8_t> blob) {
  Reader reader(blob);
  for (char expected : magic) {
    char c = 0;
    reader.number(c);
    if (c != expected)
      return failure("the bytes are not a tokenizer");
  }
  uint32_t found = 0;
  reader.number(found);
  if (found != version)
    return failure("the tokenizer's bytes are of version ", found, ", not ",
                   version);
  TokenizerSpec spec;
  fields<Reader>(reader, spec);
  Status status = reader.finish();
  if (!status.ok())
    return status;
  return spec;
}
