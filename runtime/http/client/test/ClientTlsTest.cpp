//===- ClientTlsTest.cpp - the HTTP client under TLS ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/Client.h"

#include "runtime/http/client/test/LoopbackServer.h"
#include "runtime/http/client/test/Recorder.h"

#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::test;
using testing::HasSubstr;

namespace {

/// A self-signed certificate for `names` ("DNS:localhost").
struct Certificate {
  explicit Certificate(const char *names) : key(EVP_EC_gen("P-256")) {
    x509 = X509_new();
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char *>("test"),
                               -1, -1, 0);
    X509_set_issuer_name(x509, X509_get_subject_name(x509));
    X509_EXTENSION *extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names);
    X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
    X509_sign(x509, key, EVP_sha256());
    file = testing::TempDir() + "/client-tls-" + std::to_string(getpid()) +
           "-" + std::to_string(reinterpret_cast<uintptr_t>(this)) + ".pem";
    BIO *out = BIO_new_file(file.c_str(), "w");
    PEM_write_bio_X509(out, x509);
    BIO_free(out);
  }
  ~Certificate() {
    unlink(file.c_str());
    X509_free(x509);
    EVP_PKEY_free(key);
  }

  EVP_PKEY *key;
  X509 *x509;
  std::string file;
};

/// Serves TLS connections: answers each request with "secret" as a stream.
class TlsServer {
public:
  explicit TlsServer(const Certificate &certificate)
      : context(SSL_CTX_new(TLS_server_method())),
        server([this](Peer &peer) { serve(peer); }) {
    std::signal(SIGPIPE, SIG_IGN); // SSL_write() raises SIGPIPE
    SSL_CTX_use_certificate(context, certificate.x509);
    SSL_CTX_use_PrivateKey(context, certificate.key);
  }
  ~TlsServer() { SSL_CTX_free(context); }

  std::string url(const std::string &host) const {
    std::string authority = server.authority();
    return "https://" + host + authority.substr(authority.find(':'));
  }

  /// Whether to close in the middle of an answer, without close_notify.
  std::atomic<bool> truncate = false;
  std::string serverName; ///< that the client asked for

private:
  void serve(Peer &peer) {
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, peer.fd);
    char bytes[4096];
    if (SSL_accept(ssl) == 1) {
      if (const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name))
        serverName = name;
      while (SSL_read(ssl, bytes, sizeof(bytes)) > 0) {
        write(ssl, truncate ? "HTTP/1.1 200 OK\r\n\r\n"
                            : "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n");
        for (const char *piece : {"se", "cr", "et"})
          write(ssl, piece);
        if (truncate)
          break;
      }
    }
    SSL_free(ssl);
  }
  static void write(SSL *ssl, std::string_view text) {
    SSL_write(ssl, text.data(), static_cast<int>(text.size()));
  }

  SSL_CTX *context;
  LoopbackServer server; // last, because its threads use the other members
};

Record ask(const std::string &url, const std::string &caFile, int times = 1) {
  ClientOptions options;
  options.caFile = caFile;
  Expected<Client> client = Client::create(*parseUrl(url), options);
  EXPECT_TRUE(client) << client.status().message();
  Record record;
  for (int i = 0; i < times; ++i) {
    record = {};
    EXPECT_TRUE(client->start({}, std::make_unique<Recorder>(record)));
    EXPECT_TRUE(runUntil(*client, [&] { return record.isOver(); }));
  }
  EXPECT_EQ(client->connections(), 1u);
  return record;
}

TEST(ClientTlsTest, ReadsUnderTls) {
  Certificate certificate("DNS:localhost,IP:127.0.0.1");
  TlsServer server(certificate);
  Record record = ask(server.url("127.0.0.1"), certificate.file, 3);
  ASSERT_FALSE(record.failure) << record.failure->message;
  EXPECT_EQ(record.body, "secret");
  EXPECT_EQ(server.serverName, "");
  record = ask(server.url("localhost"), certificate.file);
  ASSERT_FALSE(record.failure) << record.failure->message;
  EXPECT_EQ(server.serverName, "localhost");
}

TEST(ClientTlsTest, TrustsOnlyWhatItIsTold) {
  Certificate certificate("DNS:localhost,IP:127.0.0.1");
  Certificate other("DNS:localhost,IP:127.0.0.1");
  TlsServer server(certificate);
  for (const std::string &file : {std::string(), other.file}) {
    Record record = ask(server.url("127.0.0.1"), file);
    ASSERT_TRUE(record.failure);
    EXPECT_EQ(record.failure->kind, FailureKind::Connect);
    EXPECT_THAT(record.failure->message, HasSubstr("verify failed"));
  }
}

TEST(ClientTlsTest, TheCertificateMustNameTheHost) {
  Certificate certificate("DNS:example.com,IP:127.0.0.2");
  TlsServer server(certificate);
  for (const char *host : {"127.0.0.1", "localhost"}) {
    Record record = ask(server.url(host), certificate.file);
    ASSERT_TRUE(record.failure) << host;
    EXPECT_EQ(record.failure->kind, FailureKind::Connect);
    EXPECT_THAT(record.failure->message, HasSubstr("verify failed"));
  }
}

/// An attacker could truncate an answer that ends with the connection.
TEST(ClientTlsTest, AnEndWithoutNoticeIsAnError) {
  Certificate certificate("IP:127.0.0.1");
  TlsServer server(certificate);
  server.truncate = true;
  Record record = ask(server.url("127.0.0.1"), certificate.file);
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->kind, FailureKind::Closed);
  EXPECT_THAT(record.failure->message,
              HasSubstr("closed before the answer's end"));
}

TEST(ClientTlsTest, AServerWithoutTls) {
  Certificate certificate("IP:127.0.0.1");
  LoopbackServer server([](Peer &peer) {
    char bytes[64];
    if (read(peer.fd, bytes, sizeof(bytes)) > 0)
      peer.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  });
  Record record = ask("https://" + server.authority(), certificate.file);
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->kind, FailureKind::Connect);
}

} // namespace
