#include "dump/read/files/file_kind.h"

#include <unistd.h>

#include <array>

#include "base/file/file.h"
#include "base/text/text.h"
#include "dump/tensor_names.h"
#include "format/tables/debug_mode.h"
#include "format/tables/fingerprints.h"
#include "format/tensors/h5.h"
#include "format/tensors/npz.h"
#include "format/tensors/polygraphy.h"
#include "format/tensors/safetensors.h"
#include "format/tensors/torch/torch_read.h"

namespace opdump::dump {
namespace {

constexpr std::string_view kCsv = ".csv";
constexpr std::string_view kNpyMagic = "\x93NUMPY";

using StartOfFile = std::array<std::byte, format::kTorchStartBytes>;

std::span<const std::byte> read_start(const std::filesystem::path& path, StartOfFile& buffer) {
  const auto file = open_input(path);
  const ssize_t count = file ? ::read(file->fd.get(), buffer.data(), buffer.size()) : 0;
  return std::span(buffer).first(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string_view without_csv(std::string_view name) {
  if (name.ends_with(kCsv)) name.remove_suffix(kCsv.size());
  return name;
}

std::optional<std::int64_t> find_iteration(std::string_view name) {
  constexpr std::size_t kDigits = 10;
  constexpr std::string_view kJson = ".json";
  if (name.size() != kDigits + kJson.size() || !name.ends_with(kJson)) return std::nullopt;
  return parse_int64(name.substr(0, kDigits));
}

bool is_overflow_record(const CallName& name) {
  return to_lower(name.type) == to_lower(kOpDebugType) && to_lower(name.name) == to_lower(kOpDebugName);
}

std::optional<CallName> find_call_name(std::string_view text) {
  const bool is_json = text.ends_with(kOpDebugJsonEnd);
  if (is_json) text.remove_suffix(kOpDebugJsonEnd.size());
  auto name = parse_call_name(text);
  if (name && is_json && !is_overflow_record(*name)) name.reset();
  return name;
}

FileKind find_kind(std::string_view name) {
  if (name.ends_with(kNpyExtension)) return FileKind::npy;
  if (name.ends_with(".npz")) return FileKind::npz;
  if (name.ends_with(".safetensors")) return FileKind::safetensors;
  if (name.ends_with(".h5") || name.ends_with(".hdf5")) return FileKind::h5;
  if (name.ends_with(".pt") || name.ends_with(".pth")) return FileKind::torch;
  if (name == kMsprobeDump || name == kMsprobeDebug) return FileKind::msprobe;
  if (find_iteration(name)) return FileKind::polygraphy;
  if (name == format::kFingerprintsName) return FileKind::fingerprints;
  if (parse_test_data_name(name)) return FileKind::onnx;
  if (name.ends_with(kCsv))
    return parse_call_name(without_csv(name)) ? FileKind::op_statistics : FileKind::none;
  if (parse_legacy_name(name)) return FileKind::legacy;
  return find_call_name(name) ? FileKind::call : FileKind::none;
}

bool is_debug_mode_file(const std::filesystem::path& path) {
  StartOfFile buffer{};
  return path.native().ends_with(".json") && format::is_debug_mode(text_of(read_start(path, buffer)));
}

FileKind sniff_kind(const std::filesystem::path& path, std::string_view name) {
  StartOfFile buffer{};
  const auto start = read_start(path, buffer);
  const std::string_view text = text_of(start);
  if (text.starts_with(kNpyMagic)) return FileKind::npy;
  if (text.starts_with(format::kFingerprintsMagic)) return FileKind::fingerprints;
  if (format::is_torch_file(start)) return FileKind::torch;
  if (format::is_npz(start)) return FileKind::npz;
  if (format::is_h5(start)) return FileKind::h5;
  if (format::is_polygraphy(text)) return FileKind::polygraphy;
  if (format::is_debug_mode(text)) return FileKind::debug_mode;
  if (format::is_safetensors(start)) return FileKind::safetensors;
  const FileKind by_name = find_kind(name);
  if (by_name != FileKind::none) return by_name;
  if (name.ends_with(".pb")) return FileKind::onnx;
  if (text.starts_with("Input/Output,")) return FileKind::op_statistics;
  return FileKind::call;
}

}  // namespace opdump::dump
