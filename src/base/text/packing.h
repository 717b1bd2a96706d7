// Values as bytes and back, for what a process keeps by the million, or sends to others that run the same
// program on the same kind of machine. No format: nothing of it outlives the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace opdump {

class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  // Small ones take little room.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  void signed_number(std::int64_t value) {  // the sign goes last
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    out_.append(value);
  }
  template <typename T>
  void object(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

 private:
  std::string& out_;
};

// Takes values in the order in which they were put. Of bytes that end too early every value is zero or empty.
class Unpacker {
 public:
  explicit Unpacker(std::string_view rest) : rest_(rest) {}
  bool is_empty() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }  // in bytes
  bool is_ok() const { return ok_; }                 // false once a value was not whole

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return fail(), 0;
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) return fail(), std::string_view();
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  template <typename T>
  T object() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (rest_.size() < sizeof value) return fail(), value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace opdump
