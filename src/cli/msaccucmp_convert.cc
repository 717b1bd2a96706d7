// `opdump msaccucmp convert`: the files of a dump as .npy or raw elements, named and talked about as by the
// original (cann.md 4.10).
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "cli/msaccucmp.h"
#include "cli/msaccucmp_tensor.h"
#include "format/dump_data.h"
#include "format/mapping_csv.h"
#include "format/npy.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;
using format::DumpData;
using format::DumpTensor;

constexpr std::uint64_t kHeaderBytes = 8;
constexpr std::string_view kFailedList = "convert_failed_file_list.txt";

std::string in_quotes(const std::string& path) { return "\"'" + path + "'\""; }

Status fail(Status status, const std::string& message) {
  log_line(Severity::error, message);
  return status;
}

std::string joined(const model::Shape& shape, char separator) {
  std::string text;
  for (std::size_t i = 0; i < shape.rank(); ++i)
    text += (i > 0 ? std::string(1, separator) : "") + std::to_string(shape[i]);
  return text;
}

// Converts one dump file.
class FileConverter {
 public:
  FileConverter(const ConvertOptions& options, fs::path path)
      : options_(options), path_(std::move(path)), shown_(path_.string()) {}

  Status convert() {
    auto mapped = MappedFile::open(path_);
    if (!mapped) return fail(Status::invalid_dump, "Failed to parse dump file \"" + shown_ + "\".");
    file_ = mapped->bytes();
    DumpData data;
    if (file_.empty() || file_.size() > kHeaderBytes) {
      if (const Status status = read(data); status != Status::ok) return status;
    } else {
      log_line(Severity::error, "The size of '" + shown_ + "' must be greater than 8, but the file size is " +
                                    std::to_string(file_.size()) + ". Please check the dump file.");
    }
    return options_.format ? change_formats(data) : parse_all(data);
  }

