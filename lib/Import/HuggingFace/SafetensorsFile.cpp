//===- SafetensorsFile.cpp - reader of safetensors files ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/HuggingFace/SafetensorsFile.h"

#include "sluice/Import/Support/JSON.h"
#include "sluice/Import/Support/Quote.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace sluice;
using namespace sluice::hf;
using nlohmann::json;

namespace {

constexpr uint64_t headerLimit = 100'000'000;

/// An element type of the file format, with its size and Sluice's format if
/// there is one.
struct ElementType {
  std::string_view name;
  uint64_t bytes;
  std::optional<Format> format;
};

constexpr ElementType elementTypes[] = {
    {"F32", 4, Format::F32},      {"F16", 2, Format::F16},
    {"BF16", 2, Format::BF16},    {"F64", 8, std::nullopt},
    {"I64", 8, std::nullopt},     {"I32", 4, std::nullopt},
    {"I16", 2, std::nullopt},     {"I8", 1, std::nullopt},
    {"U64", 8, std::nullopt},     {"U32", 4, std::nullopt},
    {"U16", 2, std::nullopt},     {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt},    {"F8_E4M3", 1, Format::E4M3},
    {"F8_E5M2", 1, std::nullopt}, {"F8_E8M0", 1, std::nullopt},
    {"C64", 8, std::nullopt},
};

const ElementType *findElementType(std::string_view name) {
  for (const ElementType &type : elementTypes)
    if (type.name == name)
      return &type;
  return nullptr;
}

/// Returns the number if it is an integer from 0 to the largest int64_t.
std::optional<uint64_t> natural(const json &value) {
  if (!value.is_number_unsigned())
    return std::nullopt;
  auto number = value.get<uint64_t>();
  if (number > uint64_t(std::numeric_limits<int64_t>::max()))
    return std::nullopt;
  return number;
}

Status parseShape(const json &entry, SafetensorsTensor &tensor,
                  uint64_t &elements) {
  auto shape = entry.find("shape");
  if (shape == entry.end() || !shape->is_array())
    return failure("no array 'shape'");
  elements = 1;
  for (const json &value : *shape) {
    std::optional<uint64_t> dim = natural(value);
    if (!dim)
      return failure("'shape' holds something else than sizes");
    if (__builtin_mul_overflow(elements, *dim, &elements) ||
        elements > uint64_t(std::numeric_limits<int64_t>::max()))
      return failure("its shape overflows");
    tensor.shape.push_back(static_cast<int64_t>(*dim));
  }
  return {};
}

Status parseOffsets(const json &entry, SafetensorsTensor &tensor,
                    uint64_t available) {
  auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2)
    return failure("no pair 'data_offsets'");
  std::optional<uint64_t> begin = natural((*offsets)[0]);
  std::optional<uint64_t> end = natural((*offsets)[1]);
  if (!begin || !end || *begin > *end)
    return failure("'data_offsets' is not a range");
  if (*end > available)
    return failure("its bytes ", *begin, " to ", *end, " reach past the ",
                   available, " bytes of data in the file");
  tensor.offset = *begin;
  tensor.bytes = *end - *begin;
  return {};
}

/// Parses a tensor's entry. Offsets in the file count from the start of the
/// data.
Status parseTensor(const json &entry, SafetensorsTensor &tensor,
                   uint64_t available) {
  if (!entry.is_object())
    return failure("not a JSON object");
  for (const auto &item : entry.items())
    if (item.key() != "dtype" && item.key() != "shape" &&
        item.key() != "data_offsets")
      return failure("unknown key ", quote(item.key()));
  auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string())
    return failure("no string 'dtype'");
  tensor.dtype = dtype->get_ref<const std::string &>();

  uint64_t elements = 0;
  SLUICE_RETURN_IF_ERROR(parseShape(entry, tensor, elements));
  SLUICE_RETURN_IF_ERROR(parseOffsets(entry, tensor, available));
  // An unknown type is refused only when a model uses the tensor.
  const ElementType *type = findElementType(tensor.dtype);
  if (!type)
    return {};
  tensor.format = type->format;
  uint64_t wanted = 0;
  if (__builtin_mul_overflow(elements, type->bytes, &wanted))
    return failure("its size overflows");
  if (wanted != tensor.bytes)
    return failure("its shape needs ", wanted, " bytes, 'data_offsets' gives ",
                   tensor.bytes);
  return {};
}

/// Checks that the tensors, sorted by offset, cover the data exactly.
Status checkCoverage(const std::vector<SafetensorsTensor> &tensors,
                     uint64_t available) {
  uint64_t end = 0;
  for (const SafetensorsTensor &tensor : tensors) {
    if (tensor.offset < end)
      return failure("tensor ", quote(tensor.name),
                     ": overlaps the tensor before it");
    if (tensor.offset > end)
      return failure("tensor ", quote(tensor.name), ": a hole of ",
                     tensor.offset - end, " bytes before it");
    end = tensor.offset + tensor.bytes;
  }
  if (end != available)
    return failure("data: ", available - end,
                   " bytes at the end belong to no tensor");
  return {};
}

Status parseHeader(const json &header, std::vector<SafetensorsTensor> &tensors,
                   uint64_t available) {
  if (!header.is_object())
    return failure("header: not a JSON object");
  for (const auto &item : header.items()) {
    if (item.key() == "__metadata__") {
      if (!item.value().is_object())
        return failure("header: '__metadata__' is not a JSON object");
      continue;
    }
    SafetensorsTensor tensor;
    tensor.name = item.key();
    if (Status s = parseTensor(item.value(), tensor, available); !s.ok())
      return s.withContext("tensor " + quote(tensor.name));
    tensors.push_back(std::move(tensor));
  }
  // An empty tensor comes before a tensor that begins at the same offset.
  std::ranges::sort(tensors, [](const auto &a, const auto &b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  return checkCoverage(tensors, available);
}

} // namespace

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Expected<MappedFile> mapped = MappedFile::open(path);
  if (!mapped)
    return mapped.status();
  Expected<SafetensorsFile> file = parse(path, mapped->bytes());
  if (file)
    file->mapping = mapped.take();
  return file;
}

Expected<SafetensorsFile>
SafetensorsFile::parse(std::string name, std::span<const uint8_t> bytes) {
  if (bytes.size() < 8)
    return failure(name, ": header: the file ends at byte ", bytes.size());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  if (length > headerLimit)
    return failure(name, ": header: ", length,
                   " bytes long (at most 100000000 are allowed)");
  if (length > bytes.size() - 8)
    return failure(name, ": header: ", length,
                   " bytes long, but the file ends at byte ", bytes.size());
  uint64_t start = 8 + length;
  Expected<json> header =
      parseJSON({reinterpret_cast<const char *>(bytes.data() + 8), length});
  if (!header)
    return header.status().withContext(name + ": header");

  SafetensorsFile file;
  file.name = std::move(name);
  file.content = bytes;
  if (Status s = parseHeader(*header, file.infos, bytes.size() - start);
      !s.ok())
    return s.withContext(file.name);
  for (SafetensorsTensor &tensor : file.infos)
    tensor.offset += start;
  return file;
}
