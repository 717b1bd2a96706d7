#include "msaccucmp/write/detail_files.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/file_replacement.h"
#include "base/text/text.h"
#include "format/tables/mapping_csv.h"
#include "msaccucmp/paths.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kResultMode = 0600;
constexpr std::size_t kMaxName = 255;
constexpr std::uint64_t kMaxMapping = 1 << 28;
constexpr std::string_view kMapping = "simple_op_mapping.csv";

Result<Fd> open_for(const std::string& path, int flags) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, kResultMode));
  if (!fd) return io_error(path, "create");
  return fd;
}

}  // namespace

DetailFiles::DetailFiles(std::string folder, std::string op, bool is_input, std::size_t index)
    : folder_(std::move(folder)), index_text_((is_input ? "_input_" : "_output_") + std::to_string(index)) {
  std::ranges::replace(op, '/', '_');
  prefix_ = op + index_text_;
}

Result<std::string> DetailFiles::name_for(const std::string& suffix) {
  const std::string wanted = prefix_ + suffix;
  if (wanted.size() < kMaxName) return wanted;
  std::string name = dump_file_;
  std::ranges::replace(name, '/', '_');
  std::ranges::replace(name, '.', '_');
  name += index_text_ + suffix;
  const bool is_part = suffix.size() > 1 && suffix[1] >= '0' && suffix[1] <= '9';  // "_1000000.csv"
  if (name.size() >= kMaxName) name = uuid3(wanted) + (is_part ? ".csv" : suffix);
  std::string line;
  format::append_mapping_line(line, name, wanted);
  OPDUMP_TRY(Fd fd, open_for(folder_ + "/" + std::string(kMapping), O_APPEND));
  OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(line)), folder_));
  return name;
}

Result<Fd> DetailFiles::create(const std::string& suffix) {
  OPDUMP_TRY(const std::string name, name_for(suffix));
  return create_named(name);
}

Result<Fd> DetailFiles::create_named(const std::string& name) {
  std::error_code error;
  fs::remove(folder_ + "/" + name, error);
  return open_for(folder_ + "/" + name, O_TRUNC);
}

Result<> DetailFiles::write(const std::string& suffix, const std::string& text) {
  OPDUMP_TRY(const Fd fd, create(suffix));
  return write_all(fd, std::as_bytes(std::span(text)), folder_ + "/" + prefix_ + suffix);
}

void DetailFiles::remove_old() const {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error))
    if (is_ours(it->path().filename().string())) old.push_back(it->path());
  const fs::path mapping = fs::path(folder_) / kMapping;
  const auto text = read_file(mapping, kMaxMapping);
  const std::string lines = text ? *text : "";
  std::string kept;
  auto originals = format::decode_mapping_csv(lines).originals;
  for (const std::string_view line : split(lines, '\n')) {
    const auto entry = originals.extract(std::string(line.substr(0, line.find(','))));
    if (entry.empty()) continue;
    if (is_ours(entry.mapped()))
      old.push_back(fs::path(folder_) / entry.key());
    else
      format::append_mapping_line(kept, entry.key(), entry.mapped());
  }
  for (const fs::path& path : old) fs::remove(path, error);
  if (!text) return;
  fs::remove(mapping, error);
  if (!kept.empty()) static_cast<void>(write_file_atomic(mapping, kept, kResultMode));
}

bool DetailFiles::is_ours(const std::string& name) const {
  return name == prefix_ + "_summary.txt" ||
         (name.starts_with(prefix_ + "_") && (name.ends_with(".csv") || name.ends_with(".npy")));
}

}  // namespace opdump::msaccucmp