  // "path,output:0" lines of what could not be converted.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  Status not_parsed(Status status) const {
    return fail(status, "Failed to parse dump file \"" + shown_ + "\".");
  }

  Status read(DumpData& data) const {
    if (file_.empty()) {
      log_line(Severity::error, "Failed to parse dump file '" + shown_ +
                                    "'. The file size is zero. Please check the dump file.");
      return not_parsed(Status::invalid_dump);
    }
    auto decoded = format::decode_dump_data(file_);
    if (!decoded) {
      log_line(Severity::error, "Failed to parse dump file '" + shown_ + "'. " + decoded.error().message());
      return not_parsed(Status::invalid_dump);
    }
    if (decoded->announced_bytes > decoded->payload_bytes) {
      log_line(Severity::error, "The size of " + shown_ + " is invalid, please check the dump file.");
      return not_parsed(Status::invalid_dump);
    }
    data = std::move(*decoded);
    return check_dtypes(data);
  }

  Status check_dtypes(const DumpData& data) const {
    for (const auto& [tensors, side] : {std::pair(&data.inputs, "input"), std::pair(&data.outputs, "output")})
      for (const DumpTensor& tensor : *tensors) {
        const auto array = format::read_dump_array(tensor);
        if (array || tensor.data_type == 0 || array.error().code() != Code::unsupported) continue;
        log_line(Severity::error, "The " + std::string(side) + " data type (" +
                                      std::to_string(tensor.data_type) + ") does not support.");
        return not_parsed(Status::invalid_dtype);
      }
    return Status::ok;
  }

  Status parse_all(const DumpData& data) {
    Status status = Status::ok;
    for (const auto& [tensors, side] :
         {std::pair(&data.inputs, "input"), std::pair(&data.outputs, "output")}) {
      if (tensors->empty())
        log_line(Severity::warning, "There is no " + std::string(side) + " in " + in_quotes(shown_) + ".");
      for (std::size_t i = 0; i < tensors->size(); ++i)
        status = std::max(status, parse_tensor((*tensors)[i], side, i));
    }
    parse_blocks(data.buffers, "buffer", in_quotes(shown_));
    parse_blocks(data.spaces, "space", "\"" + shown_ + "\"");
    return status;
  }

  Status parse_tensor(const DumpTensor& tensor, const std::string& side, std::size_t index) {
    const std::string name = side + ":" + std::to_string(index);
    log_line(Severity::info, "Start to parse the data of " + name + " in " + in_quotes(shown_) + ".");
    auto array = read_array(file_, tensor);
    if (!array) return fail(Status::invalid_dump, array.error().message());
    const std::string format(model::format_name(static_cast<model::Format>(tensor.format)));
    const std::string count = std::to_string(*model::element_count(array->shape));
    std::string suffix = ".npy";
    if (options_.type == FileType::msnpy) suffix = "." + format + ".npy";
    if (options_.type == FileType::bin)
      suffix = "." + count + "." + dtype_name(*array) + "." + format + ".bin";
    return save(*array, side, index, suffix, "parsed into");
  }

  static std::string dtype_name(const Array& array) {
    return std::string(model::dtype_info(array.dtype).name);
  }

  void parse_blocks(const std::vector<format::DumpBlock>& blocks, const std::string& kind,
                    const std::string& shown) {
    if (blocks.empty()) log_line(Severity::warning, "There is no " + kind + " data in " + shown + ".");
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (!blocks[i].data) continue;
      const std::string name = kind + ":" + std::to_string(i);
      log_line(Severity::info, "Start to parse the data of " + name + " in " + in_quotes(shown_) + ".");
      const auto bytes = file_.subspan(blocks[i].data->offset, blocks[i].data->bytes);
      write(output_path(kind, i, ".bin"), "", bytes, name, "parsed into");
    }
  }

  Status change_formats(const DumpData& data) {
    log_line(Severity::info, "Start to transfer format for the dump file " + in_quotes(shown_) + ".");
    if (options_.only) {
      const auto& tensors = options_.only->is_input ? data.inputs : data.outputs;
      if (options_.only->index >= tensors.size())
        return fail(Status::out_of_bounds, "Failed to convert format for " + shown_ + "\".");
    }
    Status status = Status::ok;
    for (const auto& [tensors, side] : {std::pair(&data.inputs, "input"), std::pair(&data.outputs, "output")})
      for (std::size_t i = 0; i < tensors->size(); ++i)
        if (is_wanted(side, i)) status = std::max(status, change_tensor((*tensors)[i], side, i));
    return status;
  }

  bool is_wanted(std::string_view side, std::size_t index) const {
    return !options_.only || (options_.only->is_input == (side == "input") && options_.only->index == index);
  }

  Status change_tensor(const DumpTensor& tensor, const std::string& side, std::size_t index) {
    const std::string name = side + ":" + std::to_string(index);
    auto array = read_array(file_, tensor);
    if (!array) return fail(Status::invalid_dump, array.error().message());
    auto changed = change_format(std::move(*array), tensor, options_, name, shown_);
    if (!changed) {
      failures_.push_back(shown_ + "," + name);
      return fail(Status::invalid_format,
                  "Failed to convert format for " + name + " of " + in_quotes(shown_));
    }
    const std::string format(model::format_name(*options_.format));
    std::string suffix = "." + joined(changed->shape, 'x') + ".npy";
    if (options_.type == FileType::msnpy) suffix = "." + format + ".npy";
    if (options_.type == FileType::bin)
      suffix = "." + joined(changed->shape, '_') + "." + dtype_name(*changed) + "." + format + ".bin";
    return save(*changed, side, index, suffix, "saved to");
  }

  fs::path output_path(const std::string& side, std::size_t index, const std::string& suffix) const {
    return fs::absolute(fs::path(options_.output) /
                        (path_.filename().string() + "." + side + "." + std::to_string(index) + suffix))
        .lexically_normal();
  }

  Status save(const Array& array, const std::string& side, std::size_t index, const std::string& suffix,
              std::string_view verb) {
    std::string header;
    if (options_.type != FileType::bin) {
      auto encoded = format::encode_npy_header(array.dtype, array.shape, format::NpySpelling::numpy);
      if (!encoded) return fail(Status::invalid_dtype, encoded.error().message());
      header = std::move(*encoded);
    }
    return write(output_path(side, index, suffix), header, array.data, side + ":" + std::to_string(index),
                 verb);
  }

  static Status write(const fs::path& path, const std::string& header, std::span<const std::byte> bytes,
                      const std::string& name, std::string_view verb) {
    const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    const auto written = [&]() -> Result<> {
      if (!fd) return io_error(path, "open");
      OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(header)), path));
      return write_all(fd, bytes, path);
    }();
    if (!written)
      return fail(Status::write_file,
                  "Failed to write data to " + in_quotes(path.string()) + ". " + written.error().message());
    log_line(Severity::info,
             "The data of " + name + " has been " + std::string(verb) + " " + in_quotes(path.string()) + ".");
    return Status::ok;
  }

  const ConvertOptions& options_;
  fs::path path_;
  std::string shown_;
  std::span<const std::byte> file_;
  std::vector<std::string> failures_;
};

