#include "format/tensors/npz.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/expansion.h"

namespace opdump::format {
namespace {

constexpr std::uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50, kLocalHeader = 0x04034b50;
constexpr std::size_t kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20, kEntryBytes = 46,
                      kLocalBytes = 30;
constexpr std::uint64_t kIn64 = 0xFFFFFFFF;    // the number is in the 64-bit record
constexpr std::uint64_t kMaxExpansion = 1032;  // of the deflate format, with some bytes for the start
constexpr std::string_view kExtension = ".npy";

Error corrupt(std::string message) { return {Code::corrupt, "archive: " + std::move(message)}; }

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  static_assert(std::endian::native == std::endian::little);
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// `count` bytes from `at`, or nothing if there are not as many.
std::optional<std::span<const std::byte>> slice(std::span<const std::byte> bytes, std::uint64_t at,
                                                std::uint64_t count) {
  if (at > bytes.size() || count > bytes.size() - at) return std::nullopt;
  return bytes.subspan(at, count);
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0;
};

Result<Directory> find_directory64(std::span<const std::byte> file, std::size_t end) {
  if (end < kLocatorBytes || number_at<std::uint32_t>(file, end - kLocatorBytes) != kLocator64)
    return corrupt("the record of 64-bit sizes is missing");
  const auto at = number_at<std::uint64_t>(file, end - kLocatorBytes + 8);
  const auto record = slice(file, at, kEnd64Bytes);
  if (!record || number_at<std::uint32_t>(*record, 0) != kEnd64)
    return corrupt("the record of 64-bit sizes lies elsewhere than announced");
  return Directory{number_at<std::uint64_t>(*record, 48), number_at<std::uint64_t>(*record, 40)};
}

Result<Directory> find_directory(std::span<const std::byte> file) {
  if (file.size() < kEndBytes) return corrupt("shorter than an empty one");
  // Its last record may be followed by a comment of up to 65535 bytes.
  const std::size_t last = file.size() - kEndBytes, first = last - std::min<std::size_t>(last, 0xFFFF);
  for (std::size_t at = last + 1; at-- > first;) {
    if (number_at<std::uint32_t>(file, at) != kEnd) continue;
    const Directory directory{number_at<std::uint32_t>(file, at + 16),
                              number_at<std::uint32_t>(file, at + 12)};
    if (directory.offset == kIn64 || directory.bytes == kIn64) return find_directory64(file, at);
    return directory;
  }
  return corrupt("its directory is missing: it was not finished");
}

struct ZipEntry {
  NpzMember member;
  std::uint64_t header_offset = 0, stored_bytes = 0;
  std::uint16_t method = 0, flags = 0;
};

// The numbers that did not fit into 32 bits follow in the order of `numbers`.
void read_extra64(std::span<const std::byte> extra, std::span<std::uint64_t* const> numbers) {
  while (extra.size() >= 4) {
    const auto id = number_at<std::uint16_t>(extra, 0);
    const std::size_t size = std::min<std::size_t>(number_at<std::uint16_t>(extra, 2), extra.size() - 4);
    auto body = extra.subspan(4, size);
    for (std::uint64_t* const number : numbers) {
      if (id != 1 || *number != kIn64 || body.size() < 8) continue;
      *number = number_at<std::uint64_t>(body, 0);
      body = body.subspan(8);
    }
    extra = extra.subspan(4 + size);
  }
}

// Takes the entry at the start of `rest` off.
Result<ZipEntry> take_entry(std::span<const std::byte>& rest) {
  if (rest.size() < kEntryBytes || number_at<std::uint32_t>(rest, 0) != kDirectoryEntry)
    return corrupt("its directory is damaged");
  ZipEntry entry;
  entry.flags = number_at<std::uint16_t>(rest, 8);
  entry.method = number_at<std::uint16_t>(rest, 10);
  entry.stored_bytes = number_at<std::uint32_t>(rest, 20);
  entry.member.bytes = number_at<std::uint32_t>(rest, 24);
  entry.header_offset = number_at<std::uint32_t>(rest, 42);
  const std::size_t name = number_at<std::uint16_t>(rest, 28), extra = number_at<std::uint16_t>(rest, 30),
                    comment = number_at<std::uint16_t>(rest, 32);
  if (rest.size() - kEntryBytes < name + extra + comment) return corrupt("its directory ends within a name");
  entry.member.name.assign(reinterpret_cast<const char*>(rest.data()) + kEntryBytes, name);
  std::uint64_t* const numbers[] = {&entry.member.bytes, &entry.stored_bytes, &entry.header_offset};
  read_extra64(rest.subspan(kEntryBytes + name, extra), numbers);
  rest = rest.subspan(kEntryBytes + name + extra + comment);
  return entry;
}

// Whether so few bytes can become so many.
Result<> check_deflated(std::uint64_t stored, std::uint64_t bytes) {
  if (bytes / kMaxExpansion <= stored) return ok();
  return Error(Code::corrupt,
               std::to_string(stored) + " stored bytes cannot expand to " + std::to_string(bytes));
}

Result<> place_member(std::span<const std::byte> file, ZipEntry& entry) {
  NpzMember& member = entry.member;
  if ((entry.flags & 1) != 0) return Error(Code::unsupported, member.name + ": encrypted");
  if (entry.method != 0 && entry.method != 8)
    return Error(Code::unsupported, member.name + ": compressed by method " + std::to_string(entry.method) +
                                        "; stored and deflated ones are read");
  const auto header = slice(file, entry.header_offset, kLocalBytes);
  if (!header || number_at<std::uint32_t>(*header, 0) != kLocalHeader)
    return corrupt(member.name + " lies elsewhere than announced");
  const std::uint64_t offset = entry.header_offset + kLocalBytes + number_at<std::uint16_t>(*header, 26) +
                               number_at<std::uint16_t>(*header, 28);
  if (!slice(file, offset, entry.stored_bytes)) return corrupt(member.name + " ends beyond the file");
  member.stored = {offset, entry.stored_bytes};
  member.is_deflated = entry.method == 8;
  if (!member.is_deflated && member.bytes != entry.stored_bytes)
    return corrupt(member.name + " has two sizes");
  if (auto possible = check_deflated(entry.stored_bytes, member.bytes); !possible)
    return corrupt(member.name + ": " + possible.error().message());
  return ok();
}

// Few bytes that many members share expand to many.
Result<> check_apart(std::vector<std::pair<std::uint64_t, std::uint64_t>>& places) {
  std::ranges::sort(places);
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second) return corrupt("two members overlap");
  return ok();
}

// zlib's state for one member.
class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> input) : input_(input) {
    is_ready_ = ::inflateInit2(&stream_, -MAX_WBITS) == Z_OK;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (is_ready_) ::inflateEnd(&stream_);
  }

  // How many bytes of `output` were filled; fewer than all at the end of the input or at damage.
  std::size_t fill(std::span<std::byte> output) {
    std::size_t filled = 0;
    while (is_ready_ && filled < output.size()) {
      constexpr std::size_t kPiece = 4 << 20;  // zlib counts in 32 bits
      const std::size_t in = std::min(input_.size(), kPiece), out = std::min(output.size() - filled, kPiece);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input_.data()));
      stream_.avail_in = static_cast<uInt>(in);
      stream_.next_out = reinterpret_cast<Bytef*>(output.data() + filled);
      stream_.avail_out = static_cast<uInt>(out);
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      input_ = input_.subspan(in - stream_.avail_in);
      filled += out - stream_.avail_out;
      if (result != Z_OK) break;
    }
    return filled;
  }

 private:
  z_stream stream_{};
  std::span<const std::byte> input_;
  bool is_ready_ = false;
};

}  // namespace

