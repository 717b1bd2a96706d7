#include "format/tensors/zip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/file/file_copy.h"
#include "base/worker_pool.h"

namespace opdump::format {
namespace {

constexpr std::uint64_t kNoZip64 = 0xFFFFFFFF;
constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::uint16_t kVersion = 20, kVersion64 = 45, kUtf8 = 1 << 11;
constexpr std::uint16_t kDate = 1 << 5 | 1;   // 1980-01-01: the same data are the same bytes
constexpr std::size_t kCrcOffset = 14;        // in the local header
constexpr std::size_t kLargeBytes = 1 << 20;  // whose sum a second thread makes while they are written
constexpr std::uint16_t kZip64Extra = 1, kPaddingExtra = 0x4246;

void put_number(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    out.push_back(i < 8 ? static_cast<char>(value >> 8 * i & 0xFF) : '\0');
}

std::uint64_t capped(std::uint64_t value) { return std::min(value, kNoZip64); }

// What local and central headers share, from the version needed to the name's length.
void put_common(std::string& out, std::uint16_t version, std::uint32_t crc, std::uint64_t bytes,
                std::size_t name_bytes) {
  put_number(out, version, 2);
  put_number(out, kUtf8, 2);
  put_number(out, 0, 2);  // stored
  put_number(out, 0, 2);
  put_number(out, kDate, 2);
  put_number(out, crc, 4);
  put_number(out, capped(bytes), 4);
  put_number(out, capped(bytes), 4);
  put_number(out, name_bytes, 2);
}

}  // namespace

Result<> ZipWriter::put(std::string_view text) {
  position_ += text.size();
  return write_all(fd_, std::as_bytes(std::span(text)), path_);
}

Result<> ZipWriter::begin(std::string_view name, std::uint64_t bytes, std::size_t alignment) {
  if (name.size() > 0xFFFF) return Error(Code::limit, path_.string() + ": a name of an entry is too long");
  entry_ = {std::string(name), bytes, position_, 0};
  left_ = bytes;
  const bool is_large = bytes >= kNoZip64;
  std::string extra;
  if (is_large) {
    put_number(extra, kZip64Extra, 2);
    put_number(extra, 16, 2);
    put_number(extra, bytes, 8);
    put_number(extra, bytes, 8);
  }
  if (alignment > 1) {
    const std::uint64_t unpadded = position_ + 30 + name.size() + extra.size() + 4;
    const std::uint64_t padding = (alignment - unpadded % alignment) % alignment;
    put_number(extra, kPaddingExtra, 2);
    put_number(extra, padding, 2);
    extra.append(padding, 'Z');
  }
  std::string header;
  put_number(header, kLocal, 4);
  put_common(header, is_large ? kVersion64 : kVersion, 0, bytes, name.size());
  put_number(header, extra.size(), 2);
  return put(header.append(name) + extra);
}

Result<> ZipWriter::add(std::span<const std::byte> bytes) {
  if (bytes.size() > left_) return Error(Code::internal, path_.string() + ": an entry is too long");
  left_ -= bytes.size();
  position_ += bytes.size();
  Result<> written = ok();
  parallel_for(2, bytes.size() < kLargeBytes ? 1 : 2, [&](std::size_t task) {
    if (task == 0)
      written = write_all(fd_, bytes, path_);
    else
      add_to_sum(bytes);
  });
  return written;
}

void ZipWriter::add_to_sum(std::span<const std::byte> bytes) {
  entry_.crc = static_cast<std::uint32_t>(
      ::crc32_z(entry_.crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

Result<> ZipWriter::end() {
  if (left_ > 0) return Error(Code::internal, path_.string() + ": an entry is too short");
  std::string crc;
  put_number(crc, entry_.crc, 4);
  directory_.append(directory_entry(entry_));
  ++count_;
  return write_at(fd_, entry_.offset + kCrcOffset, std::as_bytes(std::span(crc)), path_);
}

std::string ZipWriter::directory_entry(const Entry& entry) {
  const bool is_large = entry.bytes >= kNoZip64, is_far = entry.offset >= kNoZip64;
  std::string numbers;
  if (is_large) put_number(numbers, entry.bytes, 8);
  if (is_large) put_number(numbers, entry.bytes, 8);
  if (is_far) put_number(numbers, entry.offset, 8);
  std::string extra;
  if (!numbers.empty()) {
    put_number(extra, kZip64Extra, 2);
    put_number(extra, numbers.size(), 2);
    extra += numbers;
  }
  const std::uint16_t version = extra.empty() ? kVersion : kVersion64;
  std::string text;
  put_number(text, kCentral, 4);
  put_number(text, version, 2);
  put_common(text, version, entry.crc, entry.bytes, entry.name.size());
  put_number(text, extra.size(), 2);
  put_number(text, 0, 2 + 2 + 2 + 4);  // no comment, first disk, no attributes
  put_number(text, capped(entry.offset), 4);
  return text.append(entry.name) + extra;
}

Result<> ZipWriter::finish() {
  const std::uint64_t start = position_, count = count_, size = directory_.size();
  OPDUMP_CHECK_OK(put(directory_));
  std::string text;
  if (start + size >= kNoZip64 || count >= 0xFFFF) {
    put_number(text, kEnd64, 4);
    put_number(text, 44, 8);  // of what follows in this record
    put_number(text, kVersion64, 2);
    put_number(text, kVersion64, 2);
    put_number(text, 0, 4 + 4);
    for (const std::uint64_t value : {count, count, size, start}) put_number(text, value, 8);
    put_number(text, kLocator64, 4);
    put_number(text, 0, 4);
    put_number(text, start + size, 8);
    put_number(text, 1, 4);
  }
  put_number(text, kEnd, 4);
  put_number(text, 0, 2 + 2);
  put_number(text, std::min<std::uint64_t>(count, 0xFFFF), 2);
  put_number(text, std::min<std::uint64_t>(count, 0xFFFF), 2);
  put_number(text, capped(size), 4);
  put_number(text, capped(start), 4);
  put_number(text, 0, 2);
  return put(text);
}

}  // namespace opdump::format
