//===- RequestText.h - a request as it is sent ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_REQUESTTEXT_H
#define SLUICE_RUNTIME_HTTP_CLIENT_REQUESTTEXT_H

#include "runtime/http/client/Client.h"

namespace sluice::http::client {

/// The bytes of `request`, to a server that is named `authority`. Errors: what
/// would be read as something else than what it is here, and fields that this
/// client sets itself.
Expected<std::string> requestText(const ClientRequest &request,
                                  const std::string &authority);

} // namespace sluice::http::client

#endif // SLUICE_RUNTIME_HTTP_CLIENT_REQUESTTEXT_H
