#include "msaccucmp/convert/dump_file.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "arrays/file.h"
#include "base/file/file_replacement.h"
#include "format/tables/mapping_csv.h"
#include "format/tensors/op_debug_text.h"
#include "msaccucmp/convert/dump_file.h"
#include "msaccucmp/convert/thread_shapes.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

using format::DumpTensor;

constexpr std::size_t kLongestFileName = 255;
constexpr std::string_view kOpDebugPrefix = "Opdebug.Node_OpDebug.";

// What NumPy has no type for, so that the original cannot name a file after it.
struct SmallFloat {
  std::int32_t number;
  std::string_view name;
};
constexpr SmallFloat kSmallFloats[] = {{33, "hifloat8"}, {34, "float8_e5m2"}, {35, "float8_e4m3fn"}};

class FileConverter {
 public:
  FileConverter(const fs::path& path, const ConvertOptions& options, Log& log)
      : path_(path), options_(options), log_(log), shown_(path.string()), failure_(shown_) {}

  ConvertedFile convert() {
    ConvertedFile converted = convert_tensors();
    if (converted.status == Status::ok && is_lost_ && !options_.is_bug_compatible)
      converted.status = Status::write_file;
    return converted;
  }

 private:
  ConvertedFile convert_tensors() {
    if (options_.format) log_.info("Start to transfer format for the dump file " + in_quotes(shown_) + ".");
    if (const Status status = check_path(real_path(path_.string()).string(), PathKind::file, log_);
        status != Status::ok) {
      if (options_.format)
        check_path(real_path(path_.string()).string(), PathKind::file, log_);  // twice there
      return {status, failure_};
    }
    auto file = read_dump(path_, options_.is_bug_compatible, log_);
    if (!file) return {file.error(), failure_};
    file_ = std::move(*file);
    if (options_.format) return change_formats();
    if (path_.filename().string().starts_with(kOpDebugPrefix)) return {write_op_debug(), failure_};
    return {parse_all(), failure_};
  }

  // The first failure ends the file, as in the original.
  Status parse_all() {
    const auto thread = find_thread_shapes(file_, log_);
    if (!thread) return thread.error();
    for (const auto& [tensors, side] :
         {std::pair(&file_.data.inputs, "input"), std::pair(&file_.data.outputs, "output")}) {
      if (tensors->empty()) log_.warn("There is no " + std::string(side) + " in " + in_quotes(shown_) + ".");
      for (std::size_t i = 0; i < tensors->size(); ++i)
        if (const Status status = parse_tensor((*tensors)[i], side, i, *thread); status != Status::ok)
          return status;
    }
    const Status status = write_blocks(file_.data.buffers, "buffer", in_quotes(shown_));
    return status != Status::ok ? status : write_blocks(file_.data.spaces, "space", "\"" + shown_ + "\"");
  }

  Status parse_tensor(const DumpTensor& tensor, const std::string& side, std::size_t index,
                      const std::optional<ThreadShapes>& thread) {
    const std::string name = side + ":" + std::to_string(index);
    log_.info("Start to parse the data of " + name + " in " + in_quotes(shown_) + ".");
    DumpElements stored = elements_of(file_, tensor);
    if (thread) stored.use_shape((side == "input" ? thread->inputs : thread->outputs)[index]);
    const model::Shape flat{static_cast<std::int64_t>(stored.elements.count)};
    if (const Status status = check_name(tensor, tensor.format); status != Status::ok)
      return reason_.empty() ? status : log_.crash(reason_);
    const std::string count = joined_shape(stored.is_empty ? stored.shape : flat, "_");
    const fs::path path = output_path(tensor, {side, index, tensor.format, count, std::nullopt});
    write_stored(std::move(stored), path);
    log_.info("The data of " + name + " has been parsed into " + in_quotes(path.string()) + ".");
    return Status::ok;
  }

