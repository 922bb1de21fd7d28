//===- TlsStream.cpp - a byte stream under TLS ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/TlsStream.h"

#include "runtime/base/InputFiles.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/socket.h>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::server;

//===----------------------------------------------------------------------===//
// Certificate and key
//===----------------------------------------------------------------------===//

/// Returns the reason of OpenSSL's first pending error.
static std::string tlsReason() {
  const char *reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason ? reason : "unknown reason";
}

/// Gives no passphrase, so that OpenSSL does not ask for one on a terminal.
static int noPassphrase(char *, int, int, void *) { return -1; }

static Status readCertificate(SSL_CTX *context, const std::string &file) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) == 1)
    return {};
  return failure("certificate '", file,
                 "': no certificate in PEM: ", tlsReason());
}

static Status readKey(SSL_CTX *context, const std::string &file,
                      const std::string &certificateFile) {
  ERR_clear_error();
  std::unique_ptr<FILE, FreeWith<fclose>> in(fopen(file.c_str(), "re"));
  if (!in)
    return failure("key '", file, "': ", std::strerror(errno));
  std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>> key(
      PEM_read_PrivateKey(in.get(), nullptr, noPassphrase, nullptr));
  if (!key)
    return failure(
        "key '", file,
        "': no private key in PEM without a passphrase: ", tlsReason());
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1)
    return failure("key '", file, "' does not belong to certificate '",
                   certificateFile, "'");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return failure("key '", file, "': ", tlsReason());
  return {};
}

static Status checkReadable(const char *what, const std::string &file) {
  noteInput(file);
  std::unique_ptr<FILE, FreeWith<fclose>> in(fopen(file.c_str(), "re"));
  if (!in || fgetc(in.get()) == EOF)
    return failure(what, " '", file, "': ",
                   !in || ferror(in.get()) ? std::strerror(errno)
                                           : "the file is empty");
  return {};
}

/// Selects HTTP/1.1 if the client offers protocols.
static int selectProtocol(SSL *, const unsigned char **out,
                          unsigned char *length, const unsigned char *offered,
                          unsigned offeredLength, void *) {
  static constexpr unsigned char http11[] = "\x08http/1.1";
  unsigned char *selected = nullptr;
  if (SSL_select_next_proto(&selected, length, http11, sizeof http11 - 1,
                            offered, offeredLength) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = selected;
  return SSL_TLSEXT_ERR_OK;
}

Expected<TlsContext> TlsContext::create(const std::string &certificateFile,
                                        const std::string &keyFile) {
  for (auto [what, file] :
       {std::pair("certificate", &certificateFile), std::pair("key", &keyFile)})
    SLUICE_RETURN_IF_ERROR(checkReadable(what, *file));
  TlsContext made;
  made.context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX *context = made.context.get();
  if (!context)
    return failure("TLS: ", tlsReason());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Idle streams hold no buffers; a retried write may have moved in memory.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
                                SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context, selectProtocol, nullptr);
  SLUICE_RETURN_IF_ERROR(readCertificate(context, certificateFile));
  SLUICE_RETURN_IF_ERROR(readKey(context, keyFile, certificateFile));
  return made;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

// We use a BIO of our own, because OpenSSL's BIO for sockets raises SIGPIPE.

int TlsStream::receive(BIO *bio, char *data, int size) {
  auto *stream = static_cast<TlsStream *>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (size <= 0)
    return 0;
  IoResult result = receiveSome(stream->socket, data, static_cast<size_t>(size),
                                stream->traffic);
  if (result.state == IoState::WantRead)
    BIO_set_retry_read(bio);
  if (result.state == IoState::Closed)
    return 0;
  return result.state == IoState::Done ? static_cast<int>(result.bytes) : -1;
}

int TlsStream::send(BIO *bio, const char *data, int size) {
  auto *stream = static_cast<TlsStream *>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (size <= 0)
    return 0;
  IoResult result = sendSome(stream->socket, data, static_cast<size_t>(size),
                             stream->traffic);
  if (result.state == IoState::WantWrite)
    BIO_set_retry_write(bio);
  return result.state == IoState::Done ? static_cast<int>(result.bytes) : -1;
}

long TlsStream::control(BIO *, int command, long, void *) {
  return command == BIO_CTRL_FLUSH ? 1 : 0; // there is nothing to flush
}

BIO_METHOD *TlsStream::socketMethod() {
  static BIO_METHOD *const method = [] {
    BIO_METHOD *made =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (made) {
      BIO_meth_set_read(made, receive);
      BIO_meth_set_write(made, send);
      BIO_meth_set_ctrl(made, control);
    }
    return made;
  }();
  return method;
}

std::unique_ptr<TlsStream> TlsStream::create(const TlsContext &context,
                                             int socket,
                                             ByteCounters &traffic) {
  std::unique_ptr<TlsStream> stream(new TlsStream(socket, traffic));
  stream->ssl.reset(SSL_new(context.get()));
  BIO *bio = socketMethod() ? BIO_new(socketMethod()) : nullptr;
  if (!bio || !stream->ssl) {
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, stream.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(stream->ssl.get(), bio, bio); // which owns the BIO from here on
  SSL_set_accept_state(stream->ssl.get());
  return stream;
}

/// Returns the state that a failed operation's `result` means.
IoState TlsStream::stateAfter(int result) {
  switch (SSL_get_error(ssl.get(), result)) {
  case SSL_ERROR_WANT_READ:
    return IoState::WantRead;
  case SSL_ERROR_WANT_WRITE:
    return IoState::WantWrite;
  case SSL_ERROR_ZERO_RETURN:
    return IoState::Closed;
  default:
    broken = true;
    return IoState::Failed;
  }
}

IoState TlsStream::handshake() {
  ERR_clear_error();
  int result = SSL_do_handshake(ssl.get());
  if (result == 1)
    return IoState::Done;
  IoState state = stateAfter(result);
  bool isHttp = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
  return state == IoState::Failed && isHttp ? IoState::PlainHttp : state;
}

IoResult TlsStream::read(char *data, size_t size) {
  ERR_clear_error();
  int result = SSL_read(ssl.get(), data,
                        static_cast<int>(std::min(size, size_t{INT_MAX})));
  if (result > 0)
    return {IoState::Done, static_cast<size_t>(result)};
  return {stateAfter(result)};
}

IoResult TlsStream::write(const char *data, size_t size) {
  ERR_clear_error();
  int result = SSL_write(ssl.get(), data,
                         static_cast<int>(std::min(size, size_t{INT_MAX})));
  if (result > 0)
    return {IoState::Done, static_cast<size_t>(result)};
  return {stateAfter(result)};
}

void TlsStream::end() {
  ERR_clear_error();
  if (!broken && SSL_is_init_finished(ssl.get()))
    SSL_shutdown(ssl.get()); // sends its part and does not wait for the peer's
  ERR_clear_error();
  shutdown(socket, SHUT_WR);
}
