//===- PageFiles.h - the web page that the executable carries -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_PAGEFILES_H
#define SLUICE_RUNTIME_SERVE_PAGEFILES_H

#include <span>
#include <string_view>

namespace sluice::serve {

/// A file of runtime/serve/page. EmbedPage.cmake generates the table of them.
struct PageFile {
  std::string_view path; ///< the path of its URL: "/", "/page.js"
  std::string_view contentType;
  std::string_view content;
};

std::span<const PageFile> pageFiles();

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_PAGEFILES_H