  // Only torch.save keeps that a tensor has no dimensions.
  void write_stored(DumpElements stored, const fs::path& path) {
    const bool keeps_none = options_.type == FileType::torch;
    if (!stored.fits && (stored.shape.rank() > 0 || keeps_none)) {
      log_.fail(Status::write_file, "Failed to write data to " + in_quotes(path.string()) + ". " +
                                        cannot_reshape(stored.elements.count, stored.shape));
      return;
    }
    arrays::Array array{stored.dtype, keeps_none ? stored.shape : stored.shape_in_file,
                        arrays::make_pieces(std::move(stored.elements))};
    write(array, false, path);
  }

  // Blocks are numbered; buffers are named after their kind, too.
  Status write_blocks(const std::vector<format::DumpBlock>& blocks, const std::string& what,
                      const std::string& shown) {
    if (blocks.empty()) log_.warn("There is no " + what + " data in " + shown + ".");
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::string kind = (what == "buffer" ? (blocks[i].kind == 0 ? "l1" : "None") : "") + what;
      log_.info("Start to parse the data of " + kind + ":" + std::to_string(i) + " in " + in_quotes(shown_) +
                ".");
      const std::string name = base_name() + "." + kind + "." + std::to_string(i) + ".bin";
      const fs::path path = options_.output / fitting_name(options_.output, name, ".bin", log_);
      const format::Extent extent = blocks[i].data.value_or(format::Extent{});
      arrays::Array array{model::DType::uint8, {static_cast<std::int64_t>(extent.bytes)}, nullptr};
      array.pieces = arrays::make_pieces({model::DType::uint8, extent.bytes,
                                          file_.map->bytes().subspan(extent.offset, extent.bytes),
                                          FileRange{path_, extent.offset, extent.bytes}, false});
      if (!is_written(arrays::write_elements(array, path), path, " ")) return Status::write_file;
      log_.info("The data of " + kind + ":" + std::to_string(i) + " has been parsed into " +
                in_quotes(path.string()) + ".");
    }
    return Status::ok;
  }

  Status write_op_debug() {
    for (std::size_t i = 0; i < file_.data.outputs.size(); ++i) {
      const DumpElements stored = elements_of(file_, file_.data.outputs[i]);
      const std::string name = "output:" + std::to_string(i);
      auto text = format::format_op_debug(stored.elements.bytes);
      if (!text && text.error().code() == Code::unsupported) return fail_unit(stored.elements.bytes);
      const std::size_t bytes = stored.elements.bytes.size();
      if (!text && (bytes < 4 || format::is_newer_op_debug(stored.elements.bytes)))
        return log_.crash(std::string("unpack requires a buffer of ") + (bytes < 24 ? "4" : "8") + " bytes");
      if (!text)
        return log_.fail(Status::invalid_dump, "The data size (" + std::to_string(bytes) + ") of " + name +
                                                   " is not equal to 2048 in '" + shown_ +
                                                   "'. Please check the dump file.");
      for (const std::string& remark : text->remarks) log_.error(remark);
      const fs::path path = options_.output / (base_name() + ".output." + std::to_string(i) + ".json");
      if (auto written = write_file_atomic(path, text->json, 0600); !is_written(written, path, " "))
        return Status::write_file;
      log_.info("The data of " + name + " has been parsed into " + in_quotes(path.string()) + ".");
    }
    return Status::ok;
  }

  // A record of the newer kind whose unit nobody knows.
  Status fail_unit(std::span<const std::byte> record) {
    std::uint32_t valid = 0;
    std::memcpy(&valid, record.data() + 8, sizeof valid);
    if (valid != 1)
      log_.error("The value of valid in the OpDebug file is " + std::to_string(valid) + ", it is not 1");
    return log_.fail(Status::overflow_type, "The value of 'acc_type' is None, it's invalid");
  }

  ConvertedFile change_formats() {
    if (options_.only) return {change_one(), failure_};
    Status status = Status::ok;
    for (const auto& [tensors, side] :
         {std::pair(&file_.data.inputs, "input"), std::pair(&file_.data.outputs, "output")})
      for (std::size_t i = 0; i < tensors->size(); ++i) {
        const Status one = change_tensor((*tensors)[i], side, i);
        if (one == Status::ok) continue;
        if (one == kCrash) return {one, failure_};
        status = one;
        const std::string name = std::string(side) + ":" + std::to_string(i);
        failure_ += "," + name;
        log_.fail(one, "Failed to convert format for " + name + " of " + in_quotes(shown_) +
                           (reason_.empty() ? "" : ". " + reason_));
        if (options_.type != FileType::msnpy) continue;
        if (const Status kept = keep_as_it_was((*tensors)[i], side, i); kept != Status::ok)
          return {kept, shown_};
      }
    return {status, failure_};
  }

  Status change_one() {
    const std::string side = options_.only->is_input ? "input" : "output";
    const auto& tensors = options_.only->is_input ? file_.data.inputs : file_.data.outputs;
    const std::size_t index = options_.only->index;
    if (index >= tensors.size())
      return log_.fail(Status::out_of_bounds, "The " + side + " index (" + std::to_string(index) +
                                                  ") is out of range [0, " + std::to_string(tensors.size()) +
                                                  "). Please check the index.");
    const Status status = change_tensor(tensors[index], side, index);
    if (!reason_.empty())
      log_.fail(status, "Failed to convert format for " + in_quotes(shown_) + ". " + reason_);
    return status;
  }

  Status change_tensor(const DumpTensor& tensor, const std::string& side, std::size_t index) {
    const std::string name = side + ":" + std::to_string(index);
    reason_.clear();
    ChangedTensor changed = change_format(file_, tensor, *options_.format, name, log_);
    reason_ = changed.reason;
    if (changed.status != Status::ok) return changed.status;
    if (const Status status = check_name(tensor, changed.format); status != Status::ok) return status;
    const fs::path path =
        output_path(tensor, {side, index, changed.format, joined_shape(changed.array.shape, "_"),
                             joined_shape(changed.array.shape, "x")});
    write(changed.array, changed.is_fortran, path);
    log_.info("The data of " + name + " has been saved to " + in_quotes(path.string()) + ".");
    return Status::ok;
  }

  // MindSpore wants a file for every tensor.
  Status keep_as_it_was(const DumpTensor& tensor, const std::string& side, std::size_t index) {
    if (const Status status = check_name(tensor, tensor.format); status != Status::ok) return status;
    DumpElements stored = elements_of(file_, tensor);
    const fs::path path = output_path(tensor, {side, index, tensor.format, "", std::nullopt});
    write_stored(std::move(stored), path);
    log_.info("The data of " + side + ":" + std::to_string(index) + " has been parsed into " +
              in_quotes(path.string()) + ".");
    return Status::ok;
  }

  // Whether a file can be named after the tensor's dtype and format. If not, `reason_` is what Python raises.
  Status check_name(const DumpTensor& tensor, std::int32_t format) {
    reason_.clear();
    if (named_type() == FileType::bin) {
      if (!is_known_dtype(file_, tensor.data_type))
        return log_.fail(Status::invalid_dtype, unknown_dtype(file_, tensor));
      const auto small = std::ranges::find(kSmallFloats, tensor.data_type, &SmallFloat::number);
      if (options_.is_bug_compatible && small != std::end(kSmallFloats)) {
        reason_ = "data type '" + std::string(small->name) + "' not understood";
        return Status::unknown;
      }
    }
    const bool is_named = named_type() == FileType::bin || named_type() == FileType::msnpy;
    return is_named && options_.is_bug_compatible ? check_format(format, log_) : Status::ok;
  }

  // -t pt with -f makes .npy files that are called .bin there.
  bool makes_wrong_torch() const {
    return options_.is_bug_compatible && options_.format && options_.type == FileType::torch;
  }
  FileType named_type() const { return makes_wrong_torch() ? FileType::bin : options_.type; }

  std::string base_name() const { return path_.filename().string(); }

  // With the operator's name of the header, if the file's name has the usual five parts. The
  // original takes the time for the name of a nano device's operator.
  std::string mindspore_name() const {
    const std::string name = base_name(), &full = file_.data.op_name;
    if (std::ranges::count(name, '.') != 4 || full.empty() || full.find('\0') != std::string::npos)
      return name;
    const std::size_t first = name.find('.') + 1, second = name.find('.', first);
    return name.substr(0, first) + full.substr(full.rfind('/') + 1) + name.substr(second);
  }

  struct NameParts {
    std::string side;
    std::size_t index = 0;
    std::int32_t format = 0;
    std::string bin_shape;                 // "256", "1_20_4_4"
    std::optional<std::string> npy_shape;  // "1x20x4x4"; nothing if the layout is that of the dump
  };
  fs::path output_path(const DumpTensor& tensor, const NameParts& parts) {
    const std::string slot = "." + parts.side + "." + std::to_string(parts.index) + ".";
    const std::string shape = parts.npy_shape ? *parts.npy_shape + "." : "";
    std::string name, suffix = ".npy";
    switch (named_type()) {
      case FileType::npy:
        name = base_name() + slot + shape + "npy";
        break;
      case FileType::torch:
        suffix = ".pt";
        name = base_name() + slot + shape + "pt";
        break;
      case FileType::msnpy:
        name = mindspore_name() + slot + dump_format_name(parts.format) + ".npy";
        break;
      case FileType::bin:
        suffix = ".bin";
        name = base_name() + slot + parts.bin_shape + "." + dtype_name(tensor) + "." +
               dump_format_name(parts.format) + ".bin";
    }
    return options_.output / fitting_name(options_.output, name, suffix, log_);
  }

  std::string dtype_name(const DumpTensor& tensor) const {
    return std::string(model::dtype_info(arrays::file_dtype(elements_of(file_, tensor).elements.dtype)).name);
  }

  // `end` is what the original's message has behind it.
  bool is_written(const Result<>& written, const fs::path& path, std::string_view end = "") {
    if (written) return true;
    is_lost_ = true;
    log_.fail(Status::write_file, "Failed to write data to " + in_quotes(path.string()) + ". " +
                                      python_os_error(written.error(), path) + std::string(end));
    return false;
  }

  void write(arrays::Array& array, bool is_fortran, const fs::path& path) {
    array.on_written = options_.on_written;
    if (options_.type == FileType::bin)
      is_written(arrays::write_elements(array, path), path);
    else if (options_.type == FileType::torch && !makes_wrong_torch())
      is_written(arrays::write_torch(array, path), path);
    else
      is_written(arrays::write_npy(array, is_fortran, path), path);
  }

  const fs::path& path_;
  const ConvertOptions& options_;
  Log& log_;
  std::string shown_, failure_;
  std::string reason_;    // what Python raised where the original goes on with the next tensor
  bool is_lost_ = false;  // a file could not be written: the original logs it and goes on as if it had been
  DumpFile file_;
};

}  // namespace

std::string fitting_name(const fs::path& directory, const std::string& name, std::string_view suffix,
                         Log& log) {
  if (name.size() < kLongestFileName) return name;
  std::string fitting = uuid3(name) + std::string(suffix);
  std::string line;
  format::append_mapping_line(line, fitting, name);
  const fs::path mapping = directory / format::kMappingCsvName;
  if (auto written = append_file(mapping, line, 0600); !written)
    log.fail(Status::write_file, "Failed to write data to " + in_quotes(mapping.string()) + ". " +
                                     python_os_error(written.error(), mapping) + " ");
  return fitting;
}

ConvertedFile convert_dump_file(const fs::path& path, const ConvertOptions& options, Log& log) {
  return FileConverter(path, options, log).convert();
}

}  // namespace opdump::msaccucmp
