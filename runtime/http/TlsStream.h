//===- TlsStream.h - a byte stream under TLS ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_TLSSTREAM_H
#define SLUICE_RUNTIME_HTTP_TLSSTREAM_H

#include "runtime/base/Status.h"
#include "runtime/http/ByteStream.h"

#include <memory>
#include <openssl/ssl.h>
#include <string>

namespace sluice::http::server {

template <auto Free> struct FreeWith {
  template <typename T> void operator()(T *object) const { Free(object); }
};

/// A certificate and its key, for any number of streams.
class TlsContext {
public:
  /// Reads the PEM files. Fails if a file cannot be read or parsed, or if the
  /// key has a passphrase or belongs to another certificate.
  static Expected<TlsContext> create(const std::string &certificateFile,
                                     const std::string &keyFile);

  SSL_CTX *get() const { return context.get(); }

private:
  TlsContext() = default;

  std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>> context;
};

class TlsStream final : public ByteStream {
public:
  /// Returns null if memory runs out. `context` need not outlive the stream.
  static std::unique_ptr<TlsStream> create(const TlsContext &context,
                                           int socket, ByteCounters &traffic);

  IoState handshake() override;
  IoResult read(char *data, size_t size) override;
  IoResult write(const char *data, size_t size) override;
  void end() override;

private:
  TlsStream(int socket, ByteCounters &traffic)
      : socket(socket), traffic(traffic) {}

  static BIO_METHOD *socketMethod();
  static int receive(BIO *bio, char *data, int size);
  static int send(BIO *bio, const char *data, int size);
  static long control(BIO *bio, int command, long number, void *pointer);
  IoState stateAfter(int result);

  const int socket;
  ByteCounters &traffic;
  bool broken = false;
  std::unique_ptr<SSL, FreeWith<SSL_free>> ssl;
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_TLSSTREAM_H
