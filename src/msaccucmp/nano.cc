#include "msaccucmp/nano.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opdump::msaccucmp {
namespace {

constexpr std::size_t kStart = 8 + 4 + 4;  // length, magic number, version

struct Detail {
  std::uint32_t tag;
  std::string_view name, type;
  std::size_t bytes;  // of an element
};
constexpr Detail kDetails[] = {
    {0, "shape_dims", "UINT64", 8}, {1, "original_shape_dims", "UINT64", 8}, {2, "origin_name", "CHAR", 1}};

// The tensors of one side: the tag of their list, the bytes of each before its details, and their details.
struct Side {
  std::uint32_t tag;
  std::size_t fixed_bytes;
  std::span<const Detail> details;
};
constexpr Side kSides[] = {{4, 40, std::span(kDetails).first(2)}, {5, 52, kDetails}};

// Reads on as the original does: details in their order, and up to the end of the header.
class DetailWalk {
 public:
  DetailWalk(std::span<const std::byte> header, Log& log) : bytes_(header), log_(log) {}

  void walk() {
    for (const Side& side : kSides)
      if (!walk_side(side)) return;
  }

 private:
  std::optional<std::uint32_t> number(std::size_t offset) const {
    if (bytes_.size() < offset + 4) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(bytes_[offset + i]) << 8 * i;
    return value;
  }

  bool skip(std::uint64_t bytes) {
    if (bytes > bytes_.size()) return false;
    bytes_ = bytes_.subspan(bytes);
    return true;
  }

  // False if nothing that follows can be told.
  bool walk_side(const Side& side) {
    const auto count = number(8);
    if (number(0) != side.tag || !count || !skip(12)) return false;
    for (std::uint32_t i = 0; i < *count; ++i) {
      if (!skip(side.fixed_bytes)) return false;
      for (const Detail& detail : side.details)
        if (!walk_detail(detail)) return false;
    }
    return true;
  }

  bool walk_detail(const Detail& detail) {
    const auto tag = number(0), length = number(4);
    const bool is_short = length && *length < detail.bytes && *length != 0;
    if (tag && length && *tag == detail.tag && !is_short)
      return skip(8 + *length / detail.bytes * detail.bytes);
    if (tag && length && *tag != detail.tag)
      log_.fail(Status::ok, "Failed to parse of tag_in_cfg: " + std::to_string(detail.tag) +
                                ", tag_in_stream: " + std::to_string(*tag) + ".");
    else if (is_short)
      log_.fail(Status::ok, "Failed to parse of tag: " + std::to_string(detail.tag) +
                                ". length:" + std::to_string(*length) +
                                " < single ele_size:" + std::to_string(detail.bytes));
    log_.info("skip to parse tlv of ele name: " + std::string(detail.name) +
              ", ele_type: " + std::string(detail.type));
    return true;
  }

  std::span<const std::byte> bytes_;
  Log& log_;
};

}  // namespace

void tell_missing_details(std::span<const std::byte> file, Log& log) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8 && i < file.size(); ++i)
    length |= std::to_integer<std::uint64_t>(file[i]) << 8 * i;
  if (file.size() < kStart || length < kStart - 8 || length > file.size() - 8) return;
  DetailWalk(file.subspan(kStart, length - (kStart - 8)), log).walk();
}

}  // namespace opdump::msaccucmp
