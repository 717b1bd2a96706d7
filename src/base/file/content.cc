#include "base/file/content.h"

#include <algorithm>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace opdump {
namespace {

using namespace std::literals;

struct Magic {
  std::string_view bytes, what;
};
constexpr Magic kMagics[] = {
    {"IMOD", "an offline model of CANN (.om)"},
    {"\x93NUMPY", "a NumPy array (.npy)"},
    {"\x89HDF\r\n\x1a\n", "an HDF5 file (.h5)"},
    {"PK\x03\x04", "a ZIP archive, as .npz files and those of torch.save are"},
    {"\x1f\x8b", "a gzip archive"},
    {"BZh", "a bzip2 archive"},
    {"\xfd"
     "7zXZ",
     "an xz archive"},
    {"\x28\xb5\x2f\xfd", "a zstd archive"},
    {"\x7f"
     "ELF",
     "a program or library (ELF)"},
    {"SQLite format 3", "an SQLite database"},
    {"%PDF", "a PDF document"},
    {"\x89PNG", "a PNG picture"},
    {"\xff\xd8\xff", "a JPEG picture"},
    {"\xff\xfe", "text in UTF-16; UTF-8 is expected"},
    {"\xfe\xff", "text in UTF-16; UTF-8 is expected"},
    {"<?xml", "XML"},
    {"<!DOCTYPE", "a page in HTML"},
    {"<html", "a page in HTML"},
};

char at(std::string_view bytes, std::size_t index) { return index < bytes.size() ? bytes[index] : '\0'; }

// The number of a protocol, and then an opcode that pickles begin with.
bool is_pickle(std::string_view bytes) {
  if (at(bytes, 0) != '\x80') return false;
  const char protocol = at(bytes, 1), opcode = at(bytes, 2);
  if (protocol == 4 || protocol == 5) return opcode == '\x95';
  return (protocol == 2 || protocol == 3) && "}](cXK)q\x8a"sv.find(opcode) != std::string_view::npos;
}

// ModelProto begins with its version, and then with the producer, the domain or the graph.
bool is_onnx_model(std::string_view bytes) {
  const char version = at(bytes, 1);
  return at(bytes, 0) == '\x08' && version > 0 && version < 32 &&
         "\x12\x1a\x22\x3a"sv.find(at(bytes, 2)) != std::string_view::npos && bytes.size() > 8;
}

// In UTF-8, without control characters. What ends within a character was cut off there.
bool is_text(std::string_view bytes) {
  constexpr std::size_t kLongest = 4;
  if (bytes.empty()) return false;
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    if (character.is_damaged) return bytes.size() < kLongest;
    const bool is_blank = "\n\r\t\f"sv.find(bytes[0]) != std::string_view::npos;
    if ((character.point < ' ' && !is_blank) || (character.point >= 127 && character.point < 160))
      return false;
    bytes.remove_prefix(character.size);
  }
  return true;
}

// The first line has columns, and nothing that JSON or a sentence would have there.
bool is_csv(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const bool is_name =
      !line.empty() && ((line[0] >= 'A' && line[0] <= 'Z') || (line[0] >= 'a' && line[0] <= 'z'));
  return is_name && is_text(bytes) && line.find(',') != std::string_view::npos &&
         line.find(", ") == std::string_view::npos && line.find_first_of("{}[]:\"") == std::string_view::npos;
}

}  // namespace

std::string_view recognise_content(std::string_view bytes) {
  bytes = bytes.substr(0, kContentBytes);
  if (bytes.empty()) return "empty";
  for (const auto& [magic, what] : kMagics)
    if (bytes.starts_with(magic)) return what;
  if (std::ranges::all_of(bytes, [](char c) { return c == '\0'; })) return "nothing but zeros";
  if (is_pickle(bytes)) return "a pickle of Python, which opdump does not run";
  if (is_onnx_model(bytes)) return "an ONNX model (.onnx)";
  if (is_csv(bytes)) return "a table as text (CSV)";
  return {};
}

std::string describe_content(std::span<const std::byte> first_bytes) {
  const auto first = first_bytes.first(std::min(first_bytes.size(), kContentBytes));
  const std::string_view bytes(reinterpret_cast<const char*>(first.data()), first.size());
  std::string_view what = recognise_content(bytes);
  if (what.empty() && is_text(bytes)) what = trim(bytes).starts_with('{') ? "JSON" : "text";
  return what.empty() ? std::string() : "it is " + std::string(what);
}

std::string with_content(std::string message, std::span<const std::byte> first_bytes) {
  if (const std::string content = describe_content(first_bytes); !content.empty())
    message.append("; ").append(content);
  return message;
}

}  // namespace opdump
