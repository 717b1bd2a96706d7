#include "msaccucmp/read/dump_header.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/content.h"
#include "base/text/text.h"
#include "format/tensors/dump_names.h"
#include "format/tensors/tlv_dump.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

using format::DumpTensor;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kNanoHead = 24;      // what a file of a nano device begins with
constexpr std::size_t kNanoNameParts = 5;  // the fifth is the time
constexpr std::uint64_t kLarge = 1 << 30;

class HeaderReader {
 public:
  HeaderReader(const std::string& path, std::span<const std::byte> file, Log& log)
      : path_(path), file_(file), log_(log) {}

  Outcome<DumpHeader> read(bool is_strict) {
    if (format::is_tlv_dump(file_)) return read_nano();
    if (file_.size() <= kLengthBytes) {
      log_.error("The size of " + quoted() + " must be greater than 8, but the file size is " +
                 std::to_string(file_.size()) + ". Please check the dump file.");
      return DumpHeader{};
    }
    if (length() == 0) return DumpHeader{};
    if (is_strict && is_too_long("header length")) return failed(Status::invalid_dump);
    auto decoded = format::decode_dump_data(file_);
    if (decoded && decoded->announced_bytes <= decoded->payload_bytes) return DumpHeader{std::move(*decoded)};
    if (decoded)
      log_.error("The size of " + path_ + " is invalid, please check the dump file.");
    else if (!is_too_long("header length"))
      log_.error("Parse dump file to json failed.");
    return failed(Status::invalid_dump);
  }

 private:
  static Failure failed(Status status) { return {status, ""}; }

  std::string quoted() const { return "'" + path_ + "'"; }

  std::uint64_t length() const {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i)
      length |= std::to_integer<std::uint64_t>(file_[i]) << 8 * i;
    return length;
  }

  bool is_too_long(std::string_view name) {
    if (length() <= file_.size() - kLengthBytes) return false;
    log_.warn("The header content size (" + std::to_string(length()) + ") of " + quoted() +
              " must be less than or equal to " + std::to_string(file_.size()) + " (file size) - 8 (" +
              std::string(name) + "). Please check the dump file.");
    if (const std::string content = describe_content(file_); !content.empty())
      log_.warn("The file " + quoted() + " is no dump file: " + content + ".");
    return true;
  }

  Outcome<DumpHeader> read_nano() {
    const std::string name = path_.substr(path_.rfind('/') + 1);
    if (split(name, '.').size() < kNanoNameParts) return failed(Status::invalid_dump);
    if (file_.size() < kNanoHead)
      log_.error("The file size (" + std::to_string(file_.size()) + ") of " + quoted() +
                 " must to bigger than" + std::to_string(kNanoHead) +
                 " (head_len).Please check the dump file.");
    if (is_too_long("tlv header length")) return nano_failed(Status::invalid_dump);
    std::vector<format::TlvGap> gaps;
    auto decoded = format::decode_tlv_dump(file_, &gaps);
    if (!decoded) {
      log_.warn("Failed to parse the serialized header content of " + quoted() +
                ". Please check the dump file. 47 ");
      return nano_failed(Status::nano);
    }
    for (const format::TlvGap& gap : gaps) report_gap(gap);
    if (decoded->announced_bytes != decoded->payload_bytes) {
      report_size(*decoded);
      return nano_failed(Status::size_mismatch);
    }
    decoded->op_name = split(name, '.')[kNanoNameParts - 1];  // what the original takes for it
    return DumpHeader{std::move(*decoded), true};
  }

  Failure nano_failed(Status status) {
    log_.error("Failed to parse the dump file " + quoted() +
               ", type is nano dump format. Please check the dump file. " +
               std::to_string(static_cast<int>(status)));
    return failed(status);
  }

  void report_gap(const format::TlvGap& gap) {
    constexpr std::string_view kDetails[] = {"shape_dims, ele_type: UINT64",
                                             "original_shape_dims, ele_type: UINT64",
                                             "origin_name, ele_type: CHAR"};
    const std::string wanted = std::to_string(gap.wanted);
    if (gap.found != gap.wanted)
      log_.error("Failed to parse of tag_in_cfg: " + wanted +
                 ", tag_in_stream: " + std::to_string(gap.found) + ".");
    else
      log_.error("Failed to parse of tag: " + wanted + ". length:" + std::to_string(gap.length) +
                 " < single ele_size:8");
    log_.info("skip to parse tlv of ele name: " + std::string(kDetails[gap.wanted]));
  }

  void report_size(const format::DumpData& data) {
    const auto sum = [](const std::vector<DumpTensor>& tensors) {
      std::uint64_t bytes = 0;
      for (const DumpTensor& tensor : tensors) bytes += tensor.size_bytes;
      return std::to_string(bytes);
    };
    log_.error("The file size (" + std::to_string(file_.size()) + ") of " + quoted() + " is not equal to " +
               std::to_string(length()) + " (tlv_header_length)+ " + sum(data.inputs) +
               "(the sum of input data) + " + sum(data.outputs) +
               "(the sum of output data) . Please check the dump file.");
  }

  const std::string& path_;
  std::span<const std::byte> file_;
  Log& log_;
};

}  // namespace

std::optional<std::string> large_file_remark(const std::string& path, std::uint64_t bytes) {
  if (bytes <= kLarge) return std::nullopt;
  return "The size (" + std::to_string(bytes) + ") of '" + path +
         "' exceeds 1GB, it may task more time to run, please wait.";
}

std::optional<model::Shape> shape_of_dims(const std::vector<std::uint64_t>& dims) {
  if (std::ranges::any_of(dims, [](std::uint64_t dim) { return dim > INT64_MAX; })) return std::nullopt;
  return model::Shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
}

model::DType stored_dtype(std::int32_t number) {
  constexpr std::int32_t kUndefined = 0, kResource = 23;
  if (number == kUndefined) return model::DType::int8;
  return number == kResource ? model::DType::int64 : format::dump_dtype(number);
}

std::string unsupported_dtype(std::int32_t number) {
  return "The output data type (" + (number < 0 ? "None" : std::to_string(number)) + ") does not support.";
}

Outcome<DumpHeader> decode_header(const std::string& path, std::span<const std::byte> file, bool is_strict,
                                  Log& log) {
  return HeaderReader(path, file, log).read(is_strict);
}

}  // namespace opdump::msaccucmp
