//===- ApiKeys.h - who may use the server ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keys that requests must carry one of: `Authorization: Bearer KEY`
// (RFC 6750). A key file has one key a line; empty lines and lines that begin
// with '#' are comments, spaces around a key are not part of it. Behind a key,
// and a space, there can be what it is entitled to (KeyTerms):
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

/// Immutable once made; then thread-safe.
class ApiKeys {
public:
  static constexpr size_t maxKeys = 10'000;
  static constexpr size_t maxKeyBytes = 512;
  static constexpr int64_t maxFileBytes = int64_t{8} << 20;

  /// Adds a key. Errors: it is empty, too long, has characters other than
  /// visible ASCII (no header can carry it), or there are too many.
  Status add(std::string_view key, const KeyTerms &terms = {});

  /// Adds the keys of a file. Errors: it cannot be read, is too large, a key of
  /// it is none, or it has none; they name the line and never the key.
  /// `*warning` is set where others than the owner can read the file.
  Status addFile(const std::string &path, std::string *warning);

  /// Without keys, everybody may do everything.
  bool required() const { return !digests.empty(); }
  /// Of a key that find() has found.
  const KeyTerms &termsOf(size_t key) const { return terms[key]; }

  /// The number of the key that the value of an Authorization field carries;
  /// null: there is no such field. Takes as long for one key as for another,
  /// right or wrong: digests of equal length are compared, always all of them
  /// to the end.
  std::optional<size_t> find(const std::string *authorization) const;

private:
  using Digest = std::array<uint8_t, 32>;
  std::vector<Digest> digests;
  std::vector<KeyTerms> terms; ///< of each
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_APIKEYS_H
