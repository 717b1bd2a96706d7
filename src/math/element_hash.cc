#include "math/element_hash.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/file/resident.h"
#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/element_hash.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using U64 = hn::ScalableTag<std::uint64_t>;

HWY_INLINE hn::Vec<U64> mix(hn::Vec<U64> x) {
  const U64 d;
  x = hn::Add(x, hn::Set(d, 0x9E3779B97F4A7C15u));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<30>(x)), hn::Set(d, 0xBF58476D1CE4E5B9u));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<27>(x)), hn::Set(d, 0x94D049BB133111EBu));
  return hn::Xor(x, hn::ShiftRight<31>(x));
}

template <typename T>
HWY_INLINE hn::Vec<U64> load(const std::byte* at) {
  const U64 d;
  if constexpr (sizeof(T) == sizeof(std::uint64_t)) {
    return hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(at));
  } else {
    const hn::Rebind<std::uint32_t, U64> d32;
    const auto narrow = hn::LoadU(hn::Rebind<T, U64>(), reinterpret_cast<const T*>(at));
    if constexpr (sizeof(T) == sizeof(std::uint32_t))
      return hn::PromoteTo(d, narrow);
    else
      return hn::PromoteTo(d, hn::PromoteTo(d32, narrow));
  }
}

// Hashes as many elements as fill vectors, and returns how many. Without `out` it adds the hashes to `sum`.
template <typename T>
std::size_t hash_vectors(const std::byte* data, std::size_t count, std::uint64_t salt, std::uint64_t* out,
                         std::uint64_t& sum) {
  const U64 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto salts = hn::Set(d, salt);
  auto sums = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto hashes = mix(hn::Xor(load<T>(data + i * sizeof(T)), salts));
    if (out)
      hn::StoreU(hashes, d, out + i);
    else
      sums = hn::Add(sums, hashes);
  }
  alignas(64) std::uint64_t parts[hn::MaxLanes(d)];
  hn::Store(sums, d, parts);
  for (std::size_t lane = 0; lane < lanes; ++lane) sum += parts[lane];
  return i;
}

std::size_t hash_sized(std::size_t size, const std::byte* data, std::size_t count, std::uint64_t salt,
                       std::uint64_t* out, std::uint64_t& sum) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // slower than a loop
  (void)size, (void)data, (void)count, (void)salt, (void)out, (void)sum;
  return 0;
#else
  switch (size) {
    case 8:
      return hash_vectors<std::uint64_t>(data, count, salt, out, sum);
    case 4:
      return hash_vectors<std::uint32_t>(data, count, salt, out, sum);
    case 2:
      return hash_vectors<std::uint16_t>(data, count, salt, out, sum);
    case 1:
      return hash_vectors<std::uint8_t>(data, count, salt, out, sum);
    default:
      return 0;
  }
#endif
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {
namespace {

OPDUMP_SIMD_EXPORT(hash_sized);

constexpr std::size_t kBlock = 1 << 18;  // elements between two looks at how much of a file is in memory

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::size_t size_of(const model::TensorView& tensor) {
  const model::DTypeInfo& info = model::dtype_info(tensor.dtype);
  return std::max(1u, info.bits / (info.kind == model::DTypeKind::complex ? 16u : 8u));
}

std::uint64_t hash_one(const std::byte* at, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  return mix(bits ^ mix(size));
}

// Calls use() for what hash_sized() leaves, with the place.
template <typename Use>
void hash_rest(const std::byte* data, std::size_t count, std::size_t size, std::size_t done, const Use& use) {
  for (std::size_t i = done; i < count; ++i) use(i, hash_one(data + i * size, size));
}

}  // namespace

void hash_elements(const model::TensorView& tensor, std::size_t first, std::span<std::uint64_t> out) {
  const std::size_t size = size_of(tensor);
  const std::byte* const data = tensor.data + first * size;
  std::uint64_t sum = 0;
  const std::size_t done = OPDUMP_SIMD(hash_sized)(size, data, out.size(), mix(size), out.data(), sum);
  hash_rest(data, out.size(), size, done, [&](std::size_t i, std::uint64_t hash) { out[i] = hash; });
}

std::size_t hashed_count(const model::TensorView& tensor) { return tensor.byte_count() / size_of(tensor); }

std::uint64_t sum_of_hashes(const model::TensorView& tensor) {
  const std::size_t size = size_of(tensor), all = hashed_count(tensor);
  std::uint64_t sum = 0;
  for (std::size_t first = 0; first < all; first += kBlock) {
    give_back_when_due();
    const std::byte* const data = tensor.data + first * size;
    const std::size_t count = std::min(kBlock, all - first);
    const std::size_t done = OPDUMP_SIMD(hash_sized)(size, data, count, mix(size), nullptr, sum);
    hash_rest(data, count, size, done, [&](std::size_t, std::uint64_t hash) { sum += hash; });
  }
  return sum;
}

}  // namespace opdump::math
#endif
