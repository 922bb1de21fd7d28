//===- ApiKeys.cpp - the API keys that the server accepts -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/ApiKeys.h"

#include "runtime/base/ReadFile.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <strings.h>

using namespace sluice;
using namespace sluice::serve;

static std::array<uint8_t, 32> digestOf(std::string_view key) {
  std::array<uint8_t, 32> digest;
  static_assert(sizeof digest == SHA256_DIGEST_LENGTH);
  SHA256(reinterpret_cast<const uint8_t *>(key.data()), key.size(),
         digest.data());
  return digest;
}

Status ApiKeys::add(std::string_view key, const KeyTerms &its) {
  if (key.empty())
    return failure("an API key is empty");
  if (key.size() > maxKeyBytes)
    return failure("an API key is longer than ", maxKeyBytes, " bytes");
  for (char c : key)
    if (c <= ' ' || c > '~')
      return failure("an API key has a character that is not visible ASCII");
  if (digests.size() == maxKeys)
    return failure("there are more than ", maxKeys, " API keys");
  digests.push_back(digestOf(key));
  terms.push_back(its);
  return {};
}

static std::string_view trimmed(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  size_t first = line.find_first_not_of(blanks);
  if (first == line.npos)
    return {};
  return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

/// Removes and returns the first word of a line.
static std::string_view takeWord(std::string_view &line) {
  line = trimmed(line);
  size_t end = std::min(line.find_first_of(" \t"), line.size());
  std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

template <typename Number>
static bool readNumber(std::string_view text, Number &number) {
  const char *end = text.data() + text.size();
  auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && last == end;
}

/// Reads LOW..HIGH, or LOW alone, which allows no priority more urgent than
/// LOW.
static bool readPriorities(std::string_view text, KeyTerms &terms) {
  constexpr std::string_view dots = "..";
  size_t split = text.find(dots);
  if (split != text.npos &&
      !readNumber(text.substr(split + dots.size()), terms.maxPriority))
    return false;
  constexpr int32_t max = 1000;
  return readNumber(text.substr(0, split), terms.minPriority) &&
         -max <= terms.minPriority && terms.minPriority <= terms.maxPriority &&
         terms.maxPriority <= max;
}

/// Reads the terms behind a key. Errors never quote a word: it may be a part of
/// a key that has a space in it.
static Status readTerms(std::string_view line, KeyTerms &terms) {
  while (true) {
    std::string_view word = takeWord(line);
    if (word.empty())
      return {};
    size_t sign = word.find('=');
    std::string_view name = word.substr(0, sign);
    std::string_view value =
        sign == word.npos ? std::string_view() : word.substr(sign + 1);
    if (name == "priority") {
      if (!readPriorities(value, terms))
        return failure("'priority' is not LOW..HIGH within -1000..1000");
    } else if (name == "weight") {
      constexpr double min = 0.001, max = 1000;
      if (!readNumber(value, terms.weight) || !(terms.weight >= min) ||
          !(terms.weight <= max))
        return failure("'weight' is not a number from ", min, " to ", max);
    } else if (name == "max-running") {
      if (!readNumber(value, terms.maxRunning) || terms.maxRunning < 1)
        return failure("'max-running' is not a number above 0");
    } else {
      return failure("behind the key there is something other than "
                     "'priority=', 'weight=' and 'max-running='");
    }
  }
}

Status ApiKeys::addFile(const std::string &path, std::string *warning) {
  mode_t mode = 0;
  Expected<std::string> read = readFile(path, maxFileBytes, &mode);
  if (!read)
    return read.status().withContext("API key file '" + path + "'");
  std::string text = read.take();
  if (S_ISREG(mode) && (mode & (S_IRGRP | S_IROTH)) != 0)
    *warning = "API key file '" + path +
               "' can be read by others than its owner (chmod 600)";
  size_t before = digests.size();
  size_t line = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view rest = std::string_view(text).substr(at, end - at);
    std::string_view key = takeWord(rest);
    at = end + 1;
    ++line;
    if (key.empty() || key.front() == '#')
      continue;
    KeyTerms its;
    Status added = readTerms(rest, its);
    if (added.ok())
      added = add(key, its);
    if (!added.ok())
      return failure("API key file '", path, "': line ", line, ": ",
                     added.message());
  }
  OPENSSL_cleanse(text.data(), text.size());
  if (digests.size() == before)
    return failure("API key file '", path, "': has no key");
  return {};
}

std::optional<size_t> ApiKeys::find(const std::string *authorization) const {
  constexpr std::string_view scheme = "Bearer ";
  if (!authorization || authorization->size() <= scheme.size() ||
      strncasecmp(authorization->data(), scheme.data(), scheme.size()) != 0)
    return std::nullopt;
  std::string_view key =
      trimmed(std::string_view(*authorization).substr(scheme.size()));
  Digest given = digestOf(key);
  std::optional<size_t> found;
  for (size_t i = 0; i < digests.size(); ++i)
    if (CRYPTO_memcmp(digests[i].data(), given.data(), given.size()) == 0)
      found = i;
  return found;
}
