#include "math/digest.h"

#include <algorithm>
#include <cstring>

namespace opdump::math {
namespace {

constexpr std::size_t kBlock = 64;

// Compilers make one instruction of it.
constexpr std::uint32_t swap_bytes(std::uint32_t x) {
  return x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;
}

template <std::endian order, typename Number>
Number in_order(Number number) {
  if constexpr (order == std::endian::native)
    return number;
  else if constexpr (sizeof number == 8)
    return static_cast<Number>(swap_bytes(static_cast<std::uint32_t>(number))) << 32 |
           swap_bytes(static_cast<std::uint32_t>(number >> 32));
  else
    return swap_bytes(number);
}

template <std::endian order>
std::uint32_t word(const std::byte* block, std::size_t number) {
  std::uint32_t value = 0;
  std::memcpy(&value, block + number * sizeof value, sizeof value);
  return in_order<order>(value);
}

// The integer part of 2^32 |sin(i + 1)|, i in radians (RFC 1321, 3.4).
constexpr std::array<std::uint32_t, 64> kSines{
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr int kTurns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

// One of the four rounds of 16 operations. The variables change places instead of values.
template <int round, typename Mix>
void md5_round(Md5Rounds::State& s, const std::array<std::uint32_t, 16>& words, Mix mix) {
  constexpr std::array<std::array<std::size_t, 2>, 4> kOrders{
      {{0, 1}, {1, 5}, {5, 3}, {0, 7}}};  // first, step
  const auto operation = [&]<std::size_t place>(std::size_t i, std::uint32_t& a, std::uint32_t b,
                                                std::uint32_t c, std::uint32_t d) {
    const std::size_t number = i + place;
    const std::uint32_t sum = a + mix(b, c, d) +
                              words[(kOrders[round][0] + kOrders[round][1] * number) % 16] +
                              kSines[round * 16 + number];
    a = b + std::rotl(sum, kTurns[round][place]);
  };
  for (std::size_t i = 0; i < 16; i += 4) {
    operation.template operator()<0>(i, s[0], s[1], s[2], s[3]);
    operation.template operator()<1>(i, s[3], s[0], s[1], s[2]);
    operation.template operator()<2>(i, s[2], s[3], s[0], s[1]);
    operation.template operator()<3>(i, s[1], s[2], s[3], s[0]);
  }
}

template <std::size_t size>
void add_to(std::array<std::uint32_t, size>& sum, const std::array<std::uint32_t, size>& added) {
  for (std::size_t i = 0; i < size; ++i) sum[i] += added[i];
}

}  // namespace

void Md5Rounds::mix(State& state, const std::byte* blocks, std::size_t count) {
  using Word = std::uint32_t;
  for (; count > 0; --count, blocks += kBlock) {
    std::array<Word, 16> words{};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = word<kOrder>(blocks, i);
    State s = state;
    md5_round<0>(s, words, [](Word x, Word y, Word z) { return z ^ (x & (y ^ z)); });
    md5_round<1>(s, words, [](Word x, Word y, Word z) { return (x & z) + (y & ~z); });
    md5_round<2>(s, words, [](Word x, Word y, Word z) { return x ^ y ^ z; });
    md5_round<3>(s, words, [](Word x, Word y, Word z) { return y ^ (x | ~z); });
    add_to(state, s);
  }
}

void Sha1Rounds::mix(State& state, const std::byte* blocks, std::size_t count) {
  using Word = std::uint32_t;
  for (; count > 0; --count, blocks += kBlock) {
    std::array<Word, 16> words{};  // the last ones of 80
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = word<kOrder>(blocks, i);
    Word a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    const auto next_word = [&](std::size_t i) {
      Word& next = words[i % 16];
      if (i >= 16)
        next = std::rotl(words[(i + 13) % 16] ^ words[(i + 8) % 16] ^ words[(i + 2) % 16] ^ next, 1);
      return next;
    };
    // The variables change places instead of values.
    const auto round = [&]<std::size_t begin>(Word constant, auto choose) {
      const auto operation = [&](std::size_t i, Word v, Word& w, Word x, Word y, Word& z) {
        z += std::rotl(v, 5) + choose(w, x, y) + constant + next_word(i);
        w = std::rotl(w, 30);
      };
      for (std::size_t i = begin; i < begin + 20; i += 5) {
        operation(i, a, b, c, d, e);
        operation(i + 1, e, a, b, c, d);
        operation(i + 2, d, e, a, b, c);
        operation(i + 3, c, d, e, a, b);
        operation(i + 4, b, c, d, e, a);
      }
    };
    const auto parity = [](Word x, Word y, Word z) { return x ^ y ^ z; };
    round.template operator()<0>(0x5a827999, [](Word x, Word y, Word z) { return z ^ (x & (y ^ z)); });
    round.template operator()<20>(0x6ed9eba1, parity);
    round.template operator()<40>(0x8f1bbcdc, [](Word x, Word y, Word z) { return (x & y) | (z & (x | y)); });
    round.template operator()<60>(0xca62c1d6, parity);
    add_to(state, {a, b, c, d, e});
  }
}

template <typename Rounds>
void Digest<Rounds>::add(const std::byte* bytes, std::size_t count) {
  if (count == 0) return;  // `bytes` may be null
  const std::size_t held = length_ % kBlock;
  length_ += count;
  if (held > 0) {
    const std::size_t taken = std::min(count, kBlock - held);
    std::memcpy(block_.data() + held, bytes, taken);
    if (held + taken < kBlock) return;
    Rounds::mix(state_, block_.data(), 1);
    bytes += taken;
    count -= taken;
  }
  Rounds::mix(state_, bytes, count / kBlock);
  if (count % kBlock > 0) std::memcpy(block_.data(), bytes + count / kBlock * kBlock, count % kBlock);
}

template <typename Rounds>
std::string Digest<Rounds>::finish_hex() {
  const std::uint64_t bits = in_order<Rounds::kOrder>(length_ * 8);
  std::array<std::byte, kBlock> padding{std::byte{0x80}};
  add(padding.data(), kBlock - (length_ + sizeof bits) % kBlock);
  add(reinterpret_cast<const std::byte*>(&bits), sizeof bits);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t number : state_)
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t byte = number >> (Rounds::kOrder == std::endian::little ? 8 * i : 24 - 8 * i);
      text += kDigits[byte >> 4 & 15];
      text += kDigits[byte & 15];
    }
  return text;
}

template class Digest<Md5Rounds>;
template class Digest<Sha1Rounds>;

}  // namespace opdump::math
