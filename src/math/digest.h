// MD5 (RFC 1321) and SHA-1 (RFC 3174) of bytes that come in parts. They mark equal tensors and protect
// nothing.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace opdump::math {

// What the two have in common: blocks of 64 bytes, the last one with the length of all. `Rounds` has kOrder,
// in which numbers are read and written, the first State, and mix(state, blocks, count).
template <typename Rounds>
class Digest {
 public:
  void add(const std::byte* bytes, std::size_t count);
  // Lower-case hexadecimal digits of everything that was added. Usable once.
  std::string finish_hex();

 private:
  typename Rounds::State state_ = Rounds::kFirst;
  std::array<std::byte, 64> block_{};  // what did not fill a block yet
  std::uint64_t length_ = 0;           // in bytes
};

struct Md5Rounds {
  using State = std::array<std::uint32_t, 4>;
  static constexpr State kFirst{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  static constexpr std::endian kOrder = std::endian::little;
  static void mix(State& state, const std::byte* blocks, std::size_t count);
};

struct Sha1Rounds {
  using State = std::array<std::uint32_t, 5>;
  static constexpr State kFirst{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  static constexpr std::endian kOrder = std::endian::big;
  static void mix(State& state, const std::byte* blocks, std::size_t count);
};

using Md5 = Digest<Md5Rounds>;
using Sha1 = Digest<Sha1Rounds>;

}  // namespace opdump::math
