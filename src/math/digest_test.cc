#include "math/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace opdump::math {
namespace {

template <typename Digest>
std::string hex(const std::string& text, std::size_t step = 1 << 20) {
  Digest digest;
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  for (std::size_t at = 0; at < text.size(); at += step)
    digest.add(bytes + at, std::min(step, text.size() - at));
  return digest.finish_hex();
}

std::string pattern(std::size_t length) {
  std::string text(length, '\0');
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(i * 37 + i / 256);
  return text;
}

// The digest of the digests of every length up to 299: each way to fill the last block.
template <typename Digest>
std::string of_all_lengths() {
  std::string digests;
  for (std::size_t length = 0; length < 300; ++length) digests += hex<Digest>(pattern(length));
  return hex<Digest>(digests);
}

TEST(Digest, SpecifiedExamples) {  // RFC 1321, A.5, and RFC 3174, 7.3
  EXPECT_EQ(hex<Md5>(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex<Md5>("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hex<Sha1>(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex<Sha1>("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

TEST(Digest, EveryLength) {  // as Python's hashlib has them
  EXPECT_EQ(of_all_lengths<Md5>(), "ed0ca6b720e1cdff8dcff305567be090");
  EXPECT_EQ(of_all_lengths<Sha1>(), "c6f7204e481a47f8c16faa76205ab0b9ad0ed0a1");
}

TEST(Digest, ManyBlocks) {
  const std::string million(1'000'000, 'a');
  EXPECT_EQ(hex<Md5>(million), "7707d6ae4e027c70eea2a935c2296f21");
  EXPECT_EQ(hex<Sha1>(million), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Digest, PartsMakeNoDifference) {
  const std::string text = pattern(1000);
  for (const std::size_t step : {1, 3, 63, 64, 65, 127, 128, 999}) {
    EXPECT_EQ(hex<Md5>(text, step), hex<Md5>(text)) << step;
    EXPECT_EQ(hex<Sha1>(text, step), hex<Sha1>(text)) << step;
  }
}

}  // namespace
}  // namespace opdump::math
