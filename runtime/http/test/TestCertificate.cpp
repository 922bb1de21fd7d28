//===- TestCertificate.cpp - a certificate for tests ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestCertificate.h"

#include <cstdio>
#include <openssl/pem.h>
#include <openssl/x509.h>

void sluice::http::test::makeCertificate(const std::string &folder,
                                         const std::string &name) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char *>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  X509_sign(certificate, key, EVP_sha256());
  auto write = [&](const char *suffix, auto put) {
    std::string path = folder + '/' + name + suffix;
    FILE *file = std::fopen(path.c_str(), "w");
    put(file);
    std::fclose(file);
  };
  write(".crt", [&](FILE *file) { PEM_write_X509(file, certificate); });
  write(".key", [&](FILE *file) {
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
  write(".locked", [&](FILE *file) {
    unsigned char secret[] = "secret";
    PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), secret, 6, nullptr,
                         nullptr);
  });
  X509_free(certificate);
  EVP_PKEY_free(key);
}
