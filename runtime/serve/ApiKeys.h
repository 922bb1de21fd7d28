//===- ApiKeys.h - the API keys that the server accepts -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and checks API keys. Where the server has keys, a request must carry
// one as `Authorization: Bearer KEY` (RFC 6750). A key file has one key on each
// line. Empty lines and lines that begin with '#' are skipped, and spaces
// around a key are not part of it. What the key is entitled to (KeyTerms) may
// follow the key:
//
//   KEY [weight=W] [max-running=N] [priority=LOW[..HIGH]]
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_APIKEYS_H
#define SLUICE_RUNTIME_SERVE_APIKEYS_H

#include "runtime/base/Status.h"
#include "runtime/serve/Caller.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::serve {

/// Thread-safe once all keys have been added.
class ApiKeys {
public:
  static constexpr size_t maxKeys = 10'000;
  static constexpr size_t maxKeyBytes = 512;
  static constexpr size_t maxFileBytes = size_t{8} << 20;

  /// Adds a key. Fails if the key is empty, too long or not visible ASCII (no
  /// header could carry it), or if there are too many keys.
  Status add(std::string_view key, const KeyTerms &terms = {});

  /// Adds the keys of a file. Fails if the file cannot be read, is too large,
  /// has no key, or has a line that is not valid; the message names the line
  /// and never the key. Sets `*warning` if users other than the owner can read
  /// the file.
  Status addFile(const std::string &path, std::string *warning);

  /// Returns whether requests need a key, which they do once any key was added.
  bool required() const { return !digests.empty(); }
  /// Returns the terms of a key that find() has returned.
  const KeyTerms &termsOf(size_t key) const { return terms[key]; }

  /// Returns the number of the key that an Authorization field carries; null if
  /// `authorization` is null or its key is wrong. Takes the same time for every
  /// key, right or wrong: it compares digests of equal length, and always all
  /// of them to the end.
  std::optional<size_t> find(const std::string *authorization) const;

private:
  using Digest = std::array<uint8_t, 32>;
  std::vector<Digest> digests;
  std::vector<KeyTerms> terms; ///< [key]
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_APIKEYS_H
