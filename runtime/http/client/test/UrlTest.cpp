//===- UrlTest.cpp - http:// and https:// URLs ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/Url.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::http;

namespace {

struct Case {
  const char *text;
  bool tls;
  const char *host;
  uint16_t port;
  const char *target;
  const char *authority;
};

TEST(UrlTest, TakesApart) {
  const Case cases[] = {
      {"http://127.0.0.1:8081", false, "127.0.0.1", 8081, "/",
       "127.0.0.1:8081"},
      {"https://Example.COM", true, "example.com", 443, "/", "example.com"},
      {"HTTP://a-b_c.d/v1?x=1", false, "a-b_c.d", 80, "/v1?x=1", "a-b_c.d"},
      {"https://h:80/", true, "h", 80, "/", "h:80"},
      {"http://h:80/a/b", false, "h", 80, "/a/b", "h"},
      {"http://[::1]:99/x", false, "::1", 99, "/x", "[::1]:99"},
      {"http://[2001:DB8::1]", false, "2001:db8::1", 80, "/", "[2001:db8::1]"},
      {"http://h?q", false, "h", 80, "/?q", "h"},
  };
  for (const Case &each : cases) {
    Expected<Url> url = parseUrl(each.text);
    ASSERT_TRUE(url) << url.status().message();
    EXPECT_EQ(url->tls, each.tls) << each.text;
    EXPECT_EQ(url->host, each.host);
    EXPECT_EQ(url->port, each.port);
    EXPECT_EQ(url->target, each.target);
    EXPECT_EQ(url->authority(), each.authority);
  }
}

TEST(UrlTest, Refuses) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "must begin with http:// or https://"},
      {"127.0.0.1:8081", "must begin with http:// or https://"},
      {"ftp://host", "must begin with http:// or https://"},
      {"://host", "must begin with http:// or https://"},
      {"http:/host", "must begin with http:// or https://"},
      {"http://", "the host is missing"},
      {"http://:80", "the host is missing"},
      {"http:///path", "the host is missing"},
      {"http://host:", "the port '' is not a number"},
      {"http://host:0", "the port '0' is not a number"},
      {"http://host:65536", "the port '65536' is not a number"},
      {"http://host:80x", "the port '80x' is not a number"},
      {"http://host:-1", "the port '-1' is not a number"},
      {"http://user@host", "user names and passwords"},
      {"http://ho st/", "' ' in the host"},
      {"http://h\xC3\xB6st/", "in the host"},
      {"http://[::1", "']' is missing"},
      {"http://[::g]/", "'::g' is not an IPv6 address"},
      {"http://[::1]80/", "'80' after the IPv6 address"},
      {"http://host/a b", "a blank, control or non-ASCII character"},
      {"http://host/a\r\nX: y", "a blank, control or non-ASCII character"},
      {"http://host/#top", "a fragment"},
      {"http://" + std::string(254, 'a'), "more than 253 characters"},
      {"http://h/" + std::string(8192, 'a'), "more than 8192 bytes"},
  };
  for (const auto &[text, why] : cases) {
    Expected<Url> url = parseUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.status().message().find(why), std::string::npos)
        << url.status().message();
  }
}

TEST(UrlTest, ErrorsAreOneLine) {
  EXPECT_EQ(parseUrl("ftp://x\ny").status().message(),
            "'ftp://x?y' is not a usable URL: it must begin with http:// or "
            "https://");
}

} // namespace
