//===- StringFormats.cpp - formats of strings in JSON schemas -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Pattern.h"

using namespace sluice::grammar;

namespace {

// A label has at most 61 characters, and no two hyphens in a row. So four
// labels have at most the 253 characters that a name may have.
#define LABEL "[A-Za-z0-9](-?[A-Za-z0-9]){0,30}"
#define HOST LABEL "(\\." LABEL "){0,3}"
#define HEX "[0-9A-Fa-f]"
#define H16 HEX "{1,4}"
#define OCTET "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
// The days that each month has, in years from 1 on, with the 29th of February
// in leap years.
#define DATE                                                                   \
  "((\\d{3}[1-9]|\\d\\d[1-9]\\d|\\d[1-9]\\d\\d|[1-9]\\d{3})-"                  \
  "((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|"                                  \
  "(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))|"                  \
  "(\\d\\d(0[48]|[2468][048]|[13579][26])|"                                    \
  "(0[48]|[2468][048]|[13579][26])00)-02-29)"
#define TIME                                                                   \
  "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?"                           \
  "(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
#define N "\\d{1,9}"
#define CLOCK "T(" N "H(" N "M(" N "S)?)?|" N "M(" N "S)?|" N "S)"
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define PATH "([A-Za-z0-9._~!$&'()*+,;=:@-]|%" HEX HEX ")*"

struct Format {
  std::string_view name;
  std::string_view pattern;
};

constexpr Format formats[] = {
    {"date", "^" DATE "$"},
    {"time", "^" TIME "$"},
    {"date-time", "^" DATE "T" TIME "$"},
    {"duration", "^P((" N "D|" N "M(" N "D)?|" N "Y(" N "M(" N "D)?)?)(" CLOCK
                 ")?|" CLOCK "|" N "W)$"},
    {"email", "^" ATOM "(\\." ATOM ")*@" HOST "$"},
    {"hostname", "^" HOST "$"},
    {"ipv4", "^" OCTET "(\\." OCTET "){3}$"},
    {"ipv6", "^((" H16 ":){7}" H16 "|(" H16 ":){1,7}:|(" H16 ":){1,6}:" H16
             "|(" H16 ":){1,5}(:" H16 "){1,2}|(" H16 ":){1,4}(:" H16
             "){1,3}|(" H16 ":){1,3}(:" H16 "){1,4}|(" H16 ":){1,2}(:" H16
             "){1,5}|" H16 ":(:" H16 "){1,6}|:((:" H16 "){1,7}|:))$"},
    {"uuid", "^" HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}$"},
    {"uri", "^[A-Za-z][A-Za-z0-9+.-]*://" HOST "(:\\d{1,5})?(/" PATH
            ")*(\\?" PATH ")?(#" PATH ")?$"},
};

#undef LABEL
#undef HOST
#undef HEX
#undef H16
#undef OCTET
#undef DATE
#undef TIME
#undef N
#undef CLOCK
#undef ATOM
#undef PATH

} // namespace

std::optional<std::string_view>
sluice::grammar::formatPattern(std::string_view format) {
  for (const Format &it : formats)
    if (it.name == format)
      return it.pattern;
  return std::nullopt;
}