bool is_npz(std::span<const std::byte> start) {
  return start.size() >= 4 && number_at<std::uint32_t>(start, 0) == kLocalHeader;
}

Result<> list_npz(std::span<const std::byte> file, const TakeNpzMember& take) {
  return list_zip(file, kExtension, take);
}

Result<> list_zip(std::span<const std::byte> file, std::string_view end, const TakeNpzMember& take) {
  OPDUMP_TRY(const Directory directory, find_directory(file));
  const auto bytes = slice(file, directory.offset, directory.bytes);
  if (!bytes) return corrupt("its directory ends beyond the file");
  std::uint64_t unpacked = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // in the file: first byte, behind the last
  for (const bool is_checked : {false, true}) {
    for (auto rest = *bytes; !rest.empty();) {
      OPDUMP_TRY(ZipEntry entry, take_entry(rest));
      if (!entry.member.name.ends_with(end)) continue;
      OPDUMP_CHECK_OK(place_member(file, entry));
      if (is_checked) {
        take(entry.member);
        continue;
      }
      if (__builtin_add_overflow(unpacked, entry.member.bytes, &unpacked)) unpacked = UINT64_MAX;
      OPDUMP_CHECK_OK(check_expansion(file.size(), unpacked, "arrays"));
      places.emplace_back(entry.header_offset, entry.member.stored.offset + entry.member.stored.bytes);
    }
    OPDUMP_CHECK_OK(check_apart(places));
  }
  return ok();
}

Result<NpyHeader> read_npz_header(std::span<const std::byte> file, const NpzMember& member) {
  const auto stored = file.subspan(member.stored.offset, member.stored.bytes);
  if (!member.is_deflated) return decode_npy_header(stored);
  std::vector<std::byte> start(std::min<std::uint64_t>(member.bytes, 12 + kMaxNpyHeader));
  start.resize(Inflater(stored).fill(start));
  return decode_npy_header(start, member.bytes);
}

Result<Scratch> inflate(std::span<const std::byte> stored, std::uint64_t bytes) {
  if (auto possible = check_deflated(stored.size(), bytes); !possible)
    return corrupt("a member: " + possible.error().message());
  OPDUMP_TRY(Scratch output, Scratch::make(bytes));
  const std::size_t filled = Inflater(stored).fill(output.bytes());
  if (filled != bytes)
    return corrupt("a member ends after " + std::to_string(filled) + " of " + std::to_string(bytes) +
                   " bytes");
  return output;
}

}  // namespace opdump::format
