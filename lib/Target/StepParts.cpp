//===- StepParts.cpp - a step's lines by layers ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace sluice;

std::string sluice::nameLayers(ArrayRef<int64_t> layers) {
  SmallVector<std::string> ranges;
  for (size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
    for (end = begin + 1;
         end < layers.size() && layers[end] == layers[end - 1] + 1;)
      ++end;
    std::string range = std::to_string(layers[begin]);
    if (end > begin + 1)
      range += "-" + std::to_string(layers[end - 1]);
    ranges.push_back(std::move(range));
  }
  return (layers.size() == 1 ? "layer " : "layers ") + llvm::join(ranges, ", ");
}

std::string sluice::shortWeightName(StringRef name,
                                    std::optional<int64_t> layer) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  if (parts.size() > 1 && parts.back() == "weight")
    parts.pop_back();
  std::string number = layer ? std::to_string(*layer) : "";
  auto found = llvm::find(parts, number);
  if (found != parts.end() && std::next(found) != parts.end())
    parts.erase(parts.begin(), std::next(found));
  return llvm::join(parts, ".");
}

void ProgramTables::add(std::string program, std::string tables) {
  auto same =
      llvm::find_if(all, [&](auto &each) { return each.second == tables; });
  if (same == all.end())
    all.emplace_back(std::move(program), std::move(tables));
  else
    same->first += ", " + program;
}

std::string ProgramTables::print(StringRef before, StringRef behind) const {
  std::string text;
  for (const auto &[programs, tables] : all)
    text += ("\n" + before + programs + behind + "\n" + tables).str();
  return text;
}
