#include "math/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "math/convert.h"
#include "math/digest.h"
#include "math/memory_walk.h"

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

constexpr std::size_t kBlock = 4096;  // elements

class Xxh128 {
 public:
  Xxh128() { XXH3_128bits_reset(&state_); }
  void add(const std::byte* bytes, std::size_t count) { XXH3_128bits_update(&state_, bytes, count); }
  std::string finish_hex() const { return to_hex(XXH3_128bits_digest(&state_)); }

  static std::string to_hex(const XXH128_hash_t& hash) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : canonical.digest) {
      text.push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    }
    return text;
  }

 private:
  XXH3_state_t state_;
};

template <typename Digest>
void add_elements(const TensorView& view, Digest& digest) {
  if (view.is_contiguous()) return digest.add(view.data, view.byte_count());
  const std::size_t size = model::dtype_info(view.dtype).bits / 8;
  alignas(64) std::array<std::byte, kBlock * 16> buffer;
  RowMajorReader reader(view);
  while (reader.remaining() > 0) {
    const std::size_t count = std::min<std::uint64_t>(reader.remaining(), kBlock);
    digest.add(reader.next(count, buffer.data()), count * size);
  }
}

template <typename Digest>
void add_unpacked(const TensorView& view, Digest& digest) {
  std::array<std::byte, kBlock> buffer;
  const std::uint64_t bits = model::dtype_info(view.dtype).bits;
  const std::uint64_t bytes = view.byte_count();  // and so many elements
  for (std::uint64_t i = 0; i < bytes; i += kBlock) {
    const std::size_t count = std::min<std::uint64_t>(kBlock, bytes - i);
    unpack_integers(view.dtype, view.data + i * bits / 8, buffer.data(), count);
    digest.add(buffer.data(), count);
  }
}

template <typename Digest>
std::string digest_hex(const TensorView& view) {
  Digest digest;
  const model::DTypeInfo& dtype = model::dtype_info(view.dtype);
  if (dtype.bits >= 8)
    add_elements(view, digest);
  else if (dtype.kind == model::DTypeKind::floating)
    digest.add(view.data, view.byte_count());
  else if (dtype.bits > 0)
    add_unpacked(view, digest);
  return digest.finish_hex();
}

}  // namespace

std::string md5_hex(const TensorView& view) { return digest_hex<Md5>(view); }
std::string sha1_hex(const TensorView& view) { return digest_hex<Sha1>(view); }

std::string xxh128_hex(const TensorView& view) {
  const bool is_at_once = view.is_contiguous() && model::dtype_info(view.dtype).bits >= 8;
  return is_at_once ? Xxh128::to_hex(XXH3_128bits(view.data, view.byte_count())) : digest_hex<Xxh128>(view);
}

}  // namespace opdump::math
