//===- TestCertificate.h - a certificate for tests ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_TEST_TESTCERTIFICATE_H
#define SLUICE_RUNTIME_HTTP_TEST_TESTCERTIFICATE_H

#include <string>

namespace sluice::http::test {

/// Makes a self-signed certificate for localhost, valid for an hour. Writes
/// NAME.crt, NAME.key and NAME.locked, which is the key with a passphrase, into
/// `folder`.
void makeCertificate(const std::string &folder, const std::string &name);

} // namespace sluice::http::test

#endif // SLUICE_RUNTIME_HTTP_TEST_TESTCERTIFICATE_H
