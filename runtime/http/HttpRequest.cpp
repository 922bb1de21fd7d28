//===- HttpRequest.cpp - a parsed HTTP request ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/HttpRequest.h"

#include "runtime/http/Syntax.h"

using namespace sluice::http;

const std::string *Request::field(std::string_view name) const {
  for (const auto &[own, value] : fields)
    if (server::equalsIgnoringCase(own, name))
      return &value;
  return nullptr;
}

const std::string *Request::parameter(std::string_view name) const {
  for (const auto &[own, value] : query)
    if (own == name)
      return &value;
  return nullptr;
}
