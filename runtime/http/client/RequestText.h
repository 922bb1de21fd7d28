//===- RequestText.h - the bytes of an HTTP request -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_REQUESTTEXT_H
#define SLUICE_RUNTIME_HTTP_CLIENT_REQUESTTEXT_H

#include "runtime/http/client/Client.h"

namespace sluice::http::client {

/// Returns the bytes of `request` to the server `authority`. Fails if a part
/// could be read as something else, or if a field is one that the client sets
/// itself.
Expected<std::string> requestText(const ClientRequest &request,
                                  const std::string &authority);

} // namespace sluice::http::client

#endif // SLUICE_RUNTIME_HTTP_CLIENT_REQUESTTEXT_H
