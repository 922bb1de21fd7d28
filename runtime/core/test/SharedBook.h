//===- SharedBook.h - pinned shared pages in tests ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_SHAREDBOOK_H
#define SLUICE_RUNTIME_CORE_TEST_SHAREDBOOK_H

#include "runtime/core/CachePages.h"
#include "runtime/core/Rows.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice::test {

/// The pinned pages as the head knows them, in the order of its frames.
class SharedBook {
public:
  explicit SharedBook(int64_t pages) : paths(static_cast<size_t>(pages)) {}

  /// Returns a free number; nothing if all are in use.
  std::optional<SharedPage> unused() const {
    for (SharedPage page = 0; page < std::ssize(paths); ++page)
      if (paths[static_cast<size_t>(page)].empty())
        return page;
    return std::nullopt;
  }
  std::vector<SharedPage> pinned() const {
    std::vector<SharedPage> pages;
    for (SharedPage page = 0; page < std::ssize(paths); ++page)
      if (!paths[static_cast<size_t>(page)].empty())
        pages.push_back(page);
    return pages;
  }
  void pin(SharedPage page, std::vector<int32_t> path) {
    paths[static_cast<size_t>(page)] = std::move(path);
  }
  void unpin(SharedPage page) { paths[static_cast<size_t>(page)].clear(); }

  /// Lets the request begin with the page's path, below `tokens` tokens and as
  /// far as all its pages are pinned.
  void begin(SharedPage last, int64_t tokens, OpenRequest &open) const {
    const std::vector<int32_t> &path = paths[static_cast<size_t>(last)];
    size_t end = CachePages::pageTokens;
    for (; end <= path.size() && static_cast<int64_t>(end) < tokens;
         end += CachePages::pageTokens) {
      auto has = [&](SharedPage page) {
        const std::vector<int32_t> &other = paths[static_cast<size_t>(page)];
        return std::ranges::equal(other, std::span(path).first(end));
      };
      std::vector<SharedPage> pages = pinned();
      auto found = std::ranges::find_if(pages, has);
      if (found == pages.end())
        break;
      open.prefixPages.push_back(*found);
      open.prefix.assign(path.begin(),
                         path.begin() + static_cast<int64_t>(end));
    }
  }

private:
  /// [page]: the tokens up to the page's last; empty if not pinned.
  std::vector<std::vector<int32_t>> paths;
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_SHAREDBOOK_H
