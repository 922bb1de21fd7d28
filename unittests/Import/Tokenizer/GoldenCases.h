//===- GoldenCases.h - expected ids, made by Hugging Face -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_IMPORT_TOKENIZER_GOLDENCASES_H
#define SLUICE_UNITTESTS_IMPORT_TOKENIZER_GOLDENCASES_H

#include "runtime/text/Tokenizer.h"
#include "sluice/Import/Support/JSON.h"

#include <gtest/gtest.h>

namespace sluice::test {

inline std::string golden(const std::string &path) {
  return std::string(SLUICE_TEST_MODELS) + "/tokenizers/" + path;
}

/// Reads a JSON file that the test needs. An error fails the test.
inline nlohmann::json readGolden(const std::string &path) {
  Expected<nlohmann::json> file = readJSONFile(path);
  if (!file) {
    ADD_FAILURE() << file.status().message();
    return nlohmann::json::object();
  }
  return file.take();
}

/// Encodes the texts of texts.json, compares them with `cases`, and decodes
/// them again. With `plain`, also encodes without template and special tokens.
void checkEncoding(const text::Tokenizer &tokenizer,
                   const nlohmann::json &cases, bool plain = true);

/// Decodes the lists of random ids in `cases` and compares the texts.
void checkDecoding(const text::Tokenizer &tokenizer,
                   const nlohmann::json &cases);

} // namespace sluice::test

#endif // SLUICE_UNITTESTS_IMPORT_TOKENIZER_GOLDENCASES_H