bool is_dump_name(const std::string& name) {
  if (name.starts_with('.') || name.ends_with(".npy") || name.ends_with(".csv") || name.ends_with(".json"))
    return false;
  return name.find('.') != std::string::npos ||
         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// The dump files of a directory, by name.
Result<std::vector<fs::path>> list_directory(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error) && is_dump_name(at->path().filename().string()))
      files.push_back(at->path());
  if (error) return Error(Code::io, error.message());
  std::ranges::sort(files);
  return files;
}

void write_failures(const ConvertOptions& options, const std::vector<std::string>& failures) {
  if (failures.empty()) return;
  std::string text;
  for (const std::string& line : failures) text += line + "\n";
  const fs::path path = fs::absolute(fs::path(options.output) / kFailedList).lexically_normal();
  if (auto written = write_file_atomic(path, text, 0600); !written)
    return log_line(Severity::error, written.error().message());
  log_line(Severity::info, "The list of files that failed to be converted has been written to " +
                               in_quotes(path.string()) + ".");
}

Status convert_directory(ConvertOptions& options, const fs::path& directory) {
  auto files = list_directory(directory);
  if (!files) return fail(Status::invalid_path, files.error().message());
  if (files->empty())
    return fail(Status::no_dump_file, "There is no dump file in " + in_quotes(directory.string()) + ".");
  if (options.format) {
    log_line(Severity::warning,
             "The dump path is a directory. If the -o, -i and -s arguments exist, these arguments will be "
             "ignored.");
    options.only.reset();
    options.shape.reset();
  }
  Status status = Status::ok;
  std::vector<std::string> failures;
  if (options.format)
    log_line(Severity::info,
             "The target format is \"" + std::string(model::format_name(*options.format)) + "\".");
  for (const fs::path& file : *files) {
    FileConverter converter(options, file);
    status = std::max(status, converter.convert());
    failures.insert(failures.end(), converter.failures().begin(), converter.failures().end());
  }
  write_failures(options, failures);
  return status;
}

}  // namespace

Status convert_dumps(ConvertOptions options) {
  std::vector<fs::path> files;
  for (const std::string_view piece : split(options.dump_path, ',')) {
    std::error_code error;
    files.push_back(fs::absolute(trim(piece)).lexically_normal());
    if (!fs::exists(files.back(), error))
      return fail(Status::invalid_path, "The path " + in_quotes(files.back().string()) + " does not exist.");
  }
  if (auto made = make_directories(options.output, 0700); !made)
    return fail(Status::invalid_path, made.error().message());
  std::error_code error;
  if (files.size() == 1 && fs::is_directory(files[0], error)) return convert_directory(options, files[0]);
  if (options.format)
    log_line(Severity::info,
             "The target format is \"" + std::string(model::format_name(*options.format)) + "\".");
  Status status = Status::ok;
  for (const fs::path& file : files) {
    FileConverter converter(options, file);
    status = std::max(status, converter.convert());
  }
  return status;
}

}  // namespace opdump::cli
